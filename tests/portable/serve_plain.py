"""Child process: runs an exported Keras model with TensorFlow only.

Usage: python -m portable.serve_plain MODEL_DIR INPUT.npy OUT.npz
"""

import sys

import numpy as np


def main():
    import tensorflow as tf

    folder, input_path, out_path = sys.argv[1:]
    model = tf.saved_model.load(folder)
    results = tf.nest.flatten(model.serve(tf.constant(np.load(input_path))))
    assert not any(name.startswith("tf_rnn_ops") for name in sys.modules)
    with open("/proc/self/maps") as maps:
        assert "tf_rnn_ops" not in maps.read()
    np.savez(out_path, **{str(k): tf.cast(t, tf.float32).numpy() for k, t in enumerate(results)})


if __name__ == "__main__":
    main()
