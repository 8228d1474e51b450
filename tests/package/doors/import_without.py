"""Imports the package where names are hidden: python -m import_without NAME...

Prints a JSON dict: what the import warned of, and what each use said.
"""

import json
import sys
import warnings

import tensorflow as tf
from hidden import hide


def uses():
    import tf_rnn_ops.contrib
    import tf_rnn_ops.keras

    contrib, keras = tf_rnn_ops.contrib, tf_rnn_ops.keras
    variable = tf.Variable(tf.zeros([96]))
    layer, x = keras.LSTM(2), tf.random.normal([3, 2, 4, 5])

    def vectorized():
        difference = tf.vectorized_map(layer, x)[2] - layer(x[2])
        assert float(tf.reduce_max(tf.abs(difference))) < 1e-6

    def training():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x[0]))
        assert all(g is not None for g in tape.gradient(loss, layer.trainable_variables))

    return {
        "contrib layer": lambda: contrib.layers.CudnnLSTM(1, 2),
        "contrib saveable": lambda: contrib.CudnnLSTMSaveable(variable, 1, 4, 2),
        "contrib model": lambda: contrib.CudnnLSTM(1, 4, 2).params_size(),
        "vectorized": vectorized,
        "training": training,
        "explain": lambda: print(keras.explain(layer, print_fn=None)[0].reason),
        "accelerate": keras.accelerate,
    }


def said_by(use):
    """The text of an error, or ''."""
    try:
        use()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main(names):
    for name in names:
        hide(name, dict.__setitem__, delattr)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import tf_rnn_ops
        import tf_rnn_ops.keras
        import tf_rnn_ops.portable  # noqa: F401

        found = {name: said_by(use) for name, use in uses().items()}
        found["warnings"] = [str(one.message) for one in caught if "has no" in str(one.message)]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
