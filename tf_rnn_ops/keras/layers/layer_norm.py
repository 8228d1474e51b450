"""LayerNormLSTM: a layer-normalised LSTM over time, on LayerRNN."""

import keras

from tf_rnn_ops.keras.layers.layer_norm_cell import LayerNormLSTMCell
from tf_rnn_ops.keras.layers.own_layer import OwnLayer


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class LayerNormLSTM(OwnLayer, cell_class=LayerNormLSTMCell, cell_name="layer_norm_lstm_cell"):
    """keras.layers.LSTM with layer normalization (Ba et al., 2016), with the loop over time in one op.

    The results are the same as of keras.layers.RNN over TensorFlow Addons' LayerNormLSTMCell without
    recurrent_dropout. LayerNormLSTMCell has the formulas and the weights. Every mask is accepted and means
    the same as in keras.layers.LSTM. Keras's implementation over the cell runs if tf_rnn_ops.keras.LSTM
    would use it, if TensorFlow sees a GPU, and with norm_epsilon=0.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.LayerNormLSTM(4)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """
