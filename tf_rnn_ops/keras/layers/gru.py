"""keras.layers.GRU with the loop over time in one op."""

import keras

from tf_rnn_ops.keras.layers.op_layer import WithKerasCell, as_in_keras


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
@as_in_keras
class GRU(WithKerasCell, keras.layers.GRU):
    """A faster keras.layers.GRU: the same arguments, weights and results, with all time steps in one op.

    The description of tf_rnn_ops.keras.LSTM applies. The op supports both values of reset_after.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> tuple(tf_rnn_ops.keras.GRU(4)(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """
