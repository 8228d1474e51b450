"""BlockLSTMV2 in ordinary ops."""

from typing import Any

import tensorflow as tf

from tf_rnn_ops.plain._recurrence import Step, clear_padding, matmul, run_steps, wide_type


def block_lstm(
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
    use_peephole: bool = False,
    loops: Any = None,
) -> tuple[Any, Any]:
    """Runs a layer whose cell states are known.

    WHY known: BlockLSTMGradV2 does not know the limit of the cell state, but what came out of it. As in
    the op, the gradient passes through the limit as if it were not there.

    Args:
        seq_len_max: As given to BlockLSTMV2, like the eight tensors that follow.
        x: [T, B, I].
        cs_prev: [B, H].
        h_prev: [B, H].
        w: [I + H, 4*H].
        wci: [H].
        wcf: [H].
        wco: [H].
        b: [4*H].
        cs: The cell states, as BlockLSTMV2 returned them, [T, B, H].
        use_peephole: As given to BlockLSTMV2.
        loops: See cudnn_rnn.

    Returns:
        A pair: cs and h of BlockLSTMV2, [T, B, H], differentiable in all arguments but
        seq_len_max and cs.
    """
    dtype = x.dtype
    wide = wide_type(dtype)
    x, c, h, w, wci, wcf, wco, b, cs = (
        tf.cast(t, wide) for t in (x, cs_prev, h_prev, w, wci, wcf, wco, b, cs)
    )
    size = tf.shape(x)[2]
    lengths = tf.fill([tf.shape(x)[1]], tf.cast(seq_len_max, tf.int32))
    x = clear_padding(x, lengths)
    # The cell state that a step arrives at is one of its inputs.
    inputs = [matmul(x, w[:size]) + b, tf.stop_gradient(cs)]
    weights = [w[size:], *([wci, wcf, wco] if use_peephole else [])]

    def units(sums, inputs, states, peepholes):
        (xw, known), (_, c) = inputs, states
        i, f, g, o = tf.split(xw + sums, 4, axis=-1)
        if use_peephole:
            i, f = i + peepholes[0] * c, f + peepholes[1] * c
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        c += tf.stop_gradient(known - c)
        if use_peephole:
            o += peepholes[2] * c
        return [tf.sigmoid(o) * tf.tanh(c), c]

    (h, c), _ = run_steps(Step(units=units), inputs, [h, c], weights, lengths, loops)
    return tf.cast(c, dtype), tf.cast(h, dtype)
