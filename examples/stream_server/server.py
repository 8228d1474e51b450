"""Serves a model to many streams over TCP: python server.py MODEL.rnn [--port N]

A client sends its name in a line, and then a frame in each line, a list of numbers. It gets a line for each frame:

    {"scores": [...]}   or   {"error": "..."}

Each client has a stepper of its own, which shares the weights with the others. The states of a client that went are kept for
its return. When the file changes, all clients get the new model before their next frame.
"""

import argparse
import asyncio
import collections
import json
import pathlib

import numpy as np

import tf_rnn_ops.stepper

MOST_KEPT = 100_000  # clients that went
RETURN_WITHIN = 1.0  # seconds for the end of a client's last connection
LONGEST_LINE = 1 << 16  # bytes


class Server:
    """The model, and the states of the clients that went."""

    def __init__(self, path):
        self._path = pathlib.Path(path)
        self._seen = self._path.stat().st_mtime_ns
        # No client uses this stepper, so its states stay zeros, and clones of it begin new streams.
        self.model = tf_rnn_ops.stepper.load(self._path)
        if [len(self.model.inputs), *(output.has_time for output in self.model.outputs)] != [
            1,
            True,
        ]:
            raise ValueError(f"{path} must have one input and one output, with steps: {self.model}")
        self._kept = collections.OrderedDict()
        self._connected = set()

    async def serve(self, reader, writer):
        """Answers one client until it goes."""
        name = None
        try:
            first = (await reader.readline()).decode().strip()
            end = asyncio.get_running_loop().time() + RETURN_WITHIN
            while first in self._connected and asyncio.get_running_loop().time() < end:
                await asyncio.sleep(0.01)
            if not first or first in self._connected:
                await _send(writer, error="The first line must be a name that no client has now.")
                return
            name = first
            self._connected.add(name)
            await self._stream(name, reader, writer)
        except (ConnectionError, ValueError):  # a line that is too long or no text
            pass
        finally:
            self._connected.discard(name)
            writer.close()

    async def _stream(self, name, reader, writer):
        with self.model.clone() as stream:
            stream.states = self._kept.pop(name, {})
            try:
                while line := await reader.readline():
                    try:
                        scores = stream(frame_of(line)[None, None])[0, 0]
                    except ValueError as error:  # the states are those before the frame
                        await _send(writer, error=str(error))
                    else:
                        await _send(writer, scores=scores.tolist())
            finally:
                self._kept[name] = stream.states
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)

    async def watch(self, pause=1.0):
        """Takes over new models, without an end."""
        while True:
            await asyncio.sleep(pause)
            try:
                changed = self._path.stat().st_mtime_ns
                if changed != self._seen:
                    self._seen = changed
                    # In a thread: the clients get answers in the meantime.
                    await asyncio.to_thread(self.model.update, self._path)
                    print(f"took {self.model.fingerprint[:12]}", flush=True)
            except (OSError, ValueError) as error:  # the old model serves on
                print(f"The new model was not taken: {error}", flush=True)


def frame_of(line):
    """The numbers in a line. Raises ValueError if there is anything else: the states would keep NaN."""
    try:
        frame = np.array(json.loads(line))
    except RecursionError:
        raise ValueError("The frame is nested too deeply.") from None
    if frame.dtype.kind not in "iuf" or not np.isfinite(frame).all():
        raise ValueError("A frame must be a list of finite numbers.")
    return frame


async def _send(writer, **answer):
    writer.write(json.dumps(answer).encode() + b"\n")
    await writer.drain()


async def main(path, port):
    server = Server(path)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", port, limit=LONGEST_LINE)
    print(f"{path} on port {listening.sockets[0].getsockname()[1]}", flush=True)
    async with listening:
        await server.watch()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a file that write_model.py wrote")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    asyncio.run(main(options.model, options.port))
