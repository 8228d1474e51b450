"""Keeps keras.layers.Bidirectional from going past the layers of this package.

From 3.15 on Bidirectional hands two LSTM or GRU layers to a function of Keras's backend that runs both,
where the backend has one. The TensorFlow backend has none yet.
"""

import functools

import keras

from tf_rnn_ops.keras.layers.drop_in import GRU, LSTM
from tf_rnn_ops.keras.path import switch

_METHODS = ("_can_attempt_fused_lstm", "_can_attempt_fused_gru")


def guard():
    """Makes Bidirectional call the layers one by one if they run on an op of this package."""
    for name in _METHODS:
        original = getattr(keras.layers.Bidirectional, name, None)
        if original is not None and not hasattr(original, "__wrapped__"):
            setattr(keras.layers.Bidirectional, name, _unless_ours(original))


def _unless_ours(original):
    @functools.wraps(original)
    def can_attempt(self, *args, **kwargs):
        layers = (self.forward_layer, self.backward_layer)
        if switch.active() or any(isinstance(layer, (LSTM, GRU)) for layer in layers):
            return False
        return original(self, *args, **kwargs)

    return can_attempt
