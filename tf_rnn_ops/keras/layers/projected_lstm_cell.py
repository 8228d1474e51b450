"""One step of an LSTM with a projection, peepholes and clipping, in ordinary Keras operations."""

from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from tf_rnn_ops._python import checks
from tf_rnn_ops.keras.dispatch.params import as_tensor, weight_of
from tf_rnn_ops.keras.layers import numeric_arguments
from tf_rnn_ops.keras.layers.arguments import (
    Constraint,
    Initializer,
    LSTMCellArguments,
    Regularizer,
    passes_on,
)
from tf_rnn_ops.keras.layers.op_cell import OpCell, dropped
from tf_rnn_ops.params.initializers import nth_use

if TYPE_CHECKING:
    from typing_extensions import Unpack


# The arguments of ProjectedLSTMCell that PeepholeLSTMCell sets itself.
_NO_ARGUMENTS = {
    "num_proj",
    "use_peepholes",
    "proj_clip",
    "clip_gradient",
    "projection_initializer",
    "projection_regularizer",
    "projection_constraint",
}


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ProjectedLSTMCell(OpCell, keras.layers.LSTMCell):
    """keras.layers.LSTMCell with a projection of its output (Sak et al., 2014) and peepholes.

    It has the formulas of tf.compat.v1.nn.rnn_cell.LSTMCell. Projection, peepholes and clipping are
    optional:

        i = s(x W_i + h R_i + p_i * c + b_i)        s is recurrent_activation
        f = s(x W_f + h R_f + p_f * c + b_f)
        c' = f * c + i * tanh(x W_c + h R_c + b_c)  clipped to [-cell_clip, cell_clip]
        o = s(x W_o + h R_o + p_o * c' + b_o)
        h' = (o * tanh(c')) projection              limited to [-proj_clip, proj_clip]

    Weights: kernel [I, 4*H], recurrent_kernel [S, 4*H] and bias [4*H] as in keras.layers.LSTMCell,
    where S is num_proj, or units without a projection; then projection [H, num_proj] and peepholes
    [3, H], of i, f and o.

    Args:
        units: Size of the cell state, H.
        num_proj: Size of the output; 0 or None for no projection.
        use_peepholes: Whether the gates read the cell state.
        cell_clip: Bound for clipping the cell state; 0, None and infinity mean no clipping.
        proj_clip: Bound for clipping the projected output; 0, None and infinity mean no clipping. The
            gradient of a clipped output is 0.
        clip_gradient: Whether the gradient of a clipped cell state is 0. If False, the gradient ignores
            cell_clip, as in BlockLSTMV2.
        projection_initializer: Initializer of the projection.
        projection_regularizer: Regularizer of the projection, or None.
        projection_constraint: Constraint of the projection, or None.
        peephole_initializer: Initializer of the peepholes.
        peephole_regularizer: Regularizer of the peepholes, or None.
        peephole_constraint: Constraint of the peepholes, or None.

    The other arguments are those of keras.layers.LSTMCell.

    Raises:
        ValueError: An argument is not as above.

    Example:
        >>> import keras
        >>> from tf_rnn_ops.keras import ProjectedLSTMCell
        >>> cell = ProjectedLSTMCell(8, num_proj=4, cell_clip=3.0)
        >>> tuple(keras.layers.RNN(cell)(keras.ops.ones([2, 5, 3])).shape)
        (2, 4)
    """

    projection: Any = None
    peepholes: Any = None

    @passes_on(keras.layers.LSTMCell, keras.layers.Layer, implementation=2)
    def __init__(
        self,
        units: int,
        num_proj: int | None = 0,
        use_peepholes: bool = False,
        cell_clip: float | None = 0.0,
        proj_clip: float | None = 0.0,
        clip_gradient: bool = True,
        projection_initializer: Initializer = "glorot_uniform",
        projection_regularizer: Regularizer = None,
        projection_constraint: Constraint = None,
        peephole_initializer: Initializer = "glorot_uniform",
        peephole_regularizer: Regularizer = None,
        peephole_constraint: Constraint = None,
        **kwargs: "Unpack[LSTMCellArguments]",
    ) -> None:
        super().__init__(units, **kwargs)
        self.num_proj = 0 if num_proj is None else checks.at_least("num_proj", num_proj, 0)
        self.use_peepholes = bool(use_peepholes)
        self.cell_clip = numeric_arguments.limit("cell_clip", cell_clip)
        self.proj_clip = numeric_arguments.limit("proj_clip", proj_clip)
        self.clip_gradient = bool(clip_gradient)
        self.projection_initializer = keras.initializers.get(projection_initializer)
        self.projection_regularizer = keras.regularizers.get(projection_regularizer)
        self.projection_constraint = keras.constraints.get(projection_constraint)
        self.peephole_initializer = keras.initializers.get(peephole_initializer)
        self.peephole_regularizer = keras.regularizers.get(peephole_regularizer)
        self.peephole_constraint = keras.constraints.get(peephole_constraint)
        if self.proj_clip and not self.num_proj:
            raise ValueError(f"proj_clip must be 0 without num_proj, but it is {self.proj_clip}.")
        self.output_size = self.num_proj or self.units
        self.state_size = [self.output_size, self.units]

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            "num_proj": self.num_proj,
            "use_peepholes": self.use_peepholes,
            "cell_clip": self.cell_clip,
            "proj_clip": self.proj_clip,
            "clip_gradient": self.clip_gradient,
            "projection_initializer": keras.initializers.serialize(self.projection_initializer),
            "projection_regularizer": keras.regularizers.serialize(self.projection_regularizer),
            "projection_constraint": keras.constraints.serialize(self.projection_constraint),
            "peephole_initializer": keras.initializers.serialize(self.peephole_initializer),
            "peephole_regularizer": keras.regularizers.serialize(self.peephole_regularizer),
            "peephole_constraint": keras.constraints.serialize(self.peephole_constraint),
        }

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Creates the weights."""
        super().build(input_shape)
        if self.num_proj:
            shape = (self.units, self.num_proj)
            self.projection = self._add_extra_weight("projection", shape, "projection")
        if self.use_peepholes:
            self._build_peepholes()

    def _build_peepholes(self) -> None:
        self.peepholes = self._add_extra_weight("peepholes", (3, self.units), "peephole")

    def _vectors(self) -> list[tf.Tensor]:
        """The peepholes of i, f and o."""
        return [self.peepholes[k] for k in range(3)]

    def add_weight(self, *args: Any, **kwargs: Any) -> keras.Variable:
        """As in Keras, but recurrent_kernel has a row for each element of the output."""
        if kwargs.get("name") == "recurrent_kernel":
            kwargs["shape"] = (self.output_size, 4 * self.units)
        return super().add_weight(*args, **kwargs)

    def _add_extra_weight(
        self, name: str, shape: tuple[int, ...], prefix: str, index: int = 0
    ) -> keras.Variable:
        return self.add_weight(
            shape=shape,
            name=name,
            initializer=nth_use(getattr(self, f"{prefix}_initializer"), index),
            regularizer=getattr(self, f"{prefix}_regularizer"),
            constraint=getattr(self, f"{prefix}_constraint"),
        )

    def call(
        self, inputs: tf.Tensor, states: list[tf.Tensor], training: bool | None = False
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Runs one step.

        Args:
            inputs: [B, I].
            states: The previous output, [B, S], and the cell state, [B, H].
            training: Whether to apply dropout.

        Returns:
            The new output and the list of both new states.
        """
        h, c = states
        z_i, z_f, z_c, z_o = self._sums(inputs, h, training)
        if self.use_peepholes:
            p_i, p_f, p_o = self._vectors()
            z_i, z_f = z_i + p_i * c, z_f + p_f * c
        i, f = self.recurrent_activation(z_i), self.recurrent_activation(z_f)
        c = self._limited_c(f * c + i * self.activation(z_c))
        if self.use_peepholes:
            z_o = z_o + p_o * c
        h = self.recurrent_activation(z_o) * self.activation(c)
        if self.num_proj:
            h = _limited(keras.ops.matmul(h, self.projection), self.proj_clip)
        return h, [h, c]

    def _sums(self, inputs: tf.Tensor, h: tf.Tensor, training: bool | None) -> list[tf.Tensor]:
        """The sums of the gates: their products with the input and the previous output, and their biases."""
        ops = keras.ops
        xs, hs = dropped(self, inputs, h, training)
        kernels, recurrent_kernels = (
            ops.split(weights, 4, axis=1) for weights in (self.kernel, self.recurrent_kernel)
        )
        sums = [
            ops.matmul(x, w) + ops.matmul(state, r)
            for x, w, state, r in zip(xs, kernels, hs, recurrent_kernels)
        ]
        return [s + b for s, b in zip(sums, ops.split(self.bias, 4))] if self.use_bias else sums

    def _limited_c(self, c: tf.Tensor) -> tf.Tensor:
        limited = _limited(c, self.cell_clip)
        if self.clip_gradient or limited is c:
            return limited
        return c + keras.ops.stop_gradient(limited - c)

    def get_initial_state(self, batch_size: int | None = None) -> list[tf.Tensor]:
        """Zeros for both states."""
        return [
            keras.ops.zeros((batch_size, size), dtype=self.compute_dtype)
            for size in self.state_size
        ]

    @property
    def op_name(self) -> str:
        """The op that has the gradient of clipping."""
        passes = self.cell_clip and not self.clip_gradient
        return "BlockLSTMV2" if passes else "LayerRNN"

    def op_reason(self) -> str | None:
        """Tells why the op cannot compute the cell; see keras/dispatch/cells.py."""
        if self.op_name == "LayerRNN" or not self.num_proj:
            return None
        return f"num_proj={self.num_proj}; there is no kernel with a projection with clip_gradient=False"

    def op_arguments(self, training: bool | None) -> dict[str, Any]:
        """The arguments of the op that come from this kind of cell; see keras/dispatch/cells.py."""
        if self.op_name == "LayerRNN":
            peepholes = self.peepholes if self.use_peepholes else None
            peepholes = as_tensor(peepholes, self.compute_dtype)
            return {
                "rnn_mode": "lstm",
                "projection": weight_of(self, "projection") if self.num_proj else None,
                "peepholes": peepholes,
                "cell_clip": self.cell_clip,
                "proj_clip": self.proj_clip,
            }
        if self.use_peepholes:
            vectors = [as_tensor(vector, self.compute_dtype) for vector in self._vectors()]
        else:
            vectors = [tf.zeros([self.units], self.compute_dtype)] * 3
        return {
            **dict(zip(("wci", "wcf", "wco"), vectors)),
            "cell_clip": self.cell_clip,
            "use_peephole": self.use_peepholes,
        }


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class PeepholeLSTMCell(ProjectedLSTMCell):
    """ProjectedLSTMCell with peepholes and clip_gradient=False, and without a projection.

    The gates read the cell state (Gers and Schmidhuber, 2000). Weights: the weights of
    keras.layers.LSTMCell, then peephole_i, peephole_f and peephole_o [H].

    Args:
        units: Size of the state, H.
        cell_clip: Bound for clipping the cell state; 0, None and infinity mean no clipping. The gradient
            ignores it.
        peephole_initializer: Initializer of the three peephole vectors.
        peephole_regularizer: Regularizer of the peepholes, or None.
        peephole_constraint: Constraint of the peepholes, or None.

    The other arguments are those of keras.layers.LSTMCell.

    Raises:
        ValueError: An argument is not as above.

    Example:
        >>> import keras
        >>> from tf_rnn_ops.keras import PeepholeLSTMCell
        >>> tuple(keras.layers.RNN(PeepholeLSTMCell(4))(keras.ops.ones([2, 5, 3])).shape)
        (2, 4)
    """

    op_name = "BlockLSTMV2"

    @passes_on(keras.layers.LSTMCell, keras.layers.Layer, implementation=2)
    def __init__(
        self,
        units: int,
        cell_clip: float | None = 0.0,
        peephole_initializer: Initializer = "glorot_uniform",
        peephole_regularizer: Regularizer = None,
        peephole_constraint: Constraint = None,
        **kwargs: "Unpack[LSTMCellArguments]",
    ) -> None:
        super().__init__(
            units,
            use_peepholes=True,
            cell_clip=cell_clip,
            clip_gradient=False,
            peephole_initializer=peephole_initializer,
            peephole_regularizer=peephole_regularizer,
            peephole_constraint=peephole_constraint,
            **kwargs,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        config = super().get_config()
        return {name: value for name, value in config.items() if name not in _NO_ARGUMENTS}

    def _build_peepholes(self) -> None:
        for k, gate in enumerate("ifo"):
            weight = self._add_extra_weight(f"peephole_{gate}", (self.units,), "peephole", k)
            setattr(self, f"peephole_{gate}", weight)

    def _vectors(self) -> list[tf.Tensor]:
        return [getattr(self, f"peephole_{gate}") for gate in "ifo"]


def _limited(values: tf.Tensor, limit: float) -> tf.Tensor:
    limit = numeric_arguments.rounded(limit)
    return keras.ops.clip(values, -limit, limit) if limit else values
