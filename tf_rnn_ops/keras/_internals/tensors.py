"""Private attributes of symbolic tensors: the call that made a tensor, and its mask."""

import functools
from typing import Any

import keras

from tf_rnn_ops.params.keras.internals import attribute


def call_of(tensor: Any) -> tuple[Any, Any, int]:
    """The call that made a symbolic tensor.

    Needs _keras_history (operation or layer, node_index, tensor_index) and _inbound_nodes. Without them it raises
    RuntimeError.

    Returns:
        The call (a Node of Keras), the called operation or layer, and the number of the output.
    """
    loss = "The calls in a model of Keras cannot be followed"
    operation, node_index, index = attribute(tensor, "_keras_history", loss)
    return attribute(operation, "_inbound_nodes", loss)[node_index], operation, index


def mask_of(tensor: Any) -> Any:
    """The mask that Keras attaches to a tensor, or None.

    Needs the attribute _keras_mask. Without it this raises RuntimeError, because a mask would be ignored.
    """
    if not hasattr(tensor, "_keras_mask"):
        _check_masks()
        return None
    return tensor._keras_mask


@functools.cache
def _check_masks() -> None:
    """Raises RuntimeError if this Keras attaches masks under another name."""
    # WHY names: without them Keras would give the user's later layers other numbers.
    unmasked = keras.layers.Input([1, 1], name="input_of_tf_rnn_ops")
    masked = keras.layers.Masking(name="masking_of_tf_rnn_ops")(unmasked)
    attribute(masked, "_keras_mask", "Masks would be ignored")
