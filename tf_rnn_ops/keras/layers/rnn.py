"""keras.layers.RNN with the loop over time in one op."""

from typing import Any

import keras

from tf_rnn_ops.keras.layers import cell_options
from tf_rnn_ops.keras.layers.op_layer import OpLayer, as_in_keras


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
@as_in_keras
class RNN(OpLayer, keras.layers.RNN):
    """A faster keras.layers.RNN around cells of LSTM, GRU or SimpleRNN, with one op for each cell.

    The cell may be a keras.layers.LSTMCell, GRUCell or SimpleRNNCell, a cell of this package, a list of
    such cells, or StackedRNNCells. Keras's implementation runs for subclasses of these cells, and if
    tf_rnn_ops.keras.LSTM would use it for one of the cells.

    Example:
        >>> import keras
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> cells = [keras.layers.LSTMCell(4), keras.layers.GRUCell(3)]
        >>> tuple(tf_rnn_ops.keras.RNN(cells)(tf.ones([2, 5, 3])).shape)
        (2, 3)
    """

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, including arguments of cells that Keras omits."""
        config = super().get_config()
        cell_options.complete(config["cell"], self.cell)
        return config
