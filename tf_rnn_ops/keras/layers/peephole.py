"""PeepholeLSTM: an LSTM with peepholes on BlockLSTMV2."""

import keras
import tensorflow as tf

from tf_rnn_ops import raw_ops
from tf_rnn_ops.keras.layers.own_cell import OwnCell
from tf_rnn_ops.keras.layers.peephole_cell import PeepholeLSTMCell
from tf_rnn_ops.keras.path import cells, eligibility, fused
from tf_rnn_ops.keras.path.masks import MaskedSteps
from tf_rnn_ops.native.tf_internals import tracing


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class PeepholeLSTM(OwnCell, cell_class=PeepholeLSTMCell, cell_name="peephole_lstm_cell"):
    """An LSTM whose gates see the cell state, with an optional limit on it, in one op.

    The formulas are those of PeepholeLSTMCell. Weights: kernel, recurrent_kernel and bias as in
    keras.layers.LSTM, then peephole_i, peephole_f and peephole_o [H]. Any mask is taken; it
    means what it means to keras.layers.LSTM. Keras's loop over the cell runs where
    tf_rnn_ops.keras.LSTM would use the loop.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.PeepholeLSTM(4, cell_clip=3.0)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """

    op_name = "BlockLSTMV2"

    def __init__(
        self,
        units,
        cell_clip=0.0,
        peephole_initializer="glorot_uniform",
        peephole_regularizer=None,
        peephole_constraint=None,
        **kwargs,
    ):
        """Creates the layer.

        Args:
            units: Size of the state, H.
            cell_clip: Limit of the cell state; 0, None and infinity mean none. The gradient ignores it.
            peephole_initializer: Initializer of the peephole vectors.
            peephole_regularizer: Their regularizer, or None.
            peephole_constraint: Their constraint, or None.
            **kwargs: Any other argument of keras.layers.LSTM except use_cudnn.

        Raises:
            ValueError: An argument is not as above.
        """
        own = {
            "cell_clip": cell_clip,
            "peephole_initializer": peephole_initializer,
            "peephole_regularizer": peephole_regularizer,
            "peephole_constraint": peephole_constraint,
        }
        super().__init__(units, {**own, **kwargs})

    def inner_loop(self, sequences, initial_state, mask, training=False):
        """Runs all time steps; see keras.layers.RNN."""
        sequences = tf.convert_to_tensor(sequences)
        one_mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        if eligibility.call_reason(self, sequences, [initial_state], one_mask, training):
            return keras.layers.RNN.inner_loop(
                self, sequences, initial_state, one_mask, training=training
            )

        dtype = self.cell.compute_dtype
        sequences = fused.drop_inputs(self.cell, tf.cast(sequences, dtype), training)
        initial_h, initial_c = fused.of_every_row(initial_state, sequences)
        steps = None
        if one_mask is not None:
            steps = MaskedSteps(one_mask, sequences, self.go_backwards, self.zero_output_for_mask)
            # The op runs every row to the longest length: what it finds there must be harmless.
            sequences = steps.clear_padding(steps.pack(sequences))
        elif self.go_backwards:
            sequences = tf.reverse(sequences, [1])

        h, c = self._block_lstm(sequences, initial_h, initial_c, steps)
        if steps is None:
            last_h, last_c = _last(h, initial_h), _last(c, initial_c)
        else:
            last_h = steps.at_last_valid(h, initial_h)
            last_c = steps.at_last_valid(c, initial_c)
            h = steps.clear_padding(h)
        return (*fused.outputs(self, steps, h, last_h), [last_h, last_c])

    def _block_lstm(self, sequences, initial_h, initial_c, steps):
        """Returns the hidden and the cell states of all steps, [B, T, H]."""
        cell = self.cell
        kernel, recurrent_kernel, bias = cells.weights(cell)
        if steps is None:
            time = sequences.shape[1]
            time = tf.shape(sequences)[1] if time is None else time
        else:
            time = tf.maximum(tf.reduce_max(steps.lengths), 0)  # an empty batch has no maximum
        result = raw_ops.BlockLSTMV2(
            seq_len_max=tf.cast(time, tf.int64),
            x=tf.transpose(sequences, [1, 0, 2]),
            cs_prev=initial_c,
            h_prev=initial_h,
            w=tf.concat([kernel, recurrent_kernel], axis=0),
            b=tf.zeros([4 * cell.units], kernel.dtype) if bias is None else bias,
            **cell.op_arguments(training=False),
        )
        return tf.transpose(result.h, [1, 0, 2]), tf.transpose(result.cs, [1, 0, 2])


def _last(states, initial):
    """The state after the last step; the initial one where there is no step."""
    if states.shape[1]:
        return states[:, -1]
    if tracing.may_be_in_xla():
        # Of a size that only a run tells, XLA takes -1 for the end of what it has room for.
        time = tf.shape(states)[1]
        return tf.where(time > 0, tf.gather(states, tf.maximum(time - 1, 0), axis=1), initial)
    return tf.concat([initial[:, None], states[:, -1:]], axis=1)[:, -1]
