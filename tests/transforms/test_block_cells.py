"""Gradients of TensorFlow's LSTMBlockCell and GRUBlockCell against numpy in float64."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases
from support.reference.block_lstm import GRAD_NAMES

# The ops have kernels for float32 and half; 30 eps of float32.
TOLERANCE = 4e-6


@pytest.fixture(scope="module", autouse=True)
def gradients():
    tf_rnn_ops.enable_block_cell_gradients()
    tf_rnn_ops.enable_block_cell_gradients()  # changes nothing


def _tensors(arrays):
    return {n: tf.constant(a, tf.float32) for n, a in arrays.items()}


def _assert_close(got, want, tolerance=TOLERANCE):
    assert got.keys() == want.keys()
    for name, array in want.items():
        error = np.max(np.abs(got[name].numpy() - array)) / max(1.0, np.max(np.abs(array)))
        assert error < tolerance, (name, error)


def _as_cell(case):
    """The arrays of LSTMBlockCell, whose columns are i, ci, f, o and whose forget bias is apart."""
    arrays = {n: getattr(case.inputs, n) for n in GRAD_NAMES}
    return {**arrays, "x": arrays["x"][0], "w": _swap(arrays["w"]), "b": _swap(arrays["b"])}


def _swap(columns):
    """i, f, ci, o to i, ci, f, o, or back."""
    i, second, third, o = np.split(columns, 4, axis=-1)
    return np.concatenate([i, third, second, o], axis=-1)


def _lstm_first(values, case, forget_bias):
    with tf.GradientTape() as tape:
        tape.watch(values)
        result = tf.raw_ops.LSTMBlockCell(
            **values,
            use_peephole=case.use_peephole,
            forget_bias=forget_bias,
            cell_clip=case.cell_clip,
        )
    upstream = [tf.constant(g[0], tf.float32) for g in (case.cs_grad, case.h_grad)]
    return tape.gradient([result.cs, result.h], values, output_gradients=upstream)


def _lstm_reference(case, forget_bias):
    """The gradients of the one step, in the columns of LSTMBlockCell."""
    b = case.inputs.b.copy()
    units = b.size // 4
    b[units : 2 * units] += forget_bias
    at = dataclasses.replace(case, inputs=dataclasses.replace(case.inputs, b=b))
    _, found = at.reference()
    return {**found, "x": found["x"][0], "w": _swap(found["w"]), "b": _swap(found["b"])}


@pytest.mark.parametrize("cell_clip", [0.0, 0.25])
@pytest.mark.parametrize("use_peephole", [False, True])
def test_lstm(use_peephole, cell_clip, rng):
    case = cases.block_case(
        1, 3, 4, 5, rng, "float32", use_peephole=use_peephole, cell_clip=cell_clip
    )
    got = _lstm_first(_tensors(_as_cell(case)), case, forget_bias=1.0)
    _assert_close(got, _lstm_reference(case, 1.0))


def test_lstm_second_order(rng):
    case = cases.block_case(1, 3, 4, 5, rng, "float32", use_peephole=True)
    weights = {n: rng.standard_normal(a.shape) for n, a in _as_cell(case).items()}
    values = _tensors(_as_cell(case))
    with tf.GradientTape() as tape:
        tape.watch(values)
        first = _lstm_first(values, case, forget_bias=0.0)
        total = tf.add_n(
            [tf.reduce_sum(first[n] * tf.cast(w, tf.float32)) for n, w in weights.items()]
        )
    got = tape.gradient(total, values)
    step, slopes = 1e-5, np.zeros_like(case.inputs.h_prev)
    for place in np.ndindex(slopes.shape):
        sides = []
        for sign in (1.0, -1.0):
            h = case.inputs.h_prev.copy()
            h[place] += sign * step
            moved = dataclasses.replace(case, inputs=dataclasses.replace(case.inputs, h_prev=h))
            found = _lstm_reference(moved, 0.0)
            sides.append(sum(np.sum(found[n] * w) for n, w in weights.items()))
        slopes[place] = (sides[0] - sides[1]) / (2 * step)
    _assert_close({"h_prev": got["h_prev"]}, {"h_prev": slopes}, 20 * TOLERANCE)


def _gru(x, h_prev, w_ru, w_c, b_ru, b_c):
    gates = 1 / (1 + np.exp(-(np.concatenate([x, h_prev], 1) @ w_ru + b_ru)))
    r, u = np.split(gates, 2, axis=1)
    c = np.tanh(np.concatenate([x, r * h_prev], 1) @ w_c + b_c)
    return u * h_prev + (1 - u) * c


def test_gru(rng):
    shapes = {"x": (3, 4), "h_prev": (3, 5), "w_ru": (9, 10), "w_c": (9, 5), "b_ru": 10, "b_c": 5}
    arrays = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    upstream = rng.standard_normal((3, 5)).astype(np.float32)
    values = _tensors(arrays)
    with tf.GradientTape() as tape:
        tape.watch(values)
        h = tf.raw_ops.GRUBlockCell(**values).h
    got = tape.gradient(h, values, output_gradients=tf.constant(upstream))
    exact = {n: a.astype(np.float64) for n, a in arrays.items()}
    want = {}
    for name, array in exact.items():
        want[name] = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            sides = []
            for sign in (1e-6, -1e-6):
                moved = array.copy()
                moved[place] += sign
                sides.append(np.sum(_gru(**{**exact, name: moved}) * upstream))
            want[name][place] = (sides[0] - sides[1]) / 2e-6
    _assert_close(got, want)
