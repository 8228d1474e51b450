"""Child process: writes a SavedModel as code for a GPU does, with TensorFlow only.

Usage: python -m ops.stock.gpu_model_writer MODEL_DIR SPEC_JSON PARAMS.npy

It never imports tf_rnn_ops, and puts its CudnnRNNV3 nodes on a GPU.
"""

import json
import sys

import numpy as np


def build(spec, params):
    """A module: params is its variable, run computes all outputs."""
    import tensorflow as tf

    class Model(tf.Module):
        def __init__(self):
            self.params = tf.Variable(params, name="params")

        @tf.function(
            input_signature=[
                tf.TensorSpec([None, None, spec["input_size"]], tf.float64, "x"),
                tf.TensorSpec([None], tf.int32, "lengths"),
                tf.TensorSpec([spec["rows"], None, spec["width"]], tf.float64, "h0"),
                tf.TensorSpec([spec["rows"], None, spec["units"]], tf.float64, "c0"),
            ]
        )
        def run(self, x, lengths, h0, c0):
            with tf.device("/device:GPU:0"):
                result = tf.raw_ops.CudnnRNNV3(
                    input=x,
                    input_h=h0,
                    input_c=c0,
                    params=self.params,
                    sequence_lengths=lengths,
                    **spec["attrs"],
                )
            return {
                "output": result.output,
                "output_h": result.output_h,
                "output_c": result.output_c,
            }

    return Model()


def main():
    import tensorflow as tf

    folder, spec, params = sys.argv[1], json.loads(sys.argv[2]), np.load(sys.argv[3])
    model = build(spec, params)
    tf.saved_model.save(model, folder, signatures={"serving_default": model.run})
    assert "tf_rnn_ops" not in sys.modules


if __name__ == "__main__":
    main()
