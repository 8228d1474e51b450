"""ProjectedLSTM and PeepholeLSTM: LSTMs with a projection, peepholes and clipping, in one op."""

from typing import TYPE_CHECKING

import keras

from tf_rnn_ops.keras.layers.arguments import (
    Constraint,
    Initializer,
    LSTMArguments,
    Regularizer,
    divide,
    passes_on,
)
from tf_rnn_ops.keras.layers.cell_layer import CellAttribute, CellLayer, LSTMCellLayer
from tf_rnn_ops.keras.layers.projected_lstm_cell import PeepholeLSTMCell, ProjectedLSTMCell

if TYPE_CHECKING:
    from typing_extensions import Unpack


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ProjectedLSTM(LSTMCellLayer):
    """An LSTM with a projection of its output, peepholes and clipping, each of them optional.

    The layer runs tf.compat.v1.nn.rnn_cell.LSTMCell over time, in one op. ProjectedLSTMCell has the
    formulas, the weights and the arguments. Every mask is accepted and means the same as in
    keras.layers.LSTM. Keras's implementation over the cell runs if tf_rnn_ops.keras.LSTM would use it, and
    with num_proj and clip_gradient=False.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ProjectedLSTM(8, num_proj=4, use_peepholes=True, cell_clip=3.0)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """

    num_proj = CellAttribute()
    use_peepholes = CellAttribute()
    cell_clip = CellAttribute()
    proj_clip = CellAttribute()
    clip_gradient = CellAttribute()
    projection_initializer = CellAttribute()
    projection_regularizer = CellAttribute()
    projection_constraint = CellAttribute()
    peephole_initializer = CellAttribute()
    peephole_regularizer = CellAttribute()
    peephole_constraint = CellAttribute()

    @passes_on(ProjectedLSTMCell, keras.layers.RNN, input_shape=None)
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
        **kwargs: "Unpack[LSTMArguments]",
    ) -> None:
        of_cell, of_layer = divide(kwargs)
        cell = ProjectedLSTMCell(
            units,
            num_proj=num_proj,
            use_peepholes=use_peepholes,
            cell_clip=cell_clip,
            proj_clip=proj_clip,
            clip_gradient=clip_gradient,
            projection_initializer=projection_initializer,
            projection_regularizer=projection_regularizer,
            projection_constraint=projection_constraint,
            peephole_initializer=peephole_initializer,
            peephole_regularizer=peephole_regularizer,
            peephole_constraint=peephole_constraint,
            name="projected_lstm_cell",
            **of_cell,
        )
        super().__init__(cell, **of_layer)


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class PeepholeLSTM(ProjectedLSTM):
    """An LSTM whose gates see the cell state (peepholes), with optional clipping of that state.

    It is a ProjectedLSTM with clip_gradient=False and without a projection. PeepholeLSTMCell has the formulas, the
    weights and the arguments. The layer always runs on BlockLSTMV2, which has a kernel for GPUs.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.PeepholeLSTM(4, cell_clip=3.0)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """

    @passes_on(PeepholeLSTMCell, keras.layers.RNN, input_shape=None)
    def __init__(
        self,
        units: int,
        cell_clip: float | None = 0.0,
        peephole_initializer: Initializer = "glorot_uniform",
        peephole_regularizer: Regularizer = None,
        peephole_constraint: Constraint = None,
        **kwargs: "Unpack[LSTMArguments]",
    ) -> None:
        of_cell, of_layer = divide(kwargs)
        cell = PeepholeLSTMCell(
            units,
            cell_clip=cell_clip,
            peephole_initializer=peephole_initializer,
            peephole_regularizer=peephole_regularizer,
            peephole_constraint=peephole_constraint,
            name="peephole_lstm_cell",
            **of_cell,
        )
        CellLayer.__init__(self, cell, **of_layer)
