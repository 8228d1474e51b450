"""Times the Keras layers of this package on a GPU next to Keras's own, in one process.

    python -m benchmarks.gpu_layers [--device GPU:0] [--rounds 3] [--shapes FILE] [--only VARIANT ...]

The time of a call is measured as in a training loop: many calls of a tf.function and one synchronisation
at the end, divided by the number of calls. The variants alternate, round by round. --device CPU:0 is only a test of this program.
"""

import argparse
import os
import pathlib
import statistics
import time

import keras
import numpy as np
import tensorflow as tf

import tf_rnn_ops.keras
from benchmarks import problems
from benchmarks.peers import keras_layers

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHAPES = ROOT / "benchmarks" / "shapes" / "gpu_layers.txt"
# {column: the layers, the value of TF_RNN_OPS_GPU_ALGO or None, and whether XLA compiles the call}.
VARIANTS = {
    "Keras": (keras.layers, None, False),
    "tf_rnn_ops": (tf_rnn_ops.keras, None, False),
    "cudnn": (tf_rnn_ops.keras, "cudnn", False),
    "steps": (tf_rnn_ops.keras, "steps", False),
    "persistent": (tf_rnn_ops.keras, "persistent", False),
    "XLA": (tf_rnn_ops.keras, None, True),
    "XLA steps": (tf_rnn_ops.keras, "steps", True),
}
TURN_SECONDS = 0.1
# Products in TF32 round their operands to 10 bits, bfloat16 to 7.
TOLERANCE = {"float32": 3e-2, "bfloat16": 2e-1}


class Variant:
    """A traced step of one problem."""

    def __init__(self, name, problem, training):
        layers, self.algorithm, jit = VARIANTS[name]
        self.peer = keras_layers._Keras(layers, name, jit)
        x, dy, weights = problems.make_data(problem)
        with self._algorithm():
            self.peer.prepare(problem, x, dy, weights, training)
            self.peer._last = self.peer._step()
            self.result = self.peer.result()

    def _algorithm(self):
        return _Environment("TF_RNN_OPS_GPU_ALGO", self.algorithm)

    def seconds(self, runs):
        with self._algorithm():
            tf.test.experimental.sync_devices()
            start = time.perf_counter()
            for _ in range(runs):
                self.peer._last = self.peer._step()
            tf.test.experimental.sync_devices()
            return (time.perf_counter() - start) / runs


class _Environment:
    """Sets a variable for a while; None removes it."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def _set(self, value):
        if value is None:
            os.environ.pop(self.name, None)
        else:
            os.environ[self.name] = value

    def __enter__(self):
        self.before = os.environ.get(self.name)
        self._set(self.value)

    def __exit__(self, *_):
        self._set(self.before)


def distance(got, want):
    """The largest difference of any result, relative to the largest element of that result."""
    return max(np.abs(got[n] - want[n]).max() / max(1e-6, np.abs(want[n]).max()) for n in want)


def measure(problem, training, names, rounds):
    """{variant: milliseconds, or the reason why there are none}."""
    found, ready = {}, {}
    for name in names:
        try:
            variant = Variant(name, problem, training)
            if ready:
                error = distance(variant.result, next(iter(ready.values())).result)
                if not error <= TOLERANCE[problem.dtype]:
                    raise ValueError(f"differs by {error:.1e}")
            ready[name] = variant
        except Exception as error:  # reported in the table
            found[name] = f"{type(error).__name__}: {error}".splitlines()[0][:60]
    runs, times = {}, {name: [] for name in ready}
    for name, variant in ready.items():
        runs[name] = max(1, round(TURN_SECONDS / variant.seconds(2)))
    for _ in range(rounds):
        for name, variant in ready.items():
            times[name].append(variant.seconds(runs[name]) * 1e3)
    return {**found, **{name: f"{statistics.median(t):.2f}" for name, t in times.items()}}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.gpu_layers --rounds 5",
    )
    parser.add_argument(
        "--device", default="GPU:0", help="TensorFlow's name (default: %(default)s)"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="turns of each variant (default: %(default)s)"
    )
    parser.add_argument(
        "--shapes",
        type=pathlib.Path,
        default=SHAPES,
        help="file with a problem in each line (default: benchmarks/shapes/gpu_layers.txt)",
    )
    parser.add_argument(
        "--only", nargs="+", choices=VARIANTS, default=list(VARIANTS), help="columns (default: all)"
    )
    args = parser.parse_args()
    kind, number = args.device.split(":")
    if len(tf.config.list_logical_devices(kind)) <= int(number):
        parser.error(f"TensorFlow has registered no {args.device}")
    print(f"{args.device}, TensorFlow {tf.__version__}; milliseconds of a call")
    print("| " + " | ".join(["T, B, I, H", "mode", *args.only]) + " |")
    print("|" + " --- |" * (2 + len(args.only)), flush=True)
    for problem in problems.read(args.shapes):
        for training in (False, True):
            with tf.device(args.device):
                row = measure(problem, training, args.only, args.rounds)
            mode = "training" if training else "inference"
            print(
                "| " + " | ".join([problem.name, mode, *(row[n] for n in args.only)]) + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
