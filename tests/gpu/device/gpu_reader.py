"""Child process: runs a SavedModel in a process without a GPU. Usage: MODEL INPUTS.npz OUT.npz"""

import sys

import numpy as np
import tensorflow as tf

import tf_rnn_ops  # noqa: F401  (registers the ops)


def main():
    model_dir, inputs_path, out_path = sys.argv[1:4]
    assert not tf.config.list_physical_devices("GPU")
    with np.load(inputs_path) as data:
        arguments = [tf.constant(data[name]) for name in data.files]
    result = tf.saved_model.load(model_dir).run(*arguments)
    np.savez(out_path, output=result[0].numpy(), output_h=result[1].numpy())


if __name__ == "__main__":
    main()
