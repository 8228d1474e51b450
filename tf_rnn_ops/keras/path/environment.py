"""Checks that the installed Keras is supported."""

import importlib
import os
import warnings

import keras
import tensorflow as tf


def _private(module, name, otherwise):
    """A function of TensorFlow's private modules, for what no public one tells; `otherwise` if it is gone."""
    try:
        return getattr(importlib.import_module(module), name, otherwise)
    except ImportError:
        return otherwise


_could_possibly_record = _private(
    "tensorflow.python.eager.record", "could_possibly_record", lambda: True
)
_graph_in_xla = _private(
    "tensorflow.python.ops.control_flow_util", "GraphOrParentsInXlaContext", None
)

# What the layers replace or rely on beyond Keras's documented interface.
_SEAMS = ("LSTM", "GRU", "SimpleRNN")


def check():
    """Checks Keras's version, backend and the methods that the layers override.

    Raises:
        ImportError: Keras is not version 3, does not run on TensorFlow, or has changed too much.
    """
    version = getattr(keras, "__version__", "unknown")
    if version.split(".")[0] != "3":
        raise ImportError(
            f"tf_rnn_ops.keras works with Keras 3, but keras is version {version}. Install it with: "
            "pip install 'keras>=3'."
        )
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise ImportError(
            f"tf_rnn_ops.keras works with Keras's TensorFlow backend, but the backend is {backend!r}. "
            "Set the environment variable KERAS_BACKEND=tensorflow before keras is imported."
        )
    for name in _SEAMS:
        if not callable(getattr(getattr(keras.layers, name), "inner_loop", None)):
            raise ImportError(
                f"Keras {version} has no keras.layers.{name}.inner_loop, which tf_rnn_ops.keras "
                "replaces. Install a release of Keras 3 that has it, such as 3.15."
            )


def has_gpu():
    """Whether TensorFlow may place ops on a GPU; tf.config may still change it."""
    return bool(tf.config.get_visible_devices("GPU"))


def has_tpu():
    """Whether TensorFlow sees a TPU, which runs nothing but what XLA compiles."""
    return bool(tf.config.get_visible_devices("TPU"))


def in_xla():
    """Whether a tf.function(jit_compile=True) or a TPU program is known to be being traced."""
    if tf.executing_eagerly() or _graph_in_xla is None:
        return False
    return _graph_in_xla(tf.compat.v1.get_default_graph())


def may_be_in_xla():
    """Whether XLA may compile what is being traced; True for each graph where TensorFlow does not tell.

    Numbers that XLA would get wrong silently depend on this, and only the choice of the op on in_xla.
    """
    return in_xla() or (_graph_in_xla is None and not tf.executing_eagerly())


def may_record():
    """Whether a derivative of the ops that run now may be wanted; True where TensorFlow does not tell."""
    return not tf.executing_eagerly() or _could_possibly_record()


def is_keras_2(thing):
    """Tells whether an object is of the tf_keras package (Keras 2)."""
    return any(cls.__module__.split(".")[0] == "tf_keras" for cls in type(thing).__mro__)


def refuse_keras_2(thing, argument):
    """Raises TypeError if `thing`, given as `argument`, belongs to Keras 2."""
    if is_keras_2(thing):
        raise TypeError(
            f"{argument} is a {type(thing).__name__} of tf_keras (Keras 2), but tf_rnn_ops.keras "
            "works with Keras 3. Unset TF_USE_LEGACY_KERAS and build the model with Keras 3, which "
            "reads weights that Keras 2 saved."
        )


def warn_of_legacy_flag():
    """Warns if tf.keras is Keras 2 in this process, whose layers nobody patches.

    That tf_keras is imported says nothing: tensorflow_hub imports it beside models of Keras 3.
    """
    if os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true"):
        warnings.warn(
            "TF_USE_LEGACY_KERAS is set, so tf.keras is Keras 2. tf_rnn_ops.keras.accelerate() "
            "speeds up models of Keras 3 only: those built with `import keras`.",
            stacklevel=3,
        )
