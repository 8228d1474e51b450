"""Copies the flag supports_jit, by which a user excludes a layer from XLA."""

import keras


def carry(layer: keras.layers.Layer, copy: keras.layers.Layer) -> None:
    """Excludes the copy of a layer from XLA if a user has set supports_jit=False of the layer.

    A copy whose class sets supports_jit=False keeps it.
    """
    if _is_forbidden(layer) and copy.supports_jit:
        copy.supports_jit = False


def _is_forbidden(layer: keras.layers.Layer) -> bool:
    """Whether supports_jit of a layer or of its class is False."""
    return vars(layer).get("_jit_forbidden", not layer.supports_jit)
