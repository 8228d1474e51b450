"""Sends the frames of a wave: python client.py NAME [--port N] [--frames N]"""

import argparse
import asyncio
import json
import math


async def main(name, port, frames):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{name}\n".encode())
    for t in range(frames):
        frame = [math.sin(0.3 * t + k) for k in range(4)]
        writer.write(json.dumps(frame).encode() + b"\n")
        answer = json.loads(await reader.readline())
        if "error" in answer:
            raise SystemExit(answer["error"])
        print(*(f"{score:6.3f}" for score in answer["scores"]))
        await asyncio.sleep(0.01)
    writer.close()
    await writer.wait_closed()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--frames", type=int, default=5)
    options = parser.parse_args()
    asyncio.run(main(options.name, options.port, options.frames))
