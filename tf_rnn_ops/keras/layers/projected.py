"""ProjectedLSTM: TensorFlow 1's LSTMCell over time, on LayerRNN."""

import keras

from tf_rnn_ops.keras.layers.own_cell import OwnCell
from tf_rnn_ops.keras.layers.projected_cell import ProjectedLSTMCell


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class ProjectedLSTM(OwnCell, cell_class=ProjectedLSTMCell, cell_name="projected_lstm_cell"):
    """An LSTM with a projection of its output, peepholes and limits, each of them optional.

    What tf.compat.v1.nn.rnn_cell.LSTMCell computes, over time in one op; the formulas and the weights
    are those of ProjectedLSTMCell. Any mask is taken; it means what it means to keras.layers.LSTM.
    Keras's loop over the cell runs where tf_rnn_ops.keras.LSTM would use the loop, and where
    TensorFlow sees a GPU.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ProjectedLSTM(8, num_proj=4, use_peepholes=True, cell_clip=3.0)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """

    def __init__(
        self, units, num_proj=0, use_peepholes=False, cell_clip=0.0, proj_clip=0.0, **kwargs
    ):
        """Creates the layer.

        Args:
            units: Size of the cell state, H.
            num_proj: Size of the output; 0 or None for no projection.
            use_peepholes: Whether the gates see the cell state.
            cell_clip: Limit of the cell state; 0, None and infinity mean none.
            proj_clip: Limit of the projected output; 0, None and infinity mean none.
            **kwargs: Any other argument of ProjectedLSTMCell, or of keras.layers.LSTM except use_cudnn.

        Raises:
            ValueError: An argument is not as above.
        """
        own = {
            "num_proj": num_proj,
            "use_peepholes": use_peepholes,
            "cell_clip": cell_clip,
            "proj_clip": proj_clip,
        }
        super().__init__(units, {**own, **kwargs})
