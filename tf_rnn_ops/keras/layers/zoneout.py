"""ZoneoutLSTM and ZoneoutGRU: zoneout over time, on LayerRNN."""

import keras

from tf_rnn_ops.keras.layers.options import given
from tf_rnn_ops.keras.layers.own_layer import OwnLayer
from tf_rnn_ops.keras.layers.zoneout_cells import ZoneoutGRUCell, ZoneoutLSTMCell


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ZoneoutLSTM(OwnLayer, cell_class=ZoneoutLSTMCell, cell_name="zoneout_lstm_cell"):
    """keras.layers.LSTM with zoneout (Krueger et al., 2017), with the loop over time in one op.

    ZoneoutLSTMCell has the formulas, the weights and the arguments. `seed` also selects the units that keep
    their state. Every mask is accepted and means the same as in keras.layers.LSTM. Keras's implementation
    over the cell runs if tf_rnn_ops.keras.LSTM would use it. In training it draws other random numbers than
    the op. In inference both give the same results.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ZoneoutLSTM(4, zoneout_h=0.1, zoneout_c=0.2)
        >>> tuple(layer(tf.ones([2, 5, 3]), training=True).shape)
        (2, 4)
    """

    def __init__(
        self, units: int, zoneout_h=0.0, zoneout_c=0.0, *,
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

    def __init__(
        self, units: int, zoneout_h=0.0, *,
        activation="tanh", recurrent_activation="sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal",
        bias_initializer="zeros", kernel_regularizer=None,
        recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None,
        recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0,
        reset_after=True, seed=None, implementation=2, return_sequences=False, return_state=False, go_backwards=False,
        stateful=False, unroll=False, zero_output_for_mask=False, activity_regularizer=None,
        name=None, dtype=None, trainable=True, input_shape=None,
    ) -> None:  # fmt: skip
        super().__init__(**given(locals()))
