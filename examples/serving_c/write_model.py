"""Writes the SavedModel that run_saved_model.c runs: python write_model.py FOLDER [--ours]

It is a two-layer bidirectional LSTM over [T, B, 3] with 4 units. Its node is TensorFlow's own CudnnRNNV3,
placed on a GPU as in a model that was trained there. With the option it is TfRnnOps>CudnnRNNV3.
"""

import argparse

import numpy as np
import tensorflow as tf

INPUT_SIZE, UNITS, LAYERS, DIRECTIONS = 3, 4, 2, 2
# Two weight matrices and two biases for each gate, layer and direction.
PARAMS_SIZE = sum(
    DIRECTIONS * 4 * UNITS * (width + UNITS + 2) for width in (INPUT_SIZE, DIRECTIONS * UNITS)
)


class Model(tf.Module):
    """predict(x, lengths) is the output for every step, [T, B, 2 * UNITS]."""

    def __init__(self, ops):
        self.params = tf.Variable(
            np.random.default_rng(1).uniform(-0.5, 0.5, PARAMS_SIZE).astype(np.float32)
        )
        self.ops = ops

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, INPUT_SIZE], tf.float32, "x"),
            tf.TensorSpec([None], tf.int32, "lengths"),
        ]
    )
    def predict(self, x, lengths):
        state = tf.zeros([LAYERS * DIRECTIONS, tf.shape(x)[1], UNITS])
        with tf.device("/device:GPU:0"):
            result = self.ops.CudnnRNNV3(
                input=x,
                input_h=state,
                input_c=state,
                params=self.params,
                sequence_lengths=lengths,
                direction="bidirectional",
            )
        return {"output": result.output}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="folder to write the SavedModel to")
    parser.add_argument("--ours", action="store_true", help="use the ops of tf_rnn_ops")
    options = parser.parse_args()
    ops = tf.raw_ops
    if options.ours:
        import tf_rnn_ops

        ops = tf_rnn_ops.raw_ops
    model = Model(ops)
    tf.saved_model.save(model, options.folder, signatures=model.predict)
    print(f"wrote {options.folder}")


if __name__ == "__main__":
    main()
