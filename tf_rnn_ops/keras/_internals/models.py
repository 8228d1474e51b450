"""Private attributes of models: the arguments of compile() and the distribution strategy."""

import re
from typing import Any

import keras

from tf_rnn_ops._python import patches
from tf_rnn_ops.params.keras.internals import attribute


def compile_arguments(model: keras.Model) -> dict[str, Any]:
    """The arguments of the call of compile() of a model.

    Needs _compile_config. Without it this raises RuntimeError.
    """
    loss = "A compiled model cannot be copied"
    return dict(attribute(model, "_compile_config", loss).config)


def strategy_of(layer: keras.layers.Layer) -> Any:
    """The tf.distribute strategy in whose scope a model was made, or None. It is None for a layer.

    Needs _distribute_strategy of models. Without it this raises RuntimeError, because the strategy would be lost.
    """
    if not isinstance(layer, keras.Model):
        return None
    return attribute(layer, "_distribute_strategy", "A model cannot be copied in its strategy")


def was_called(model: keras.Model) -> bool:
    """Whether Keras counts a model as called, as its export needs.

    Needs _called. Without it the result is True.
    """
    return getattr(model, "_called", True)


def count_as_called(model: keras.Model) -> None:
    """Makes Keras count a model as called. Needs _called; without it this does nothing."""
    if hasattr(model, "_called"):
        patches.put(model, "_called", True)


def has_sizes_of_a_batch(model: keras.Model) -> bool:
    """Whether Keras took the sizes of the Input of a Sequential from the first batch, so that nobody has given them.

    Needs _layers and, of the Input, _auto_config with the arguments that Keras's build() or from_config() gives.
    Without them the result is False. It is also False for a file of a model whose first batch was that of fit():
    this file is equal to that of a model with an Input of an open batch size. An Input of the user without a name is
    taken for one of Keras if it has batch_shape and dtype, or if it has a batch size and comes from a file.
    """
    first, *others = getattr(model, "_layers", None) or [None]
    config = getattr(getattr(first, "_auto_config", None), "config", {})
    shape = config.get("batch_shape")
    if not re.fullmatch(r"input_layer(_\d+)?", getattr(first, "name", "")) or not shape:
        return False
    if isinstance(shape, list):  # from a file
        return shape[0] is not None
    if others and isinstance(others[0], keras.Model):  # the sizes of its inputs
        return has_sizes_of_a_batch(others[0])
    its_dtype = others[0].compute_dtype if others else None
    return config.get("sparse") is None and config.get("dtype") == its_dtype
