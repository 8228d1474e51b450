"""ProjectedLSTM and PeepholeLSTM: LSTMs with a projection, peepholes and clipping, in one op."""

import keras

from tf_rnn_ops.keras.layers.own_layer import OwnLayer
from tf_rnn_ops.keras.layers.projected_cell import PeepholeLSTMCell, ProjectedLSTMCell


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ProjectedLSTM(OwnLayer, cell_class=ProjectedLSTMCell, cell_name="projected_lstm_cell"):
    """An LSTM with a projection of its output, peepholes and clipping, each of them optional.

    It runs tf.compat.v1.nn.rnn_cell.LSTMCell over time, in one op. ProjectedLSTMCell has the formulas and
    the weights. Every mask is accepted and means the same as in keras.layers.LSTM. Keras's implementation
    over the cell runs if tf_rnn_ops.keras.LSTM would use it. It also runs with a projection if TensorFlow
    sees a GPU or with clip_gradient=False, and with cell_clip and clip_gradient=True if TensorFlow sees a
    GPU.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ProjectedLSTM(8, num_proj=4, use_peepholes=True, cell_clip=3.0)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class PeepholeLSTM(ProjectedLSTM, cell_class=PeepholeLSTMCell, cell_name="peephole_lstm_cell"):
    """A ProjectedLSTM with peepholes and clip_gradient=False, and without a projection.

    PeepholeLSTMCell has the formulas and the weights. The layer always runs on BlockLSTMV2, which has a
    kernel for GPUs.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.PeepholeLSTM(4, cell_clip=3.0)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """
