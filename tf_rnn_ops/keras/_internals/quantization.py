"""Private attributes of layers that concern quantization."""

import contextlib
from typing import Iterator

import keras

from tf_rnn_ops._python import patches


@contextlib.contextmanager
def unlocked(layer: keras.layers.Layer) -> Iterator[None]:
    """Lets a built layer get other variables.

    Needs the attribute _tracker with lock() and unlock(). Without them this does nothing, as in a Keras that
    does not lock layers.
    """
    tracker = getattr(layer, "_tracker", None)
    if tracker is None or not hasattr(tracker, "unlock"):
        yield
        return
    tracker.unlock()
    try:
        yield
    finally:
        tracker.lock()


def count_as_quantized(layer: keras.layers.Layer, quantized: bool = True) -> None:
    """Lets the dtype policy of a built layer become an int8 policy, which makes Keras quantize the layer.

    Needs that Keras reads the attribute _is_quantized. Without it quantize() of the layer raises an error,
    because the layer counts as quantized.
    """
    patches.put(layer, "_is_quantized", quantized)


def autocast(variable: keras.Variable | None, casts: bool) -> None:
    """Sets whether layers with a mixed policy read a variable in their compute dtype.

    Needs that Keras reads the attribute _autocast. Without it they cast the variable at each call, so the
    weights of a quantized layer are packed at each call.

    Args:
        variable: A variable of Keras, or None.
        casts: Whether they cast.
    """
    if variable is not None:
        patches.put(variable, "_autocast", casts)
