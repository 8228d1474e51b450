"""One step of an LSTM and of a GRU with zoneout, in ordinary Keras operations."""

import keras

from tf_rnn_ops import _seeds
from tf_rnn_ops.keras.layers import numbers
from tf_rnn_ops.keras.layers.options import Option, given
from tf_rnn_ops.keras.layers.own_cell import OwnCell


def _rate(name, value):
    rate = numbers.float32(name, value)
    if not 0 <= numbers.rounded(rate) <= 1:
        raise ValueError(f"{name} must be between 0 and 1, but it is {value!r}.")
    return rate


_RATE = Option(_rate)


class _ZoneoutCell(OwnCell):
    op_name: str
    _rnn_mode: str

    def op_reason(self):
        """Tells why the op cannot compute the cell; see keras/path/cells.py."""
        return None

    def op_arguments(self, training):
        """The arguments of the op that come from this kind of cell; see keras/path/cells.py."""
        rates = {name: getattr(self, name) for name in self.options}  # the op has the same names
        arguments = {"rnn_mode": self._rnn_mode, **rates}
        if training and any(rates.values()):
            arguments["seed"] = _seeds.draw(self.seed_generator)
        return arguments

    def _mix(self, rate, old, new, training):
        """The state after a step, from the old state and the new one."""
        rate = numbers.rounded(rate)
        if rate == 0:
            return new
        ops = keras.ops
        if not training:
            # 0 times an infinite new state would be NaN.
            return old if rate == 1 else rate * old + (1 - rate) * new
        drawn = keras.random.uniform(ops.shape(new), dtype="float32", seed=self.seed_generator)
        return ops.where(drawn < rate, old, new)


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ZoneoutLSTMCell(_ZoneoutCell, keras.layers.LSTMCell):
    """keras.layers.LSTMCell with zoneout (Krueger et al., 2017).

    c' and h' are the new states of keras.layers.LSTMCell, h' from c' before zoneout, as in the paper. In
    training, each unit keeps its old value with probability zoneout_h or zoneout_c, drawn at every step. In
    inference:

        h = zoneout_h * h + (1 - zoneout_h) * h'
        c = zoneout_c * c + (1 - zoneout_c) * c'

    Args:
        units: Size of the state, H.
        zoneout_h: The probability that a unit of h keeps its value, between 0 and 1.
        zoneout_c: The probability that a unit of the cell state keeps its value, between 0 and 1.

    The other arguments are those of keras.layers.LSTMCell.

    Raises:
        ValueError: An argument is not as above.

    Example:
        >>> import keras
        >>> from tf_rnn_ops.keras import ZoneoutLSTMCell
        >>> cell = ZoneoutLSTMCell(4, zoneout_h=0.1, zoneout_c=0.2)
        >>> tuple(keras.layers.RNN(cell)(keras.ops.ones([2, 5, 3])).shape)
        (2, 4)
    """

    options = {"zoneout_h": _RATE, "zoneout_c": _RATE}
    op_name = "LayerRNN"
    _rnn_mode = "lstm"

    def __init__(
        self, units: int, zoneout_h=0.0, zoneout_c=0.0, *,
        activation="tanh", recurrent_activation="sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal",
        bias_initializer="zeros", unit_forget_bias=True, kernel_regularizer=None,
        recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None,
        recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0,
        seed=None, implementation=2, activity_regularizer=None, name=None, dtype=None,
        trainable=True,
    ) -> None:  # fmt: skip
        super().__init__(**given(locals()))

    def call(self, inputs, states, training=False):
        """Runs one step.

        Args:
            inputs: [B, I].
            states: The hidden state and the cell state, both [B, H].
            training: Whether to apply dropout and to draw the units that keep their value.

        Returns:
            The new hidden state and the list of both new states.
        """
        _, (h, c) = super().call(inputs, states, training=training)
        h = self._mix(self.zoneout_h, states[0], h, training)
        c = self._mix(self.zoneout_c, states[1], c, training)
        return h, [h, c]


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ZoneoutGRUCell(_ZoneoutCell, keras.layers.GRUCell):
    """keras.layers.GRUCell with the zoneout of ZoneoutLSTMCell.

    Args:
        units: Size of the state, H.
        zoneout_h: The probability that a unit keeps its value, between 0 and 1.

    The other arguments are those of keras.layers.GRUCell.

    Raises:
        ValueError: An argument is not as above.

    Example:
        >>> import keras
        >>> from tf_rnn_ops.keras import ZoneoutGRUCell
        >>> cell = ZoneoutGRUCell(4, zoneout_h=0.1)
        >>> tuple(keras.layers.RNN(cell)(keras.ops.ones([2, 5, 3])).shape)
        (2, 4)
    """

    options = {"zoneout_h": _RATE}
    op_name = "LayerRNN"
    _rnn_mode = "gru"

    def __init__(
        self, units: int, zoneout_h=0.0, *,
        activation="tanh", recurrent_activation="sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal",
        bias_initializer="zeros", kernel_regularizer=None,
        recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None,
        recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0,
        reset_after=True, seed=None, implementation=2, activity_regularizer=None, name=None, dtype=None,
        trainable=True,
    ) -> None:  # fmt: skip
        super().__init__(**given(locals()))

    def call(self, inputs, states, training=False):
        """Runs one step.

        Args:
            inputs: [B, I].
            states: The state [B, H], or a list with the state.
            training: Whether to apply dropout and to draw the units that keep their value.

        Returns:
            The new state twice: as the output, and as the state, in a list if `states` is a list.
        """
        listed = isinstance(states, (list, tuple))
        new, _ = super().call(inputs, states, training=training)
        h = self._mix(self.zoneout_h, states[0] if listed else states, new, training)
        return h, [h] if listed else h

    def op_reason(self):
        """Tells why the op cannot compute the cell; see keras/path/cells.py."""
        if not self.reset_after:
            return "reset_after=False; the op has zoneout only for a GRU with reset_after=True"
        return None
