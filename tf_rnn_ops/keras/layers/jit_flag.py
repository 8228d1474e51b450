"""Copies the flag supports_jit, by which a user excludes a layer from XLA."""

import keras


def carry(layers: list[keras.layers.Layer], new_layers: list[keras.layers.Layer]) -> None:
    """Excludes copies from XLA if a user has set supports_jit=False of one of the layers.

    Args:
        layers: Layers of the model.
        new_layers: The layers that replace them. A layer whose class sets supports_jit=False keeps it.
    """
    if any(_is_forbidden(layer) for layer in layers):
        for layer in new_layers:
            if layer.supports_jit:
                layer.supports_jit = False


def _is_forbidden(layer: keras.layers.Layer) -> bool:
    """Whether supports_jit is False. It also is for a class that forbids XLA, and then for its copy."""
    return vars(layer).get("_jit_forbidden", not layer.supports_jit)
