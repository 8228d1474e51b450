"""ZoneoutLSTM and ZoneoutGRU: zoneout over time, on LayerRNN."""

import keras

from tf_rnn_ops.keras.layers.own_cell import OwnCell
from tf_rnn_ops.keras.layers.zoneout_cells import ZoneoutGRUCell, ZoneoutLSTMCell


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ZoneoutLSTM(OwnCell, cell_class=ZoneoutLSTMCell, cell_name="zoneout_lstm_cell"):
    """keras.layers.LSTM with zoneout (Krueger et al., 2017), with the loop over time in one op.

    The formulas and the weights are those of ZoneoutLSTMCell. Any mask is taken; it means what it means
    to keras.layers.LSTM. Keras's loop over the cell runs where tf_rnn_ops.keras.LSTM would use the
    loop, and where TensorFlow sees a GPU. In training the loop draws other random numbers than the op;
    in inference both give the same.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ZoneoutLSTM(4, zoneout_h=0.1, zoneout_c=0.2)
        >>> tuple(layer(tf.ones([2, 5, 3]), training=True).shape)
        (2, 4)
    """

    def __init__(self, units, zoneout_h=0.0, zoneout_c=0.0, **kwargs):
        """Creates the layer.

        Args:
            units: Size of the state, H.
            zoneout_h: The chance that a unit of h keeps its value, between 0 and 1.
            zoneout_c: The same of the cell state.
            **kwargs: Any other argument of keras.layers.LSTM except use_cudnn; `seed` also selects what
                is kept.

        Raises:
            ValueError: An argument is not as above.
        """
        own = {"zoneout_h": zoneout_h, "zoneout_c": zoneout_c}
        super().__init__(units, {**own, **kwargs})


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ZoneoutGRU(OwnCell, cell_class=ZoneoutGRUCell, cell_name="zoneout_gru_cell"):
    """keras.layers.GRU with zoneout, with the loop over time in one op.

    As ZoneoutLSTM. With reset_after=False Keras's loop runs.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ZoneoutGRU(4, zoneout_h=0.1)
        >>> tuple(layer(tf.ones([2, 5, 3]), training=True).shape)
        (2, 4)
    """

    def __init__(self, units, zoneout_h=0.0, **kwargs):
        """Creates the layer.

        Args:
            units: Size of the state, H.
            zoneout_h: The chance that a unit keeps its value, between 0 and 1.
            **kwargs: Any other argument of keras.layers.GRU except use_cudnn; `seed` also selects what
                is kept.

        Raises:
            ValueError: An argument is not as above.
        """
        own = {"zoneout_h": zoneout_h}
        super().__init__(units, {**own, **kwargs})
