"""Zoneout: ZoneoutLSTMCell, ZoneoutLSTM, ZoneoutGRUCell and ZoneoutGRU."""

import keras

from tf_rnn_ops import _seeds
from tf_rnn_ops.keras.layers import numeric_arguments
from tf_rnn_ops.keras.layers.cell_layer import CellLayer
from tf_rnn_ops.keras.layers.op_cell import OpCell
from tf_rnn_ops.keras.layers.options import Option, given


def _rate(name, value):
    rate = numeric_arguments.float32(name, value)
    if not 0 <= numeric_arguments.rounded(rate) <= 1:
        raise ValueError(f"{name} must be between 0 and 1, but it is {value!r}.")
    return rate


_RATE = Option(_rate)


class _ZoneoutCell(OpCell):
    op_name: str
    _rnn_mode: str

    def op_reason(self):
        """Tells why the op cannot compute the cell; see keras/dispatch/cells.py."""
        return None

    def op_arguments(self, training):
        """The arguments of the op that come from this kind of cell; see keras/dispatch/cells.py."""
        rates = {name: getattr(self, name) for name in self.options}  # the op has the same names
        arguments = {"rnn_mode": self._rnn_mode, **rates}
        if training and any(rates.values()):
            arguments["seed"] = _seeds.draw(self.seed_generator)
        return arguments

    def _mix(self, rate, old, new, training):
        """The state after a step, from the old state and the new one."""
        rate = numeric_arguments.rounded(rate)
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
        """Tells why the op cannot compute the cell; see keras/dispatch/cells.py."""
        if not self.reset_after:
            return "reset_after=False; the op has zoneout only for a GRU with reset_after=True"
        return None


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ZoneoutLSTM(CellLayer, cell_class=ZoneoutLSTMCell, cell_name="zoneout_lstm_cell"):
    """keras.layers.LSTM with zoneout (Krueger et al., 2017), with the loop over time in one op.

    ZoneoutLSTMCell has the formulas, the weights and the arguments. `seed` also selects the units that keep
    their state. Every mask is accepted and means the same as in keras.layers.LSTM. Keras's implementation
    over the cell runs if tf_rnn_ops.keras.LSTM would use it. In training it draws other random numbers than
    the op. In inference both give the same results.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ZoneoutLSTM(4, zoneout_h=0.1, zoneout_c=0.2)
        >>> tuple(layer(tf.ones([2, 5, 3]), training=True).shape)
        (2, 4)
    """

    def __init__(
        self, units: int, zoneout_h=0.0, zoneout_c=0.0, *,
        activation="tanh", recurrent_activation="sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal",
        bias_initializer="zeros", unit_forget_bias=True, kernel_regularizer=None,
        recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None,
        recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0,
        seed=None, implementation=2, return_sequences=False, return_state=False, go_backwards=False,
        stateful=False, unroll=False, zero_output_for_mask=False, activity_regularizer=None,
        name=None, dtype=None, trainable=True, input_shape=None,
    ) -> None:  # fmt: skip
        super().__init__(**given(locals()))


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ZoneoutGRU(CellLayer, cell_class=ZoneoutGRUCell, cell_name="zoneout_gru_cell"):
    """keras.layers.GRU with zoneout, with the loop over time in one op.

    The description of ZoneoutLSTM applies. With reset_after=False Keras's implementation runs.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ZoneoutGRU(4, zoneout_h=0.1)
        >>> tuple(layer(tf.ones([2, 5, 3]), training=True).shape)
        (2, 4)
    """

    def __init__(
        self, units: int, zoneout_h=0.0, *,
        activation="tanh", recurrent_activation="sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal",
        bias_initializer="zeros", kernel_regularizer=None,
        recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None,
        recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0,
        reset_after=True, seed=None, implementation=2, return_sequences=False, return_state=False, go_backwards=False,
        stateful=False, unroll=False, zero_output_for_mask=False, activity_regularizer=None,
        name=None, dtype=None, trainable=True, input_shape=None,
    ) -> None:  # fmt: skip
        super().__init__(**given(locals()))
