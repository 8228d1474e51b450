"""Zoneout: ZoneoutLSTMCell, ZoneoutLSTM, ZoneoutGRUCell and ZoneoutGRU."""

from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from tf_rnn_ops.keras.layers import numeric_arguments
from tf_rnn_ops.keras.layers.arguments import (
    GRUArguments,
    GRUCellArguments,
    LSTMArguments,
    LSTMCellArguments,
    divide,
    passes_on,
)
from tf_rnn_ops.keras.layers.cell_layer import CellAttribute, CellLayer, LSTMCellLayer
from tf_rnn_ops.keras.layers.op_cell import OpCell
from tf_rnn_ops.raw_ops import dropout_seeds

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _rate(name: str, value: Any) -> float:
    rate = numeric_arguments.float32(name, value)
    if not 0 <= numeric_arguments.rounded(rate) <= 1:
        raise ValueError(f"{name} must be between 0 and 1, but it is {value!r}.")
    return rate


class _ZoneoutCell(OpCell):
    """The methods of both cells with zoneout."""

    op_name: str
    _rnn_mode: str
    seed_generator: Any

    def _rates(self) -> dict[str, float]:
        """The attributes of zoneout, which the op has under the same names."""
        raise NotImplementedError

    def op_reason(self) -> str | None:
        """Tells why the op cannot compute the cell; see keras/dispatch/cells.py."""
        return None

    def op_arguments(self, training: bool | None) -> dict[str, Any]:
        """The arguments of the op that come from this kind of cell; see keras/dispatch/cells.py."""
        rates = self._rates()
        arguments = {"rnn_mode": self._rnn_mode, **rates}
        if training and any(rates.values()):
            arguments["seed"] = dropout_seeds.draw(self.seed_generator)
        return arguments

    def _mix(self, rate: float, old: tf.Tensor, new: tf.Tensor, training: bool | None) -> tf.Tensor:
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

    op_name = "LayerRNN"
    _rnn_mode = "lstm"

    @passes_on(keras.layers.LSTMCell, keras.layers.Layer, implementation=2)
    def __init__(
        self,
        units: int,
        zoneout_h: float = 0.0,
        zoneout_c: float = 0.0,
        **kwargs: "Unpack[LSTMCellArguments]",
    ) -> None:
        super().__init__(units, **kwargs)
        self.zoneout_h = _rate("zoneout_h", zoneout_h)
        self.zoneout_c = _rate("zoneout_c", zoneout_c)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "zoneout_h": self.zoneout_h, "zoneout_c": self.zoneout_c}

    def _rates(self) -> dict[str, float]:
        return {"zoneout_h": self.zoneout_h, "zoneout_c": self.zoneout_c}

    def call(self, inputs: tf.Tensor, states: Any, training: bool | None = False) -> Any:
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

    op_name = "LayerRNN"
    _rnn_mode = "gru"

    @passes_on(keras.layers.GRUCell, keras.layers.Layer, implementation=2)
    def __init__(
        self, units: int, zoneout_h: float = 0.0, **kwargs: "Unpack[GRUCellArguments]"
    ) -> None:
        super().__init__(units, **kwargs)
        self.zoneout_h = _rate("zoneout_h", zoneout_h)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "zoneout_h": self.zoneout_h}

    def _rates(self) -> dict[str, float]:
        return {"zoneout_h": self.zoneout_h}

    def call(self, inputs: tf.Tensor, states: Any, training: bool | None = False) -> Any:
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

    def op_reason(self) -> str | None:
        """Tells why the op cannot compute the cell; see keras/dispatch/cells.py."""
        if not self.reset_after:
            return "reset_after=False; the op has zoneout only for a GRU with reset_after=True"
        return None


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ZoneoutLSTM(LSTMCellLayer):
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

    zoneout_h = CellAttribute()
    zoneout_c = CellAttribute()

    @passes_on(ZoneoutLSTMCell, keras.layers.RNN, input_shape=None)
    def __init__(
        self,
        units: int,
        zoneout_h: float = 0.0,
        zoneout_c: float = 0.0,
        **kwargs: "Unpack[LSTMArguments]",
    ) -> None:
        of_cell, of_layer = divide(kwargs)
        cell = ZoneoutLSTMCell(units, zoneout_h, zoneout_c, name="zoneout_lstm_cell", **of_cell)
        super().__init__(cell, **of_layer)


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ZoneoutGRU(CellLayer):
    """keras.layers.GRU with zoneout, with the loop over time in one op.

    The description of ZoneoutLSTM applies. With reset_after=False Keras's implementation runs.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ZoneoutGRU(4, zoneout_h=0.1)
        >>> tuple(layer(tf.ones([2, 5, 3]), training=True).shape)
        (2, 4)
    """

    reset_after = CellAttribute()
    zoneout_h = CellAttribute()

    @passes_on(ZoneoutGRUCell, keras.layers.RNN, input_shape=None)
    def __init__(
        self, units: int, zoneout_h: float = 0.0, **kwargs: "Unpack[GRUArguments]"
    ) -> None:
        of_cell, of_layer = divide(kwargs)
        super().__init__(
            ZoneoutGRUCell(units, zoneout_h, name="zoneout_gru_cell", **of_cell), **of_layer
        )
