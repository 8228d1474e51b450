"""BlockLSTMV2 in ordinary ops."""

from typing import Any

import tensorflow as tf

from tf_rnn_ops.plain.recurrence import (
    Step,
    clear_padding,
    matmul,
    run_steps,
    size_of,
    wide_type,
)


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
    cs: Any = None,
    use_peephole: bool = False,
    loops: Any = None,
    cell_clip: float = 0.0,
) -> tuple[Any, Any]:
    """Runs a layer. As in the op, the gradient ignores clipping.

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
        cs: The cell states that BlockLSTMV2 returned, [T, B, H]. BlockLSTMGradV2 has them, but not
            cell_clip. None to compute them.
        use_peephole: An argument of BlockLSTMV2.
        loops: See cudnn_rnn.
        cell_clip: Bound for clipping the cell state, if `cs` is None. 0 or less means no clipping.

    Returns:
        A pair: cs and h of BlockLSTMV2, [T, B, H], differentiable in all arguments except seq_len_max and
        cs.
    """
    dtype = x.dtype
    wide = wide_type(dtype)
    x, c, h, w, wci, wcf, wco, b = (
        tf.cast(t, wide) for t in (x, cs_prev, h_prev, w, wci, wcf, wco, b)
    )
    lengths = lengths_of_rows(x, seq_len_max)
    x = clear_padding(x, lengths)
    inputs = [matmul(x, w[: size_of(x, 2)]) + b]
    if cs is not None:  # the cell state after a step is an input of the step
        inputs.append(tf.stop_gradient(tf.cast(cs, wide)))
    weights = [w[size_of(x, 2) :], *([wci, wcf, wco] if use_peephole else [])]

    def units(
        sums: tf.Tensor,
        inputs: list[tf.Tensor],
        states: list[tf.Tensor],
        peepholes: list[tf.Tensor],
    ) -> list[tf.Tensor]:
        (xw, *known), (_, c) = inputs, states
        i, f, g, o = tf.split(xw + sums, 4, axis=-1)
        if use_peephole:
            i, f = i + peepholes[0] * c, f + peepholes[1] * c
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        if known:
            c += tf.stop_gradient(known[0] - c)
        elif cell_clip > 0:
            c += tf.stop_gradient(tf.clip_by_value(c, -cell_clip, cell_clip) - c)
        if use_peephole:
            o += peepholes[2] * c
        return [tf.sigmoid(o) * tf.tanh(c), c]

    (h, c), _ = run_steps(Step(units=units), inputs, [h, c], weights, lengths, loops)
    return tf.cast(c, dtype), tf.cast(h, dtype)


def lengths_of_rows(x: tf.Tensor, seq_len_max: tf.Tensor) -> tf.Tensor:
    """The lengths of all sequences, which are equal."""
    return tf.fill([size_of(x, 1)], tf.cast(seq_len_max, tf.int32))
