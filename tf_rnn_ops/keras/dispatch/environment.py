"""Checks that the installed Keras is supported."""

import os
import warnings

import keras
import tensorflow as tf

from tf_rnn_ops.keras._internals import overridden
from tf_rnn_ops.native import loader


def check() -> None:
    """Checks Keras's version and backend, and warns if Keras lacks methods that the layers override.

    Raises:
        ImportError: Keras is not version 3, or does not run on TensorFlow.
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
    for reason in filter(None, (overridden.no_inner_loop(), overridden.no_rematerialized_call())):
        warnings.warn(reason, stacklevel=3)


def has_ops() -> bool:
    """Whether the ops of this package are loaded."""
    return loader.unavailable() is None


def has_gpu() -> bool:
    """Whether TensorFlow may place ops on a GPU. tf.config may change it later."""
    return bool(tf.config.get_visible_devices("GPU"))


def has_tpu() -> bool:
    """Whether TensorFlow sees a TPU, which runs only code that XLA compiles."""
    return bool(tf.config.get_visible_devices("TPU"))


def _is_keras_2(model: object) -> bool:
    """Whether the class of an object is from the tf_keras package (Keras 2)."""
    return any(cls.__module__.split(".")[0] == "tf_keras" for cls in type(model).__mro__)


def check_model(model: object, cls: type = keras.Model) -> None:
    """Raises TypeError unless the argument `model` of a function is a model or, as `cls` says, a layer of Keras 3."""
    _refuse_keras_2(model, "model")
    if not isinstance(model, cls):
        kind = "model" if cls is keras.Model else "model or layer"
        raise TypeError(f"model must be a Keras 3 {kind}, but it is a {type(model).__name__}.")


def _refuse_keras_2(model: object, argument: str) -> None:
    """Raises TypeError if `model`, the argument named `argument`, belongs to Keras 2."""
    if _is_keras_2(model):
        raise TypeError(
            f"{argument} is a {type(model).__name__} of tf_keras (Keras 2), but tf_rnn_ops.keras "
            "works with Keras 3. Unset TF_USE_LEGACY_KERAS and build the model with Keras 3, which "
            "reads weights that Keras 2 saved."
        )


def warn_of_legacy_flag() -> None:
    """Warns if tf.keras is Keras 2 in this process, because accelerate() does not patch Keras 2.

    WHY the environment variable: tensorflow_hub imports tf_keras also for models of Keras 3.
    """
    if os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true"):
        warnings.warn(
            "TF_USE_LEGACY_KERAS is set, so tf.keras is Keras 2. tf_rnn_ops.keras.accelerate() "
            "speeds up models of Keras 3 only: those built with `import keras`.",
            stacklevel=3,
        )
