"""LinearRecurrence against its documented equations."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support.reference import linear_recurrence
from support.reference.linear_recurrence import GATES

SLOPES = ("h_by_gates", "c_by_gates", "h_by_h", "h_by_c", "c_by_h", "c_by_c")
# Steps, rows, units: whole vectors, rests of them, few rows, more rows than a tile has.
SIZES = [(5, 13, 16), (3, 1, 5), (4, 2, 37), (6, 33, 67), (1, 4, 8)]


def _inputs(mode, sizes, rng, without=()):
    steps, batch, units = sizes
    gates = GATES[mode]
    shapes = {name: (steps, batch, units) for name in ("input", "cell_input", *SLOPES)}
    shapes |= {name: (steps, batch, gates * units) for name in SLOPES[:2]}
    shapes["recurrent_kernel"] = (units, gates * units)
    absent = (*without, *(() if mode == "lstm" else [n for n in SLOPES if "c" in n]))
    # Small, so that no state grows over the steps.
    arrays = {n: rng.uniform(-0.5, 0.5, shape) for n, shape in shapes.items()}
    arrays["recurrent_kernel"] /= units
    return {n: np.zeros([0]) if n in absent else a for n, a in arrays.items()}


def _run(arrays, dtype="float64", **attrs):
    tensors = {n: tf.constant(a, dtype) for n, a in arrays.items()}
    return tf_rnn_ops.native.loader.ops().tf_rnn_ops_linear_recurrence(**tensors, **attrs)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("mode", GATES)
def test_equations(mode, sizes, transposed, rng):
    arrays = _inputs(mode, sizes, rng)
    want_h, want_c = linear_recurrence.run(mode, arrays, transposed)
    for dtype, bound in (("float64", 1e-14), ("float32", 1e-5)):
        got = _run(arrays, dtype, rnn_mode=mode, transposed=transposed)
        np.testing.assert_allclose(got.output, want_h, rtol=bound, atol=bound)
        want = want_c if mode == "lstm" else np.zeros([])
        np.testing.assert_allclose(got.cell_output, want, rtol=bound, atol=bound)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("without", [SLOPES[:2], SLOPES[2:], SLOPES, ("c_by_gates", "c_by_h")])
def test_slopes_that_are_absent(without, transposed, rng):
    arrays = _inputs("lstm", (4, 9, 19), rng, without)
    got = _run(arrays, rnn_mode="lstm", transposed=transposed)
    want = linear_recurrence.run("lstm", arrays, transposed)
    np.testing.assert_allclose(got.output, want[0], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(got.cell_output, want[1], rtol=1e-14, atol=1e-14)


def test_adjoint(rng):
    """<A u, v> = <u, A' v>, whatever the equations are."""
    arrays = _inputs("lstm", (7, 6, 21), rng)
    other = {n: rng.standard_normal(arrays[n].shape) for n in ("input", "cell_input")}
    forwards = _run(arrays, rnn_mode="lstm")
    backwards = _run({**arrays, **other}, rnn_mode="lstm", transposed=True)
    left = np.sum(forwards.output * other["input"] + forwards.cell_output * other["cell_input"])
    right = np.sum(
        arrays["input"] * backwards.output + arrays["cell_input"] * backwards.cell_output
    )
    np.testing.assert_allclose(left, right, rtol=1e-12)
    assert abs(left) > 1e-3


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4)])
def test_nothing_to_run(sizes, rng):
    got = _run(_inputs("lstm", sizes, rng), rnn_mode="lstm")
    assert got.output.shape == got.cell_output.shape == sizes


@pytest.mark.parametrize(
    "name, shape, message",
    [
        ("input", (5, 3), "input must have shape"),
        ("cell_input", (5, 3, 7), "cell_input must have shape"),
        ("recurrent_kernel", (8, 31), "recurrent_kernel must have shape"),
        ("h_by_gates", (5, 3, 8), "h_by_gates must have shape"),
        ("c_by_c", (4, 3, 8), "c_by_c must have shape"),
    ],
)
def test_shapes_are_refused(name, shape, message, rng):
    arrays = _inputs("lstm", (5, 3, 8), rng)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        _run({**arrays, name: np.zeros(shape)}, rnn_mode="lstm")


@pytest.mark.parametrize("transposed", [False, True])
def test_any_number_of_threads(transposed, rng):
    arrays = _inputs("lstm", (20, 32, 64), rng)
    one = _run({n: a for n, a in arrays.items()}, "float32", transposed=transposed)
    # One thread adds the terms of a row in the same order, except in calls of one and two rows.
    part = {n: a if n == "recurrent_kernel" else a[:, 5:12] for n, a in arrays.items()}
    np.testing.assert_array_equal(
        _run(part, "float32", transposed=transposed).output, one.output[:, 5:12]
    )
