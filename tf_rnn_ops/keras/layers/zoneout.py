"""ZoneoutLSTM and ZoneoutGRU: zoneout over time, on LayerRNN."""

import keras

from tf_rnn_ops.keras.layers.own_layer import OwnLayer
from tf_rnn_ops.keras.layers.zoneout_cells import ZoneoutGRUCell, ZoneoutLSTMCell


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ZoneoutLSTM(OwnLayer, cell_class=ZoneoutLSTMCell, cell_name="zoneout_lstm_cell"):
    """keras.layers.LSTM with zoneout (Krueger et al., 2017), with the loop over time in one op.

    ZoneoutLSTMCell has the formulas and the weights. `seed` also selects the units that keep their state.
    Every mask is accepted and means the same as in keras.layers.LSTM. Keras's implementation over the cell
    runs if tf_rnn_ops.keras.LSTM would use it, and if TensorFlow sees a GPU. In training it draws other
    random numbers than the op. In inference both give the same results.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ZoneoutLSTM(4, zoneout_h=0.1, zoneout_c=0.2)
        >>> tuple(layer(tf.ones([2, 5, 3]), training=True).shape)
        (2, 4)
    """


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ZoneoutGRU(OwnLayer, cell_class=ZoneoutGRUCell, cell_name="zoneout_gru_cell"):
    """keras.layers.GRU with zoneout, with the loop over time in one op.

    The description of ZoneoutLSTM applies. With reset_after=False Keras's implementation runs.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ZoneoutGRU(4, zoneout_h=0.1)
        >>> tuple(layer(tf.ones([2, 5, 3]), training=True).shape)
        (2, 4)
    """
