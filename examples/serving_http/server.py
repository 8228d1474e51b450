"""Serves the newest version of a SavedModel over HTTP: python server.py FOLDER [--port N]

FOLDER has a folder for each version, named by its number, as in TensorFlow Serving. A new version is
loaded and warmed up while the old version still serves, and then replaces it.

    POST /predict  {"instances": [[3, 14, 15], [9, 2]]}  ->  {"version": 1, "predictions": [...]}
    GET /health    {"version": 1}
"""

import argparse
import contextlib
import http.server
import json
import pathlib
import socket
import threading

import numpy as np
import tensorflow as tf

import tf_rnn_ops  # noqa: F401  The ops of the model.

MOST_BYTES = 1 << 20  # the largest request
TOKENS = np.iinfo(np.int32)


class Model:
    """A version of the model. Its call may run in several threads at once."""

    def __init__(self, folder, warm_up):
        self.version = int(folder.name)
        self._loaded = tf.saved_model.load(str(folder))
        self._function = self._loaded.signatures["serving_default"]
        ((_, given),) = (self._function.structured_input_signature,)
        ((self._name, self._spec),) = given.items()
        # The first call makes the graph's executors and packs the weights for this CPU.
        for batch, time in warm_up:
            self(np.ones((batch, time), self._spec.dtype.as_numpy_dtype))

    def __call__(self, tokens):
        (result,) = self._function(**{self._name: tf.constant(tokens)}).values()
        return result.numpy()


class Newest:
    """The newest version in a folder. It looks for a newer version every second."""

    def __init__(self, folder, warm_up):
        self._folder, self._warm_up = pathlib.Path(folder), warm_up
        self.model = self._load(None)
        if self.model is None:
            raise SystemExit(f"{folder} has no folder whose name is a number.")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self):
        self._ended.set()
        self._thread.join()

    def _load(self, model):
        versions = [f for f in self._folder.iterdir() if f.is_dir() and f.name.isdecimal()]
        newest = max(versions, key=lambda f: int(f.name), default=None)
        if newest is None or (model is not None and int(newest.name) == model.version):
            return model
        return Model(newest, self._warm_up)

    def _watch(self):
        while not self._ended.wait(1):
            try:
                self.model = self._load(self.model)
            except Exception as error:  # A broken new version must not end the old version.
                print(f"The newest version was not loaded: {error}", flush=True)


def padded(instances):
    """Returns sequences of token numbers as one array, padded with 0 on the right.

    Raises:
        ValueError: They are not lists of integers that fit into int32, or there is none.
    """
    if not isinstance(instances, list) or not instances:
        raise ValueError("'instances' must be a list of lists of token numbers.")
    for row in instances:
        if not isinstance(row, list) or not all(type(token) is int for token in row):
            raise ValueError("'instances' must be a list of lists of token numbers.")
        for token in row:
            if not TOKENS.min <= token <= TOKENS.max:
                raise ValueError(
                    f"a token number must fit into {TOKENS.dtype}, but there is {token}."
                )
    tokens = np.zeros((len(instances), max(1, *map(len, instances))), TOKENS.dtype)
    for row, of_row in zip(tokens, instances, strict=True):
        row[: len(of_row)] = of_row
    return tokens


def predict(model, body):
    """Answers the body of a request.

    Returns:
        The HTTP status, and the content of the answer.
    """
    try:
        result = model(padded(json.loads(body)["instances"]))
    except RecursionError:
        return 400, {"error": "the request has too many nested lists."}
    except (ValueError, KeyError, TypeError, tf.errors.InvalidArgumentError) as error:
        return 400, {"error": f"{error}"}
    return 200, {"version": model.version, "predictions": result.tolist()}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # Connections stay open.
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path != "/health":
            return self._answer(404, {"error": f"No such path: {self.path}"})
        self._answer(200, {"version": self.server.newest.model.version})

    def do_POST(self):
        if self.path != "/predict":
            return self._answer(404, {"error": f"No such path: {self.path}"})
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self.close_connection = True
            self._answer(413, {"error": f"Content-Length must be at most {MOST_BYTES}."})
            return self._discard()
        self._answer(*predict(self.server.newest.model, self.rfile.read(int(length))))

    def _answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _discard(self):
        """Reads what the client still sends: closing before would reset the connection and lose the answer."""
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(1)
        left = 16 * MOST_BYTES
        with contextlib.suppress(OSError):
            while left > 0 and (data := self.rfile.read1(1 << 16)):
                left -= len(data)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    """A server with a thread for each connection. TensorFlow computes outside of Python's lock."""

    request_queue_size = 128

    def __init__(self, folder, port, warm_up=((1, 10),)):
        self.newest = Newest(folder, warm_up)
        super().__init__(("127.0.0.1", port), Handler)

    def server_close(self):
        super().server_close()
        self.newest.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", help="folder of the versions of the model, as write_model.py writes them"
    )
    parser.add_argument(
        "--port", type=int, default=8000, help="port, or 0 for any free one (default: %(default)s)"
    )
    parser.add_argument(
        "--inter-op", type=int, default=1, help="threads of TensorFlow that start ops (default: 1)"
    )
    parser.add_argument(
        "--intra-op", type=int, default=0, help="threads inside an op (default 0: one for each CPU)"
    )
    options = parser.parse_args()
    tf.config.threading.set_inter_op_parallelism_threads(options.inter_op)
    tf.config.threading.set_intra_op_parallelism_threads(options.intra_op)
    with Server(options.folder, options.port) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
