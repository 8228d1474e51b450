"""Prepares the data of model.fit in two processes of the tf.data service.

A frozen CudnnLSTM in these processes computes features of each sequence, like a pretrained encoder, and
the model of this process trains on the features.
"""

import argparse
import pathlib
import sys

import keras
import numpy as np
import sequence_sums
import tensorflow as tf
from cluster import Cluster

import tf_rnn_ops.keras

WORKERS, UNITS = 2, 6


def encoded(distribute=None):
    """Returns the features of all rows, in the order of the rows, and their targets.

    Args:
        distribute: The address of a dispatcher; None to prepare them in this process.
    """
    keras.utils.set_random_seed(3)
    encoder = tf_rnn_ops.keras.CudnnLSTM(UNITS, return_sequences=True)
    encoder.build((None, sequence_sums.TIME, sequence_sums.FEATURES))
    # One source: the workers share out each source by itself, and enumerate() is a second one.
    numbered = (np.arange(sequence_sums.ROWS), *sequence_sums.arrays())
    rows = tf.data.Dataset.from_tensor_slices(numbered).batch(sequence_sums.GLOBAL_BATCH)
    rows = rows.map(lambda k, x, y: (k, encoder(x), y))
    if distribute is not None:
        service = tf.data.experimental.service
        rows = rows.apply(
            service.distribute(service.ShardingPolicy.DYNAMIC, f"grpc://{distribute}")
        )
    # A free worker takes the next rows, so the order of the rows is not fixed.
    numbers, x, y = (np.concatenate(parts) for parts in zip(*rows.as_numpy_iterator()))
    order = np.argsort(numbers)
    assert np.array_equal(numbers[order], np.arange(sequence_sums.ROWS)), "rows are missing"
    return x[order], y[order]


def fit(x, y):
    """Trains a small model on features. Returns a Result."""
    keras.utils.set_random_seed(4)
    model = keras.Sequential(
        [keras.Input(x.shape[1:]), tf_rnn_ops.keras.GRU(8), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), "mean_squared_error")
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(sequence_sums.GLOBAL_BATCH)
    return sequence_sums.fit(model, batches)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timeout", type=int, default=240, help="seconds for all processes")
    timeout = parser.parse_args().timeout
    dispatcher = tf.data.experimental.service.DispatchServer()
    address = dispatcher.target.removeprefix("grpc://")
    script = str(pathlib.Path(__file__).resolve().with_name("data_worker.py"))
    command = [sys.executable, script, address, "--timeout", str(timeout)]
    with Cluster({"worker": [command] * WORKERS}, timeout):
        together = encoded(address)
    alone = encoded()
    print(f"largest difference of the features: {np.abs(together[0] - alone[0]).max():.1e}")
    return sequence_sums.report(fit(*alone), fit(*together), "tf.data service")


if __name__ == "__main__":
    sys.exit(main())
