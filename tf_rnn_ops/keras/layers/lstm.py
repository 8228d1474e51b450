"""keras.layers.LSTM with the loop over time in one op."""

import keras

from tf_rnn_ops.keras.layers.op_layer import WithKerasCell, as_in_keras


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
@as_in_keras
class LSTM(WithKerasCell, keras.layers.LSTM):
    """A faster keras.layers.LSTM: the same arguments, weights and results, with all time steps in one op.

    keras.layers.LSTM describes the arguments. Config and weight files fit both layers.
    Every mask is accepted: padding left or right, holes, sequences without a valid step.

    Keras's implementation runs, with the same result, in these cases:

        activation, recurrent_activation other than tanh, sigmoid, hard_sigmoid, hard_sigmoid_keras2, relu, linear
        unroll=True, use_cudnn=False

    `explain` tells whether the op or Keras's implementation runs.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.LSTM(4, return_sequences=True)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 5, 4)
    """
