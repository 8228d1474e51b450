"""One step of TensorFlow 1's LSTMCell: projection, peepholes and limits, in plain Keras."""

import keras

from tf_rnn_ops.keras.layers import cell_options, numbers
from tf_rnn_ops.keras.layers.signatures import spelled_out
from tf_rnn_ops.keras.path.params import as_tensor


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
@spelled_out(keras.layers.LSTMCell)
class ProjectedLSTMCell(keras.layers.LSTMCell):
    """keras.layers.LSTMCell with a projection of its output (Sak et al., 2014) and peepholes.

    What tf.compat.v1.nn.rnn_cell.LSTMCell computes. Every part may be left out:

        i = s(x W_i + h R_i + p_i * c + b_i)        s is recurrent_activation
        f = s(x W_f + h R_f + p_f * c + b_f)
        c' = f * c + i * tanh(x W_c + h R_c + b_c)  limited to [-cell_clip, cell_clip]
        o = s(x W_o + h R_o + p_o * c' + b_o)
        h' = (o * tanh(c')) projection              limited to [-proj_clip, proj_clip]

    No gradient passes a c' or h' that was limited. Weights: kernel [I, 4*H], recurrent_kernel
    [S, 4*H] and bias [4*H] as in keras.layers.LSTMCell, where S is num_proj, or units without a
    projection; then projection [H, num_proj] and peepholes [3, H], of i, f and o.
    """

    op_name = "LayerRNN"

    def __init__(
        self,
        units,
        num_proj=0,
        use_peepholes=False,
        cell_clip=0.0,
        proj_clip=0.0,
        projection_initializer="glorot_uniform",
        projection_regularizer=None,
        projection_constraint=None,
        peephole_initializer="glorot_uniform",
        peephole_regularizer=None,
        peephole_constraint=None,
        **kwargs,
    ):
        """Creates the cell.

        Args:
            units: Size of the cell state, H.
            num_proj: Size of the output; 0 or None for no projection.
            use_peepholes: Whether the gates see the cell state.
            cell_clip: Limit of the cell state; 0, None and infinity mean none.
            proj_clip: Limit of the projected output; 0, None and infinity mean none.
            projection_initializer: Initializer of the projection.
            projection_regularizer: Its regularizer, or None.
            projection_constraint: Its constraint, or None.
            peephole_initializer: Initializer of the peepholes.
            peephole_regularizer: Their regularizer, or None.
            peephole_constraint: Their constraint, or None.
            **kwargs: As for keras.layers.LSTMCell.

        Raises:
            ValueError: An argument is not as above.
        """
        super().__init__(units, **kwargs)
        self.num_proj = 0 if num_proj is None else numbers.integer("num_proj", num_proj)
        if self.num_proj < 0:
            raise ValueError(f"num_proj must be 0 or more, but it is {num_proj}.")
        self.use_peepholes = bool(use_peepholes)
        self.cell_clip = numbers.limit("cell_clip", cell_clip)
        self.proj_clip = numbers.limit("proj_clip", proj_clip)
        if self.proj_clip and not self.num_proj:
            raise ValueError(f"proj_clip must be 0 without num_proj, but it is {proj_clip}.")
        for name, get, value in (
            ("projection_initializer", keras.initializers.get, projection_initializer),
            ("projection_regularizer", keras.regularizers.get, projection_regularizer),
            ("projection_constraint", keras.constraints.get, projection_constraint),
            ("peephole_initializer", keras.initializers.get, peephole_initializer),
            ("peephole_regularizer", keras.regularizers.get, peephole_regularizer),
            ("peephole_constraint", keras.constraints.get, peephole_constraint),
        ):
            setattr(self, name, get(value))
        self.state_size = [self.num_proj or units, units]
        self.output_size = self.num_proj or units
        self.projection = self.peepholes = None

    def build(self, input_shape):
        """Creates the weights."""
        super().build(input_shape)
        if self.num_proj:
            self._own_weight("projection", (self.units, self.num_proj), "projection")
        if self.use_peepholes:
            self._own_weight("peepholes", (3, self.units), "peephole")

    def add_weight(self, *args, **kwargs):
        """As Keras's; the rows of recurrent_kernel are those of the output."""
        if kwargs.get("name") == "recurrent_kernel":
            kwargs["shape"] = (self.output_size, 4 * self.units)
        return super().add_weight(*args, **kwargs)

    def _own_weight(self, name, shape, prefix):
        weight = self.add_weight(
            shape=shape,
            name=name,
            initializer=getattr(self, f"{prefix}_initializer"),
            regularizer=getattr(self, f"{prefix}_regularizer"),
            constraint=getattr(self, f"{prefix}_constraint"),
        )
        setattr(self, name, weight)

    def call(self, inputs, states, training=False):
        """Runs one step.

        Args:
            inputs: [B, I].
            states: The output before, [B, S], and the cell state, [B, H].
            training: Whether to apply dropout.

        Returns:
            The new output and the list of both new states.
        """
        ops = keras.ops
        h, c = states
        kernels = ops.split(self.kernel, 4, axis=1)
        recurrent_kernels = ops.split(self.recurrent_kernel, 4, axis=1)
        # One mask for each gate, or one for all.
        xs = dropped(inputs, self.dropout, self.get_dropout_mask, training)
        hs = dropped(h, self.recurrent_dropout, self.get_recurrent_dropout_mask, training)
        sums = [
            ops.matmul(x, w) + ops.matmul(state, r)
            for x, w, state, r in zip(xs, kernels, hs, recurrent_kernels)
        ]
        if self.use_bias:
            sums = [s + b for s, b in zip(sums, ops.split(self.bias, 4))]
        z_i, z_f, z_c, z_o = sums
        if self.use_peepholes:
            z_i, z_f = z_i + self.peepholes[0] * c, z_f + self.peepholes[1] * c
        i, f = self.recurrent_activation(z_i), self.recurrent_activation(z_f)
        c = _limited(f * c + i * self.activation(z_c), self.cell_clip)
        if self.use_peepholes:
            z_o = z_o + self.peepholes[2] * c
        h = self.recurrent_activation(z_o) * self.activation(c)
        if self.num_proj:
            h = _limited(ops.matmul(h, self.projection), self.proj_clip)
        return h, [h, c]

    def get_initial_state(self, batch_size=None):
        """Zeros for both states."""
        return [
            keras.ops.zeros((batch_size, size), dtype=self.compute_dtype)
            for size in self.state_size
        ]

    def op_reason(self, on_gpu):
        """Tells why the op cannot compute the cell; see keras/path/cells.py."""
        if on_gpu:
            return "LSTMs with projection or peepholes have no kernel for GPUs"
        return None

    def op_arguments(self, training):
        """The arguments of the op that the cell adds; see keras/path/cells.py."""
        return {
            "rnn_mode": "lstm",
            "projection": as_tensor(self.projection, self.compute_dtype),
            "peepholes": as_tensor(self.peepholes, self.compute_dtype),
            "cell_clip": self.cell_clip,
            "proj_clip": self.proj_clip,
        }

    def get_config(self):
        """Returns the arguments of the constructor."""
        config = {**super().get_config(), **cell_options.implementation(self)}
        for name in ("num_proj", "use_peepholes", "cell_clip", "proj_clip"):
            config[name] = getattr(self, name)
        for kind in ("projection", "peephole"):
            for part, module in (
                ("initializer", keras.initializers),
                ("regularizer", keras.regularizers),
                ("constraint", keras.constraints),
            ):
                name = f"{kind}_{part}"
                config[name] = module.serialize(getattr(self, name))
        return config


def dropped(values, rate, get_mask, training):
    """The values for each of the four gates."""
    if not (training and 0 < rate < 1):
        return [values] * 4
    mask = get_mask(values)
    masks = mask if isinstance(mask, list) else [mask] * 4
    return [values * one for one in masks]


def _limited(values, limit):
    limit = numbers.rounded(limit)
    return keras.ops.clip(values, -limit, limit) if limit else values
