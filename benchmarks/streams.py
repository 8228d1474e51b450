"""Bytes and microseconds of many streams of one model: python -m benchmarks.streams MODEL.rnn [--streams N]

It prints the minimum of some repetitions for a time, and the growth of the process for memory. The file must accept any B.
"""

import argparse
import copy
import gc
import os
import time

import numpy as np

from tf_rnn_ops import stepper as steppers

REPEATS = 15


def memory():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def shortest(function, repeats=REPEATS):
    """The shortest time of a call, in microseconds."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return 1e6 * min(times)


def grown(make, count):
    """Objects, and the memory of the process for each."""
    before = memory()
    made = [make() for _ in range(count)]
    return made, (memory() - before) / count


def zeros(stepper):
    """The inputs of a call, in the form that takes the least time."""
    arrays = [np.zeros(tensor.shape, tensor.dtype) for tensor in stepper.inputs]
    return arrays if len(arrays) > 1 else arrays[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--rows", type=int, nargs="*", default=[16, 64, 256])
    options = parser.parse_args()
    model, count = steppers.load(options.model), options.streams
    x = zeros(model)
    for _ in range(20):
        model(x)
    print(f"{os.path.getsize(options.model):,} bytes of the file")
    print(f"{sum(a.nbytes for a in model.states.values()):,} bytes of the states of a stream")

    before = memory()
    streams, clone_bytes = grown(model.clone, count)
    for stream in streams:
        stream(x)
    print(f"clone: {clone_bytes:,.0f} bytes, with a call {(memory() - before) / count:,.0f}")
    print(f"clone: {shortest(lambda: [model.clone() for _ in range(100)]) / 100:.2f} us")
    # WHY few at a time: a long measurement is disturbed more often. Each stream has its turn once.
    parts = [streams[k : k + 100] for k in range(0, count, 100)]
    turns = [shortest(lambda part=part: [stream(x) for stream in part], 1) for part in parts]
    print(f"call: {min(turns) / 100:.2f} us in turns", end=", ")
    print(f"{shortest(lambda: [model(x) for _ in range(100)], 100) / 100:.2f} us of one stream")
    with open(options.model, "rb") as file:
        content = file.read()
    print(
        f"update of {count:,} streams: {shortest(lambda: model.update(content)):.0f} us", end=", "
    )
    del stream
    parts.clear()
    streams.clear()
    print(f"of 1: {shortest(lambda: model.update(content)):.0f} us")
    print(f"after the streams are closed: {(memory() - before) / 2**20:.1f} MiB")

    def swap():
        model.states = model.states

    print(f"states of a stream read and set: {shortest(swap, 1000):.2f} us")
    for name, make in (
        ("copy", lambda: copy.copy(model)),
        ("load", lambda: steppers.load(options.model)),
    ):
        kept, size = grown(make, 20)
        print(f"{name}: {size:,.0f} bytes, {shortest(make):.0f} us")
        del kept
    for rows in options.rows:
        batch = steppers.load(options.model, batch_size=rows)
        y = zeros(batch)
        print(f"{rows} rows: {shortest(lambda: batch(y), 200) / rows:.2f} us a row")


if __name__ == "__main__":
    main()
