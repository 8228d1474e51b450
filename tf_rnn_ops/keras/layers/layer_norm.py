"""LayerNormLSTM: a layer-normalised LSTM over time, on LayerRNN."""

import keras

from tf_rnn_ops.keras.layers.layer_norm_cell import LayerNormLSTMCell
from tf_rnn_ops.keras.layers.own_cell import OwnCell


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class LayerNormLSTM(OwnCell, cell_class=LayerNormLSTMCell, cell_name="layer_norm_lstm_cell"):
    """keras.layers.LSTM with layer normalization (Ba et al., 2016), with the loop over time in one op.

    What keras.layers.RNN over TensorFlow Addons' LayerNormLSTMCell computes without recurrent_dropout; the
    formulas and the weights are those of LayerNormLSTMCell. Any mask is taken; it means what it means to keras.layers.LSTM.
    Keras's loop over the cell runs where tf_rnn_ops.keras.LSTM would use the loop, and where TensorFlow
    sees a GPU.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.LayerNormLSTM(4)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """

    def __init__(
        self,
        units,
        norm_gamma_initializer="ones",
        norm_beta_initializer="zeros",
        norm_epsilon=1e-3,
        **kwargs,
    ):
        """Creates the layer.

        Args:
            units: Size of the state, H.
            norm_gamma_initializer: Initializer of the gammas.
            norm_beta_initializer: Initializer of the betas.
            norm_epsilon: What is added to each variance, 0 or more; 0 takes Keras's loop.
            **kwargs: Any other argument of keras.layers.LSTM except use_cudnn.

        Raises:
            ValueError: An argument is not as above.
        """
        own = {
            "norm_gamma_initializer": norm_gamma_initializer,
            "norm_beta_initializer": norm_beta_initializer,
            "norm_epsilon": norm_epsilon,
        }
        super().__init__(units, {**own, **kwargs})
