"""Times a gradient penalty, whose gradient is a second derivative, next to Keras's implementation.

The variants alternate in one process, so that a disturbance affects all of them. A call of a tf.function
is timed: forward, the gradient of the input, and the gradient of its square for the weights.
"""

import argparse
import os
import statistics
import time

import numpy as np


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.second_order --shapes 50,16,64,128 --cells GRU",
    )
    parser.add_argument(
        "--shapes",
        nargs="*",
        default=["50,16,64,128", "30,32,64,64"],
        metavar="T,B,I,H",
        help="steps, batch, features and units (default: 50,16,64,128 and 30,32,64,64)",
    )
    parser.add_argument(
        "--cells",
        nargs="*",
        default=["LSTM"],
        choices=["LSTM", "GRU"],
        help="layers to time (default: LSTM)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="threads within an op (default: the usable cores, %(default)s)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=15,
        help="rounds, each with a turn of every implementation (default: %(default)s)",
    )
    return parser.parse_args(argv)


def penalty(tf, layer, x):
    """A function without arguments that computes the gradients of the weights."""
    weights = [weight.value for weight in layer.trainable_weights]

    @tf.function(autograph=False)
    def run():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(layer(x, training=True) ** 2)
            total = tf.reduce_sum(inner.gradient(y, x) ** 2)
        return outer.gradient(total, weights)

    return run


def measure(functions, rounds):
    """{name: median seconds}."""
    seconds = {name: [] for name in functions}
    for number in range(rounds + 2):
        for name, function in functions.items():
            start = time.perf_counter()
            for gradient in function():
                gradient.numpy()
            if number >= 2:  # the first calls trace and fill the caches
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in seconds.items()}


def main(argv=None):
    args = parse_args(argv)
    import keras
    import tensorflow as tf

    import tf_rnn_ops.keras

    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    print("| cell (T,B,I,H) | threads | tf_rnn_ops ms | Keras ms | Keras / tf_rnn_ops |")
    print("| --- | --- | --- | --- | --- |")
    for cell in args.cells:
        for shape in args.shapes:
            steps, batch, size, units = map(int, shape.split(","))
            rng = np.random.default_rng(0)
            x = tf.constant(rng.normal(size=(batch, steps, size)).astype(np.float32))
            kinds = {"ours": (tf_rnn_ops.keras, {}), "keras": (keras.layers, {"use_cudnn": False})}
            functions = {}
            for name, (module, how) in kinds.items():
                layer = getattr(module, cell)(units, return_sequences=True, **how)
                layer.build(x.shape)
                functions[name] = penalty(tf, layer, x)
            found = measure(functions, args.rounds)
            ours, theirs = (1e3 * found[name] for name in ("ours", "keras"))
            ratio = f"{theirs / ours:.2f}"
            print(f"| {cell} ({shape}) | {args.threads} | {ours:.1f} | {theirs:.1f} | {ratio} |")


if __name__ == "__main__":
    main()
