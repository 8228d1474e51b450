"""One call of a cell over all time steps, as all ops get it."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from tf_rnn_ops.keras.dispatch.masks import MaskedSteps


class CellCall(NamedTuple):
    """The tensors of a call, in the order of processing.

    Attributes:
        cell: A cell that an op can compute.
        sequences: [B, T, I], with dropout applied if all gates have one mask.
        states: The initial states, [B, H].
        steps: The MaskedSteps, or None without a mask.
        masks: The dropout masks of gates, as arguments of LayerRNN.
        is_training: Whether the call is for training.
    """

    cell: keras.layers.Layer
    sequences: tf.Tensor
    states: list[tf.Tensor]
    steps: MaskedSteps | None
    masks: dict[str, tf.Tensor]
    is_training: bool

    def inputs(self) -> dict[str, Any]:
        """The arguments of the ops for a layer that come from a call."""
        states = self.states
        return {
            "input": self.sequences,
            "input_h": states[0],
            "input_c": states[1] if len(states) == 2 else tf.zeros([], self.sequences.dtype),
            "sequence_lengths": None if self.steps is None else self.steps.lengths,
            "time_major": False,
        }


Result = tuple[tf.Tensor, list[tf.Tensor]]
"""The outputs [B, T, H] in the order of processing, and the final states."""
