"""ProjectedLSTM and PeepholeLSTM: LSTMs with a projection, peepholes and clipping, in one op."""

import keras

from tf_rnn_ops.keras.layers.cell_layer import CellLayer
from tf_rnn_ops.keras.layers.options import given
from tf_rnn_ops.keras.layers.projected_lstm_cell import PeepholeLSTMCell, ProjectedLSTMCell


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ProjectedLSTM(CellLayer, cell_class=ProjectedLSTMCell, cell_name="projected_lstm_cell"):
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

    def __init__(
        self, units: int, num_proj=0, use_peepholes=False, cell_clip=0.0, proj_clip=0.0,
        clip_gradient=True, projection_initializer="glorot_uniform", projection_regularizer=None,
        projection_constraint=None, peephole_initializer="glorot_uniform",
        peephole_regularizer=None, peephole_constraint=None, *,
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
class PeepholeLSTM(ProjectedLSTM, cell_class=PeepholeLSTMCell, cell_name="peephole_lstm_cell"):
    """A ProjectedLSTM with peepholes and clip_gradient=False, and without a projection.

    PeepholeLSTMCell has the formulas, the weights and the arguments. The layer always runs on BlockLSTMV2, which has a
    kernel for GPUs.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.PeepholeLSTM(4, cell_clip=3.0)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """

    def __init__(
        self, units: int, cell_clip=0.0, peephole_initializer="glorot_uniform",
        peephole_regularizer=None, peephole_constraint=None, *,
        activation="tanh", recurrent_activation="sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal",
        bias_initializer="zeros", unit_forget_bias=True, kernel_regularizer=None,
        recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None,
        recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0,
        seed=None, implementation=2, return_sequences=False, return_state=False, go_backwards=False,
        stateful=False, unroll=False, zero_output_for_mask=False, activity_regularizer=None,
        name=None, dtype=None, trainable=True, input_shape=None,
    ) -> None:  # fmt: skip
        CellLayer.__init__(self, **given(locals()))
