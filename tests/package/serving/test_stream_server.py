"""examples/stream_server: clients that come, go and return while the model is updated."""

import asyncio
import contextlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops import stepper as steppers

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "stream_server"
SIZE = 4


def module(name):
    spec = importlib.util.spec_from_file_location(f"stream_server_{name}", EXAMPLE / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two files, of a model before and after one more epoch."""
    folder = tmp_path_factory.mktemp("streams")
    write = module("write_model")
    paths = []
    for k in range(2):
        write.main(folder)
        paths.append(folder / f"{k}.rnn")
        (folder / "model.rnn").rename(paths[k])
    return paths


class Client:
    """Frames of one client, and the two models that may have answered them."""

    def __init__(self, name, models):
        self.name, self.models = name, [steppers.load(path) for path in models]
        self.is_new = False
        self.draw = np.random.default_rng(sum(name.encode()))

    async def frames(self, port, count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(self.name.encode() + b"\n")
        for _ in range(count):
            frame = self.draw.normal(size=SIZE).astype("float32")
            writer.write(json.dumps(frame.tolist()).encode() + b"\n")
            answer = json.loads(await reader.readline())
            self.check(frame, np.array(answer["scores"], np.float32))
            await asyncio.sleep(0.001)
        writer.close()
        await writer.wait_closed()

    def check(self, frame, scores):
        old, new = self.models
        new.states = old.states  # those of the stream, whichever model has made them
        wants = [model(frame[None, None])[0, 0] for model in self.models]
        assert (wants[0] != wants[1]).any()
        if not self.is_new and (scores == wants[0]).all():
            return
        self.is_new = True
        np.testing.assert_array_equal(scores, wants[1])
        old.states = new.states


async def served(path, use):
    server = module("server").Server(path)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    watching = asyncio.create_task(server.watch(pause=0.01))
    async with listening:
        try:
            return await use(server, listening.sockets[0].getsockname()[1])
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching


def test_clients_go_and_return_during_an_update(models, tmp_path):
    path = tmp_path / "model.rnn"
    path.write_bytes(models[0].read_bytes())
    clients = [Client(f"client {k}", models) for k in range(30)]

    async def use(server, port):
        async def stream(client):
            await client.frames(port, 10)
            await client.frames(port, 20)  # returns
            while not client.is_new:
                await client.frames(port, 5)

        streams = [asyncio.create_task(stream(client)) for client in clients]
        await asyncio.sleep(0.05)
        (tmp_path / "next.rnn").write_bytes(models[1].read_bytes())
        os.replace(tmp_path / "next.rnn", path)
        await asyncio.wait_for(asyncio.gather(*streams), 120)
        assert server.model.fingerprint == steppers.load(models[1]).fingerprint

    asyncio.run(served(path, use))
    assert all(client.is_new for client in clients)


def test_bad_clients_and_files(models, tmp_path, capsys):
    path = tmp_path / "model.rnn"
    path.write_bytes(models[0].read_bytes())

    async def answers(port, *lines):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write("".join(f"{line}\n" for line in lines).encode())
        found = [json.loads(await reader.readline()) for _ in lines[1:]]
        writer.close()
        return found

    async def use(server, port):
        good = json.dumps([0.5] * SIZE)
        bad = ["[1, 2]", "no JSON", '["a"]', "{}", "[{}]", "[null, 1, 1, 1]", "[NaN, 1, 1, 1]"]
        bad += ["[1e39, 1, 1, 1]", f"[{10**400}, 1, 1, 1]", '["1", "1", "1", "1"]', "[" * 30000]
        found = await answers(port, "anna", *bad, good)
        assert [list(answer) for answer in found] == [["error"]] * len(bad) + [["scores"]]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"bo\n{good}\n".encode())
        assert "scores" in json.loads(await reader.readline())
        assert "name" in (await answers(port, "bo", good))[0]["error"]
        writer.close()
        assert "scores" in (await answers(port, "bo", good))[0]
        assert "name" in (await answers(port, "", good))[0]["error"]
        path.write_bytes(b"no model")
        while "not taken" not in capsys.readouterr().out:
            await asyncio.sleep(0.01)
        assert "scores" in (await answers(port, "carl", good))[0]

    asyncio.run(asyncio.wait_for(served(path, use), 60))


def test_models_that_the_server_cannot_serve(tmp_path):
    """The model has one answer for all steps."""
    layers = [keras.Input((None, SIZE)), keras.layers.GRU(3)]
    tf_rnn_ops.keras.stepper(keras.Sequential(layers)).save(tmp_path / "last.rnn")
    with pytest.raises(ValueError, match="one output, with steps"):
        module("server").Server(tmp_path / "last.rnn")


def test_the_programs_run_without_tensorflow(models):
    code = f"""
import sys
sys.path.insert(0, {str(EXAMPLE)!r})
import server
server.Server({str(models[0])!r})
assert "tensorflow" not in sys.modules and "keras" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
