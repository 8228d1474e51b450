"""Runs a cell on BlockLSTMV2: an LSTM with peepholes, and with clipping that the gradient ignores."""

import tensorflow as tf

from tf_rnn_ops import raw_ops
from tf_rnn_ops.keras.dispatch import cells
from tf_rnn_ops.keras.dispatch.cell_call import CellCall, Result
from tf_rnn_ops.native.tf_internals import tracing


def run(call: CellCall) -> Result:
    """Runs BlockLSTMV2 for a cell whose op_name is 'BlockLSTMV2'. Training makes no difference."""
    assert not call.masks, "decide() excludes dropout masks of gates"
    cell, sequences, states, steps = call.cell, call.sequences, call.states, call.steps
    kernel, recurrent_kernel, bias = cells.weights(cell)
    if steps is None:
        time = sequences.shape[1]
        time = tf.shape(sequences)[1] if time is None else time
    else:
        time = tf.maximum(tf.reduce_max(steps.lengths), 0)  # an empty batch has no maximum
        # The op runs all sequences to the longest length, so it also reads values beyond the shorter
        # lengths.
        sequences = steps.clear_padding(sequences)
    result = raw_ops.BlockLSTMV2(
        seq_len_max=tf.cast(time, tf.int64),
        x=tf.transpose(sequences, [1, 0, 2]),
        cs_prev=states[1],
        h_prev=states[0],
        w=tf.concat([kernel, recurrent_kernel], axis=0),
        b=tf.zeros([4 * cell.units], kernel.dtype) if bias is None else bias,
        **cell.op_arguments(call.is_training),
    )
    both = [tf.transpose(by_time, [1, 0, 2]) for by_time in (result.h, result.cs)]
    if steps is None:
        return both[0], [_last(*pair) for pair in zip(both, states)]
    last = [steps.at_last_valid(*pair) for pair in zip(both, states)]
    return steps.clear_padding(both[0]), last


def _last(states: tf.Tensor, initial: tf.Tensor) -> tf.Tensor:
    """The state after the last step; without a step the initial state."""
    if states.shape[1]:
        return states[:, -1]
    if tracing.may_be_in_xla():
        # XLA reads -1 of a dynamic dimension as the end of the allocated dimension.
        time = tf.shape(states)[1]
        return tf.where(time > 0, tf.gather(states, tf.maximum(time - 1, 0), axis=1), initial)
    return tf.concat([initial[:, None], states[:, -1:]], axis=1)[:, -1]
