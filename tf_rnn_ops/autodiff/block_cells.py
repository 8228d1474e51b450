"""Gradients of TensorFlow's LSTMBlockCell and GRUBlockCell, which TensorFlow 2 lacks."""

from typing import Any, Callable

import tensorflow as tf

from tf_rnn_ops.autodiff.ops import gradient_of


def register() -> None:
    """Registers the gradients; see tf_rnn_ops.enable_block_cell_gradients."""
    for op_type, step in (("LSTMBlockCell", _lstm_step), ("GRUBlockCell", _gru_step)):
        gradient_of(op_type)(_through(step))


def _through(step: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient function of an op with the outputs of `step`."""

    def gradient(op: tf.Operation, *upstream: tf.Tensor | None) -> list[tf.Tensor]:
        inputs = list(op.inputs)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = step(op, *inputs)
        cotangents = [tf.zeros_like(o) if u is None else u for o, u in zip(outputs, upstream)]
        return tape.gradient(
            outputs, inputs, output_gradients=cotangents, unconnected_gradients="zero"
        )

    return gradient


def _lstm_step(
    op: tf.Operation,
    x: tf.Tensor,
    cs_prev: tf.Tensor,
    h_prev: tf.Tensor,
    w: tf.Tensor,
    wci: tf.Tensor,
    wcf: tf.Tensor,
    wco: tf.Tensor,
    b: tf.Tensor,
) -> list[tf.Tensor]:
    """i, cs, f, o, ci, co and h, from the gates i, ci, f, o in the columns of w."""
    sums = tf.matmul(tf.concat([x, h_prev], 1), w) + b
    i, ci, f, o = tf.split(sums, 4, axis=1)
    f += tf.cast(op.get_attr("forget_bias"), f.dtype)
    has_peepholes = op.get_attr("use_peephole")
    if has_peepholes:
        i, f = i + wci * cs_prev, f + wcf * cs_prev
    i, f, ci = tf.sigmoid(i), tf.sigmoid(f), tf.tanh(ci)
    cs = ci * i + cs_prev * f
    limit = op.get_attr("cell_clip")
    if limit > 0:
        cs += tf.stop_gradient(tf.clip_by_value(cs, -limit, limit) - cs)
    o = tf.sigmoid(o + wco * cs if has_peepholes else o)
    co = tf.tanh(cs)
    return [i, cs, f, o, ci, co, co * o]


def _gru_step(
    op: tf.Operation,
    x: tf.Tensor,
    h_prev: tf.Tensor,
    w_ru: tf.Tensor,
    w_c: tf.Tensor,
    b_ru: tf.Tensor,
    b_c: tf.Tensor,
) -> list[tf.Tensor]:
    """r, u, c and h, with the reset gate before the product."""
    del op
    gates = tf.sigmoid(tf.matmul(tf.concat([x, h_prev], 1), w_ru) + b_ru)
    r, u = tf.split(gates, 2, axis=1)
    c = tf.tanh(tf.matmul(tf.concat([x, r * h_prev], 1), w_c) + b_c)
    return [r, u, c, u * h_prev + (1 - u) * c]
