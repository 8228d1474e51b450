"""keras.layers.SimpleRNN with the loop over time in one op."""

import keras

from tf_rnn_ops.keras.layers.op_layer import WithKerasCell, as_in_keras


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
@as_in_keras
class SimpleRNN(WithKerasCell, keras.layers.SimpleRNN):
    """A faster keras.layers.SimpleRNN: the same arguments, weights and results, with all time steps in one op.

    The description of tf_rnn_ops.keras.LSTM applies.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> tuple(tf_rnn_ops.keras.SimpleRNN(4, activation="relu")(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """
