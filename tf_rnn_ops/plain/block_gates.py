"""The gates of BlockLSTMV2 in ordinary ops."""

from typing import Any

import tensorflow as tf

from tf_rnn_ops.plain._block_lstm import lengths_of_rows
from tf_rnn_ops.plain.recurrence import clear_padding, matmul, wide_type


def block_lstm_gates(
    seq_len_max: Any,
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    cs: Any,
    h: Any,
    use_peephole: bool = False,
) -> tuple[Any, Any, Any, Any, Any]:
    """Computes the results of BlockLSTMV2 other than the states, for all steps at once.

    Args:
        seq_len_max: An argument of BlockLSTMV2, as are the next eight tensors.
        x: [T, B, I].
        cs_prev: [B, H].
        h_prev: [B, H].
        w: [I + H, 4*H].
        wci: [H].
        wcf: [H].
        wco: [H].
        b: [4*H].
        cs: The cell states that block_lstm returned, [T, B, H].
        h: The hidden states that block_lstm returned, [T, B, H].
        use_peephole: An argument of BlockLSTMV2.

    Returns:
        i, f, o, ci and co of BlockLSTMV2, [T, B, H].
    """
    dtype = x.dtype
    wide = wide_type(dtype)
    x, cs_prev, h_prev, w, wci, wcf, wco, b, cs, h = (
        tf.cast(t, wide) for t in (x, cs_prev, h_prev, w, wci, wcf, wco, b, cs, h)
    )
    lengths = lengths_of_rows(x, seq_len_max)
    before_c, before_h = (
        tf.concat([first[None], states], 0)[:-1] for first, states in ((cs_prev, cs), (h_prev, h))
    )
    sums = matmul(tf.concat([clear_padding(x, lengths), before_h], 2), w) + b
    i, f, g, o = tf.split(sums, 4, axis=-1)
    if use_peephole:
        i, f, o = i + wci * before_c, f + wcf * before_c, o + wco * cs
    gates = (tf.sigmoid(i), tf.sigmoid(f), tf.sigmoid(o), tf.tanh(g), tf.tanh(cs))
    return tuple(tf.cast(clear_padding(t, lengths), dtype) for t in gates)
