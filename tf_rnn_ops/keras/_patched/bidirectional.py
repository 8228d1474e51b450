"""Makes keras.layers.Bidirectional work correctly with the layers of this package.

From Keras 3.15 on, Bidirectional may call a function of Keras's backend that runs two LSTM or GRU layers
at once, if the backend has such a function. The TensorFlow backend has none yet. Bidirectional reverses
dimension 1 of the output of its backward layer. With time first, dimension 1 is the batch.
"""

import warnings
from typing import Any, Callable

import keras

from tf_rnn_ops._python import patches
from tf_rnn_ops.keras._internals import overridden
from tf_rnn_ops.keras.dispatch import switch
from tf_rnn_ops.keras.layers import GRU, LSTM
from tf_rnn_ops.keras.layers.stack_layer import CudnnStack


def guard() -> None:
    """Makes Bidirectional call our layers one by one, and reject stacks with time first."""
    cls = keras.layers.Bidirectional
    for name in overridden.fused_bidirectional_methods():
        patches.wrap(cls, name, _unless_ours)
    patches.wrap(cls, "__init__", _checked)


def _unless_ours(original: Callable[..., Any]) -> Callable[..., Any]:
    def can_attempt(self: Any, *args: Any, **kwargs: Any) -> bool:
        layers = (self.forward_layer, self.backward_layer)
        if switch.active() or any(isinstance(layer, (LSTM, GRU)) for layer in layers):
            return False
        return original(self, *args, **kwargs)

    return can_attempt


def _checked(original: Callable[..., Any]) -> Callable[..., None]:
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        both = self.forward_layer, self.backward_layer
        reason = overridden.no_fused_bidirectional()
        if reason and any(isinstance(layer, (LSTM, GRU)) for layer in both):
            warnings.warn(reason, stacklevel=2)
        for layer in both:
            if isinstance(layer, CudnnStack) and layer.time_major and layer.return_sequences:
                raise ValueError(
                    f"{layer.name!r} in Bidirectional must have time_major=False with "
                    "return_sequences=True, because Bidirectional reverses dimension 1 as the time, but "
                    "time_major is True. The stack itself runs both directions with "
                    "direction='bidirectional'."
                )

    return init
