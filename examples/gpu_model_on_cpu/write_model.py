"""Writes a SavedModel with an op for GPUs: python write_model.py FOLDER

It has two GRU layers and a dense layer, which predict the next value of a series. It needs only
TensorFlow. The recurrent node is TensorFlow's own CudnnRNNV3, placed on a GPU.
"""

import sys

import numpy as np
import tensorflow as tf

UNITS, LAYERS = 16, 2
# For each gate, an input and a recurrent matrix and two biases.
PARAMS_SIZE = sum(3 * UNITS * (width + UNITS + 2) for width in (1, UNITS))


class Model(tf.Module):
    """predict(series) returns a prediction of the next value for each value of [T, B, 1]."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.params = tf.Variable(rng.uniform(-0.25, 0.25, PARAMS_SIZE).astype(np.float32))
        self.dense = tf.Variable(rng.uniform(-0.25, 0.25, (UNITS, 1)).astype(np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, None, 1], tf.float32, "series")])
    def predict(self, series):
        steps, batch = tf.shape(series)[0], tf.shape(series)[1]
        with tf.device("/device:GPU:0"):
            result = tf.raw_ops.CudnnRNNV3(
                input=series,
                input_h=tf.zeros([LAYERS, batch, UNITS]),
                input_c=0.0,
                params=self.params,
                sequence_lengths=tf.fill([batch], steps),
                rnn_mode="gru",
            )
        return {"next": tf.einsum("tbh,ho->tbo", result.output, self.dense)}


if __name__ == "__main__":
    model = Model()
    tf.saved_model.save(model, sys.argv[1], signatures=model.predict)
