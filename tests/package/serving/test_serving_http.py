"""examples/serving_http: answers, bad requests and versions, in a server of this process."""

import contextlib
import http.client
import io
import json
import threading
import wsgiref.util
import wsgiref.validate

import numpy as np
import pytest
import server as serving
import write_model
import wsgi

import tf_rnn_ops.keras
from support import waiting

pytestmark = pytest.mark.thorough

ROWS = [[3, 14, 15, 92, 65], [35], [8, 9, 7]]


@contextlib.contextmanager
def running(folder):
    write_model.write(folder, 1)
    with serving.Server(folder, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("models")) as one:
        yield one


def ask(server, body, path="/predict", method="POST", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=300)
    connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def expected(rows, version):
    """The results of the model for each sequence, in separate calls."""
    model = write_model.make_model(tf_rnn_ops.keras.layers, version)
    return np.concatenate([model.predict(np.array([row]), verbose=0) for row in rows])


def test_sequences_of_different_lengths_in_one_request(server):
    status, answer = ask(server, {"instances": ROWS})
    assert (status, answer["version"]) == (200, 1)
    np.testing.assert_allclose(answer["predictions"], expected(ROWS, 1), rtol=1e-5)


def test_clients_at_once(server):
    answers = {}

    def one(k):
        answers[k] = ask(server, {"instances": [ROWS[k % 3]]})[1]["predictions"][0]

    threads = [threading.Thread(target=one, args=(k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    right = expected(ROWS, 1)
    np.testing.assert_allclose(
        [answers[k] for k in range(12)], [right[k % 3] for k in range(12)], rtol=1e-5
    )


@pytest.mark.parametrize(
    "body, status, text",
    [
        (b"{", 400, "Expecting"),
        ({"rows": ROWS}, 400, "instances"),
        ({"instances": []}, 400, "list of lists of token numbers"),
        ({"instances": [[1.5]]}, 400, "list of lists of token numbers"),
        ({"instances": [[1 << 31]]}, 400, "must fit into int32, but there is 2147483648"),
        ({"instances": [[-(1 << 80)]]}, 400, "must fit into int32"),
        (b'{"instances": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "too many nested lists"),
        ({"instances": [[True]]}, 400, "list of lists of token numbers"),
        (b" " * (serving.MOST_BYTES + 1), 413, "Content-Length"),
    ],
    ids=["json", "key", "empty", "float", "large", "huge", "nested", "bool", "long"],
)
def test_bad_requests_get_a_sentence(server, body, status, text):
    got, answer = ask(server, body)
    assert got == status
    assert text in answer["error"]
    assert ask(server, {"instances": ROWS})[0] == 200


def test_paths(server):
    assert ask(server, {}, "/health", "GET") == (200, {"version": 1})
    assert ask(server, {}, "/other", "GET")[0] == 404
    assert ask(server, {}, "/other")[0] == 404


def test_a_new_version_takes_over_and_a_broken_one_does_not(tmp_path, capsys):
    with running(tmp_path) as server:

        def version():
            return ask(server, {}, "/health", "GET")[1]["version"]

        (tmp_path / "2").mkdir()

        def seen():
            return "The newest version was not loaded" in capsys.readouterr().out

        assert waiting.wait_for(seen)
        assert version() == 1
        write_model.write(tmp_path, 3)
        assert waiting.wait_for(lambda: version() == 3)
        status, answer = ask(server, {"instances": ROWS})
        assert (status, answer["version"]) == (200, 3)
        np.testing.assert_allclose(answer["predictions"], expected(ROWS, 3), rtol=1e-5)


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    write_model.write(folder, 1)
    one = wsgi.Application(folder)
    yield wsgiref.validate.validator(one)
    one.close()


def ask_application(application, path, method, body=b"", length=None):
    """Calls the application as a WSGI server does."""
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "SCRIPT_NAME": ""}
    environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(length or len(body))}
    wsgiref.util.setup_testing_defaults(environ)
    started = []
    result = application(environ, lambda *arguments: started.append(arguments))
    (content,) = result
    result.close()
    ((status, headers),) = started
    assert dict(headers)["Content-Length"] == str(len(content))
    return status, json.loads(content)


def test_the_application_for_gunicorn(application):
    body = json.dumps({"instances": ROWS}).encode()
    status, answer = ask_application(application, "/predict", "POST", body)
    assert (status, answer["version"]) == ("200 OK", 1)
    np.testing.assert_allclose(answer["predictions"], expected(ROWS, 1), rtol=1e-5)
    assert ask_application(application, "/health", "GET") == ("200 OK", {"version": 1})
    for path, method, length, status in (
        ("/predict", "POST", 1, "400 Bad Request"),
        ("/predict", "POST", serving.MOST_BYTES + 1, "413 "),
        ("/predict", "GET", None, "404 Not Found"),
        ("/other", "POST", None, "404 Not Found"),
    ):
        said, answer = ask_application(application, path, method, b"{", length)
        assert said.startswith(status) and answer["error"]


def test_a_folder_without_versions(tmp_path):
    with pytest.raises(SystemExit, match="no folder whose name is a number"):
        serving.Server(tmp_path, 0)
