"""LayerNormLSTM: a layer-normalised LSTM over time, on LayerRNN."""

import keras

from tf_rnn_ops.keras.layers.layer_norm_cell import LayerNormLSTMCell
from tf_rnn_ops.keras.layers.options import given
from tf_rnn_ops.keras.layers.own_layer import OwnLayer


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class LayerNormLSTM(OwnLayer, cell_class=LayerNormLSTMCell, cell_name="layer_norm_lstm_cell"):
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

    def __init__(
        self, units: int, norm_gamma_initializer="ones", norm_beta_initializer="zeros",
        norm_epsilon=1e-3, *,
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
