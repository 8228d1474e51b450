"""One step of an LSTM with peepholes and a limit on the cell state, in plain Keras."""

import keras

from tf_rnn_ops._initializers import nth_use
from tf_rnn_ops.keras.layers import cell_options, numbers
from tf_rnn_ops.keras.layers.projected_cell import dropped
from tf_rnn_ops.keras.layers.signatures import spelled_out
from tf_rnn_ops.keras.path.params import as_tensor


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
@spelled_out(keras.layers.LSTMCell)
class PeepholeLSTMCell(keras.layers.LSTMCell):
    """keras.layers.LSTMCell whose gates also see the cell state (Gers and Schmidhuber, 2000).

        i = s(x W_i + h R_i + p_i * c + b_i)        s is recurrent_activation
        f = s(x W_f + h R_f + p_f * c + b_f)
        c' = f * c + i * tanh(x W_c + h R_c + b_c)  limited to [-cell_clip, cell_clip]
        o = s(x W_o + h R_o + p_o * c' + b_o)
        h' = o * tanh(c')                           tanh is activation

    The gradient passes through the limit as if it were not there, as in BlockLSTMV2.
    """

    # Other layers than PeepholeLSTM do not make it.
    op_name = "BlockLSTMV2"

    def __init__(
        self,
        units,
        cell_clip=0.0,
        peephole_initializer="glorot_uniform",
        peephole_regularizer=None,
        peephole_constraint=None,
        **kwargs,
    ):
        """Creates the cell.

        Args:
            units: Size of the state, H.
            cell_clip: Limit of the cell state; 0, None and infinity mean none.
            peephole_initializer: Initializer of the three peephole vectors [H].
            peephole_regularizer: Their regularizer, or None.
            peephole_constraint: Their constraint, or None.
            **kwargs: As for keras.layers.LSTMCell.

        Raises:
            ValueError: An argument is not as above.
        """
        super().__init__(units, **kwargs)
        self.cell_clip = numbers.limit("cell_clip", cell_clip)
        self.peephole_initializer = keras.initializers.get(peephole_initializer)
        self.peephole_regularizer = keras.regularizers.get(peephole_regularizer)
        self.peephole_constraint = keras.constraints.get(peephole_constraint)

    def build(self, input_shape):
        """Creates the weights: those of LSTMCell, then peephole_i, peephole_f and peephole_o."""
        super().build(input_shape)
        for k, gate in enumerate("ifo"):
            weight = self.add_weight(
                shape=(self.units,),
                name=f"peephole_{gate}",
                initializer=nth_use(self.peephole_initializer, k),
                regularizer=self.peephole_regularizer,
                constraint=self.peephole_constraint,
            )
            setattr(self, f"peephole_{gate}", weight)

    def call(self, inputs, states, training=False):
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
        # One mask per gate when the superclass works gate by gate, otherwise one for all.
        kernels = ops.split(self.kernel, 4, axis=1)
        recurrent_kernels = ops.split(self.recurrent_kernel, 4, axis=1)
        xs = dropped(inputs, self.dropout, self.get_dropout_mask, training)
        hs = dropped(h, self.recurrent_dropout, self.get_recurrent_dropout_mask, training)
        sums = [
            ops.matmul(x, w) + ops.matmul(state, r)
            for x, w, state, r in zip(xs, kernels, hs, recurrent_kernels)
        ]
        if self.use_bias:
            sums = [s + b for s, b in zip(sums, ops.split(self.bias, 4))]
        z_i, z_f, z_c, z_o = sums
        i = self.recurrent_activation(z_i + self.peephole_i * c)
        f = self.recurrent_activation(z_f + self.peephole_f * c)
        c = f * c + i * self.activation(z_c)
        if self.cell_clip > 0:
            limit = numbers.rounded(self.cell_clip)
            clipped = ops.clip(c, -limit, limit)
            c = c + ops.stop_gradient(clipped - c)
        o = self.recurrent_activation(z_o + self.peephole_o * c)
        h = o * self.activation(c)
        return h, [h, c]

    def op_reason(self, on_gpu):
        """Tells why the op cannot compute the cell, which it always can; see keras/path/cells.py."""
        return None

    def op_arguments(self, training):
        """The arguments of BlockLSTMV2 that the cell adds; see keras/path/cells.py."""
        gates = {"wci": self.peephole_i, "wcf": self.peephole_f, "wco": self.peephole_o}
        return {
            **{name: as_tensor(weight, self.compute_dtype) for name, weight in gates.items()},
            "cell_clip": self.cell_clip,
            "use_peephole": True,
        }

    def get_config(self):
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            **cell_options.implementation(self),
            "cell_clip": self.cell_clip,
            "peephole_initializer": keras.initializers.serialize(self.peephole_initializer),
            "peephole_regularizer": keras.regularizers.serialize(self.peephole_regularizer),
            "peephole_constraint": keras.constraints.serialize(self.peephole_constraint),
        }
