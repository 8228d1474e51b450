"""One step of an LSTM and of a GRU with zoneout, in plain Keras."""

import keras

from tf_rnn_ops import _seeds
from tf_rnn_ops.keras.layers import cell_options, numbers
from tf_rnn_ops.keras.layers.signatures import spelled_out


def _rate(name, value):
    rate = numbers.float32(name, value)
    if not 0 <= numbers.rounded(rate) <= 1:
        raise ValueError(f"{name} must be between 0 and 1, but it is {value!r}.")
    return rate


def _op_reason(on_gpu):
    return "zoneout has no kernel for GPUs" if on_gpu else None


def _op_arguments(cell, training, rnn_mode, rates):
    """`rates`: the names of the chances, which the op has too."""
    arguments = {"rnn_mode": rnn_mode, **{name: getattr(cell, name) for name in rates}}
    if training and any(arguments[name] for name in rates):
        arguments["seed"] = _seeds.draw(cell.seed_generator)
    return arguments


def _mix(cell, rate, old, new, training):
    """What a step leaves of the old state and the new one."""
    rate = numbers.rounded(rate)
    if rate == 0:
        return new
    ops = keras.ops
    if not training:
        # 0 times the new one would be NaN where that is infinite.
        return old if rate == 1 else rate * old + (1 - rate) * new
    drawn = keras.random.uniform(ops.shape(new), dtype="float32", seed=cell.seed_generator)
    return ops.where(drawn < rate, old, new)


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
@spelled_out(keras.layers.LSTMCell)
class ZoneoutLSTMCell(keras.layers.LSTMCell):
    """keras.layers.LSTMCell with zoneout (Krueger et al., 2017).

    In training each unit of h keeps its old value with a chance of zoneout_h, and each of c with one of
    zoneout_c, drawn anew at every step. In inference the states are the means, such as
    zoneout_h * h + (1 - zoneout_h) * h'. The new h' is made of the new c' itself, as in the paper.
    """

    op_name = "LayerRNN"

    def __init__(self, units, zoneout_h=0.0, zoneout_c=0.0, **kwargs):
        """Creates the cell.

        Args:
            units: Size of the state, H.
            zoneout_h: The chance that a unit of h keeps its value, between 0 and 1.
            zoneout_c: The same of the cell state.
            **kwargs: As for keras.layers.LSTMCell.

        Raises:
            ValueError: An argument is not as above.
        """
        super().__init__(units, **kwargs)
        self.zoneout_h = _rate("zoneout_h", zoneout_h)
        self.zoneout_c = _rate("zoneout_c", zoneout_c)

    def call(self, inputs, states, training=False):
        """Runs one step.

        Args:
            inputs: [B, I].
            states: The hidden state and the cell state, both [B, H].
            training: Whether to apply dropout and to draw what is kept.

        Returns:
            The new hidden state and the list of both new states.
        """
        _, (h, c) = super().call(inputs, states, training=training)
        h = _mix(self, self.zoneout_h, states[0], h, training)
        c = _mix(self, self.zoneout_c, states[1], c, training)
        return h, [h, c]

    def op_reason(self, on_gpu):
        """Tells why the op cannot compute the cell; see keras/path/cells.py."""
        return _op_reason(on_gpu)

    def op_arguments(self, training):
        """The arguments of the op that the cell adds; see keras/path/cells.py."""
        return _op_arguments(self, training, "lstm", ("zoneout_h", "zoneout_c"))

    def get_config(self):
        """Returns the arguments of the constructor."""
        own = {"zoneout_h": self.zoneout_h, "zoneout_c": self.zoneout_c}
        return {**super().get_config(), **cell_options.implementation(self), **own}


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
@spelled_out(keras.layers.GRUCell)
class ZoneoutGRUCell(keras.layers.GRUCell):
    """keras.layers.GRUCell with zoneout, as in ZoneoutLSTMCell."""

    op_name = "LayerRNN"

    def __init__(self, units, zoneout_h=0.0, **kwargs):
        """Creates the cell.

        Args:
            units: Size of the state, H.
            zoneout_h: The chance that a unit keeps its value, between 0 and 1.
            **kwargs: As for keras.layers.GRUCell.

        Raises:
            ValueError: An argument is not as above.
        """
        super().__init__(units, **kwargs)
        self.zoneout_h = _rate("zoneout_h", zoneout_h)

    def call(self, inputs, states, training=False):
        """Runs one step.

        Args:
            inputs: [B, I].
            states: The state [B, H], or a list of it.
            training: Whether to apply dropout and to draw what is kept.

        Returns:
            The new state, and again, in a list if it was given in one.
        """
        listed = isinstance(states, (list, tuple))
        new, _ = super().call(inputs, states, training=training)
        h = _mix(self, self.zoneout_h, states[0] if listed else states, new, training)
        return h, [h] if listed else h

    def op_reason(self, on_gpu):
        """Tells why the op cannot compute the cell; see keras/path/cells.py."""
        if not (on_gpu or self.reset_after):
            return "reset_after=False; the op has zoneout only for a GRU with reset_after=True"
        return _op_reason(on_gpu)

    def op_arguments(self, training):
        """The arguments of the op that the cell adds; see keras/path/cells.py."""
        return _op_arguments(self, training, "gru", ("zoneout_h",))

    def get_config(self):
        """Returns the arguments of the constructor."""
        own = {"zoneout_h": self.zoneout_h}
        return {**super().get_config(), **cell_options.implementation(self), **own}
