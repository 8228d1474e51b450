"""A layer-normalised LSTM: LayerNormLSTMCell and LayerNormLSTM."""

from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from tf_rnn_ops.keras.dispatch import changes
from tf_rnn_ops.keras.dispatch.params import as_tensor
from tf_rnn_ops.keras.layers.arguments import (
    Initializer,
    LSTMArguments,
    LSTMCellArguments,
    divide,
    passes_on,
)
from tf_rnn_ops.keras.layers.cell_layer import CellAttribute, LSTMCellLayer
from tf_rnn_ops.keras.layers.numeric_arguments import not_negative, rounded
from tf_rnn_ops.keras.layers.op_cell import OpCell, dropped

if TYPE_CHECKING:
    from typing_extensions import Unpack


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class LayerNormLSTMCell(OpCell, keras.layers.LSTMCell):
    """keras.layers.LSTMCell with layer normalization (Ba et al., 2016).

    It has the formulas of tensorflow_addons.rnn.LayerNormLSTMCell without recurrent_dropout:

        i, f, c, o = N_kernel(x kernel) + N_recurrent(h recurrent_kernel) + bias
        c' = N_state(s(f) * c + s(i) * tanh(c))     s is recurrent_activation
        h' = s(o) * tanh(c')
        N(v) = gamma * (v - mean) / sqrt(variance + norm_epsilon) + beta

    The mean and the variance are those of the values of each sequence. The first two norms use the values
    of all four gates together. The state is the normalised c'.

    Weights: kernel, recurrent_kernel and bias as in keras.layers.LSTMCell, then gamma and beta of
    kernel_norm [4*H], of recurrent_norm [4*H] and of state_norm [H], in the order of TensorFlow Addons. So
    set_weights accepts the result of get_weights of TensorFlow Addons' cell. With recurrent_dropout each
    gate has its own mask, as in keras.layers.LSTMCell. TensorFlow Addons multiplies h by one mask for all
    gates.

    Args:
        units: Size of the state, H.
        norm_gamma_initializer: Initializer of the gammas.
        norm_beta_initializer: Initializer of the betas.
        norm_epsilon: A number that is added to each variance, 0 or more. With 0 Keras's implementation
            runs.

    The other arguments are those of keras.layers.LSTMCell.

    Raises:
        ValueError: An argument is not as above.

    Example:
        >>> import keras
        >>> from tf_rnn_ops.keras import LayerNormLSTMCell
        >>> tuple(keras.layers.RNN(LayerNormLSTMCell(4))(keras.ops.ones([2, 5, 3])).shape)
        (2, 4)
    """

    op_name = "LayerRNN"

    @passes_on(keras.layers.LSTMCell, keras.layers.Layer, implementation=2)
    def __init__(
        self,
        units: int,
        norm_gamma_initializer: Initializer = "ones",
        norm_beta_initializer: Initializer = "zeros",
        norm_epsilon: float = 1e-3,
        **kwargs: "Unpack[LSTMCellArguments]",
    ) -> None:
        super().__init__(units, **kwargs)
        self.norm_gamma_initializer = keras.initializers.get(norm_gamma_initializer)
        self.norm_beta_initializer = keras.initializers.get(norm_beta_initializer)
        self.norm_epsilon = not_negative("norm_epsilon", norm_epsilon)
        self.kernel_norm = self._norm("kernel_norm")
        self.recurrent_norm = self._norm("recurrent_norm")
        self.state_norm = self._norm("state_norm")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            "norm_gamma_initializer": keras.initializers.serialize(self.norm_gamma_initializer),
            "norm_beta_initializer": keras.initializers.serialize(self.norm_beta_initializer),
            "norm_epsilon": self.norm_epsilon,
        }

    def _norm(self, name: str) -> keras.layers.LayerNormalization:
        return keras.layers.LayerNormalization(
            epsilon=rounded(self.norm_epsilon),
            gamma_initializer=self.norm_gamma_initializer,
            beta_initializer=self.norm_beta_initializer,
            dtype=self.dtype_policy,
            trainable=self.trainable,
            name=name,
        )

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Creates the weights."""
        super().build(input_shape)
        self.kernel_norm.build((None, 4 * self.units))
        self.recurrent_norm.build((None, 4 * self.units))
        self.state_norm.build((None, self.units))

    def call(
        self, inputs: tf.Tensor, states: list[tf.Tensor], training: bool | None = False
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Runs one step.

        Args:
            inputs: [B, I].
            states: The hidden state and the cell state, both [B, H].
            training: Whether to apply dropout.

        Returns:
            The new hidden state and the list of both new states.
        """
        ops = keras.ops
        h, c = states
        xs, hs = dropped(self, inputs, h, training)
        z = self.kernel_norm(_product(xs, self.kernel))
        z = z + self.recurrent_norm(_product(hs, self.recurrent_kernel))
        if self.use_bias:
            z = z + self.bias
        z_i, z_f, z_c, z_o = ops.split(z, 4, axis=1)
        i, f = self.recurrent_activation(z_i), self.recurrent_activation(z_f)
        c = self.state_norm(f * c + i * self.activation(z_c))
        h = self.recurrent_activation(z_o) * self.activation(c)
        return h, [h, c]

    def op_reason(self) -> str | None:
        """Tells why the op cannot compute the cell; see keras/dispatch/cells.py."""
        if not self.norm_epsilon:
            return "norm_epsilon=0; the op needs a positive number"
        for norm in self._norms():
            usual = type(norm) is keras.layers.LayerNormalization and norm.scale and norm.center
            usual = usual and not getattr(norm, "rms_scaling", False)
            usual = usual and keras.tree.flatten(norm.axis) in ([-1], [1])
            if not usual or norm.epsilon != rounded(self.norm_epsilon):
                return f"{norm.name!r} of {self.name!r} has been changed"
            if reason := changes.step_reason(norm):
                return reason
        return None

    def _norms(self) -> tuple[keras.layers.LayerNormalization, ...]:
        return self.kernel_norm, self.recurrent_norm, self.state_norm

    def op_arguments(self, training: bool | None) -> dict[str, Any]:
        """The arguments of the op that come from this kind of cell; see keras/dispatch/cells.py."""
        norms = self._norms()
        rows = [as_tensor(w, self.compute_dtype) for norm in norms for w in (norm.gamma, norm.beta)]
        return {
            "rnn_mode": "lstm",
            "layer_norm": tf.reshape(tf.concat(rows, 0), [-1, self.units]),
            "layer_norm_epsilon": self.norm_epsilon,
        }


def _product(values: list[tf.Tensor], weights: keras.Variable) -> tf.Tensor:
    """The product of the values of each gate with its weights, [B, 4*H]."""
    if all(value is values[0] for value in values):
        return keras.ops.matmul(values[0], weights)
    pairs = zip(values, keras.ops.split(weights, 4, axis=1))
    return keras.ops.concatenate([keras.ops.matmul(v, w) for v, w in pairs], axis=1)


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class LayerNormLSTM(LSTMCellLayer):
    """keras.layers.LSTM with layer normalization (Ba et al., 2016), with the loop over time in one op.

    The results are the same as of keras.layers.RNN over TensorFlow Addons' LayerNormLSTMCell without
    recurrent_dropout. LayerNormLSTMCell has the formulas, the weights and the arguments. Every mask is
    accepted and means the same as in keras.layers.LSTM. Keras's implementation over the cell runs if
    tf_rnn_ops.keras.LSTM would use it, and with norm_epsilon=0.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.LayerNormLSTM(4)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """

    norm_gamma_initializer = CellAttribute()
    norm_beta_initializer = CellAttribute()
    norm_epsilon = CellAttribute()

    @passes_on(LayerNormLSTMCell, keras.layers.RNN, input_shape=None)
    def __init__(
        self,
        units: int,
        norm_gamma_initializer: Initializer = "ones",
        norm_beta_initializer: Initializer = "zeros",
        norm_epsilon: float = 1e-3,
        **kwargs: "Unpack[LSTMArguments]",
    ) -> None:
        of_cell, of_layer = divide(kwargs)
        cell = LayerNormLSTMCell(
            units,
            norm_gamma_initializer,
            norm_beta_initializer,
            norm_epsilon,
            name="layer_norm_lstm_cell",
            **of_cell,
        )
        super().__init__(cell, **of_layer)
