"""Private attributes of models: the arguments of compile() and the distribution strategy."""

import re
from typing import Any

import keras

from tf_rnn_ops import _patches
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
        _patches.put(model, "_called", True)


def made_its_input(model: keras.Model) -> bool:
    """Whether a Sequential made its Input itself, with the sizes of the first batch.

    Needs _layers and, of its Input, _auto_config with the arguments that Keras's build() gives: batch_shape and
    dtype. Without them, and for a model from a file, the result is False. A user's Input with these arguments and
    without a name also gives True.
    """
    first, *others = getattr(model, "_layers", None) or [None]
    config = getattr(getattr(first, "_auto_config", None), "config", {})
    if config.get("sparse") is not None or not re.fullmatch(
        r"input_layer(_\d+)?", getattr(first, "name", "")
    ):
        return False
    its_dtype = others[0].compute_dtype if others else None
    return isinstance(config.get("batch_shape"), tuple) and config.get("dtype") == its_dtype
