"""The base of the cells of this package."""

from typing import Any, Callable

import keras
import tensorflow as tf

from tf_rnn_ops.keras.dispatch import changes
from tf_rnn_ops.keras.layers import cell_options


class OpCell(keras.layers.Layer):
    """A cell of this package; see keras/dispatch/cells.py for the attributes on its op."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Remembers the methods of the subclass."""
        super().__init_subclass__(**kwargs)
        changes.remember(cls)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), **cell_options.implementation(self)}


def dropped(
    cell: keras.layers.Layer, inputs: tf.Tensor, h: tf.Tensor, training: bool | None
) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """The inputs and the hidden state of an LSTM for each of the four gates, with dropout applied."""
    return (
        _dropped(inputs, cell.dropout, cell.get_dropout_mask, training),
        _dropped(h, cell.recurrent_dropout, cell.get_recurrent_dropout_mask, training),
    )


def _dropped(
    values: tf.Tensor, rate: float, get_mask: Callable[..., Any], training: bool | None
) -> list[tf.Tensor]:
    if not (training and 0 < rate < 1):
        return [values] * 4
    mask = get_mask(values)
    masks = mask if isinstance(mask, list) else [mask] * 4
    return [values * gate_mask for gate_mask in masks]
