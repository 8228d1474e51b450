"""Names of TensorFlow and Keras, hidden from this package: python -m support.hidden_names NAME...

As a module it imports the package where the names are hidden, and prints a JSON dict: what the import warned of,
and what each use said.
"""

import importlib
import json
import sys
import types
import warnings

import tensorflow as tf


def hide(name, setitem, delattr):
    """Hides a name from who imports its module from now on; TensorFlow and Keras themselves still have it.

    Args:
        name: A module and an attribute, such as 'tensorflow.python.eager.record:could_possibly_record'.
        setitem: Sets an item of a dict.
        delattr: Deletes an attribute.
    """
    module, _, path = name.partition(":")
    *owners, last = path.split(".")
    things = [importlib.import_module(module)]
    for owner in owners:
        things.append(getattr(things[-1], owner))
    if isinstance(things[-1], type):
        delattr(things[-1], last)
        return
    # Copies of the modules on the way, each with the copy of the next one.
    copy = _copy(things.pop(), {})
    del vars(copy)[last]
    for owner in reversed(owners):
        copy = _copy(things.pop(), {owner: copy})
    setitem(sys.modules, module, copy)


def _copy(module, other):
    copy = types.ModuleType(module.__name__)
    vars(copy).update({**vars(module), **other})
    return copy


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
