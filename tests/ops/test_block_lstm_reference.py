"""BlockLSTMV2 and its gradient op against the numpy reference, in every dtype."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, tf_ops
from support.bounds import assert_close
from support.reference.block_lstm import FORWARD_NAMES

ops = tf_rnn_ops.raw_ops

TAIL_SIZES = (1, 2, 3, 7, 13, 15, 16, 17, 31, 33)
ATTRS = [
    {"use_peephole": peephole, "cell_clip": clip}
    for peephole in (False, True)
    for clip in (0.0, -1.0, 0.25)
]


def _check(case):
    result = tf_ops.block_forward(ops, case)
    out, grads = case.reference()
    got = tf_ops.block_arrays(result, tf_ops.block_backward(ops, case, result))
    context = f"{case.inputs.x.shape} {case.inputs.h_prev.shape} {case.seq_len_max}"
    assert_close(got, tf_ops.block_reference_arrays(out, grads), case.dtype, context)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("attrs", ATTRS, ids=str)
def test_random_sizes(attrs, dtype, rng):
    for _ in range(12):
        steps, batch, input_size, units = (int(n) for n in rng.integers(1, 12, size=4))
        seq_len_max = int(rng.integers(0, steps + 1))
        _check(cases.block_case(steps, batch, input_size, units, rng, dtype, seq_len_max, **attrs))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("use_peephole", [False, True])
def test_sizes_around_the_vector_width(dtype, use_peephole, rng):
    for units in TAIL_SIZES:
        for batch, input_size in ((1, 1), (3, 17), (5, 16)):
            _check(
                cases.block_case(3, batch, input_size, units, rng, dtype, use_peephole=use_peephole)
            )
    for batch in TAIL_SIZES:
        _check(cases.block_case(2, batch, 3, 5, rng, dtype, use_peephole=use_peephole))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sizes_that_use_every_thread(dtype, rng):
    _check(cases.block_case(20, 37, 48, 80, rng, dtype, use_peephole=True, cell_clip=0.5))
    _check(cases.block_case(90, 1, 20, 70, rng, dtype))
    _check(cases.block_case(3, 9, 270, 391, rng, dtype, use_peephole=True))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("seq_len_max", [0, 2])
def test_everything_beyond_seq_len_max_is_zero(dtype, seq_len_max, rng):
    case = cases.block_case(5, 3, 4, 6, rng, dtype, seq_len_max, use_peephole=True)
    result = tf_ops.block_forward(ops, case)
    got = tf_ops.block_arrays(result, tf_ops.block_backward(ops, case, result))
    for name in FORWARD_NAMES + ("x_grad",):
        np.testing.assert_array_equal(got[name][seq_len_max:], 0.0, err_msg=name)
        if seq_len_max:
            assert np.all(got[name][seq_len_max - 1] != 0), name


def test_gradients_beyond_seq_len_max_are_ignored(rng):
    case = cases.block_case(5, 3, 4, 6, rng, seq_len_max=3)
    result = tf_ops.block_forward(ops, case)
    want = tf_ops.block_arrays(result, tf_ops.block_backward(ops, case, result))
    case.cs_grad[3:] = np.nan
    case.h_grad[3:] = np.nan
    got = tf_ops.block_arrays(result, tf_ops.block_backward(ops, case, result))
    for name in want:
        np.testing.assert_array_equal(got[name], want[name], err_msg=name)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("steps,batch", [(0, 3), (4, 0), (0, 0)])
def test_empty_time_or_batch(dtype, steps, batch, rng):
    case = cases.block_case(steps, batch, 4, 6, rng, dtype, use_peephole=True)
    result = tf_ops.block_forward(ops, case)
    grads = tf_ops.block_backward(ops, case, result)
    for name in FORWARD_NAMES:
        assert getattr(result, name).shape == (steps, batch, 6)
    for name, value in tf_ops.block_tensors(case).items():
        if name != "seq_len_max":
            grad = tf_ops.to_float64(getattr(grads, f"{name}_grad"))
            np.testing.assert_array_equal(grad, np.zeros(value.shape), err_msg=name)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_a_row_of_nan_stays_alone(dtype, rng):
    case = cases.block_case(5, 6, 7, 19, rng, dtype, use_peephole=True, cell_clip=0.5)
    runs = []
    for filler in (None, np.nan, np.inf):
        if filler is not None:
            case.inputs.x[:, 2] = case.inputs.h_prev[2] = case.inputs.cs_prev[2] = filler
        result = tf_ops.block_forward(ops, case)
        runs.append(tf_ops.block_arrays(result, tf_ops.block_backward(ops, case, result)))
    others = [row for row in range(6) if row != 2]
    for got in runs[1:]:
        for name in FORWARD_NAMES + ("x_grad",):
            np.testing.assert_array_equal(got[name][:, others], runs[0][name][:, others], name)
        for name in ("cs_prev_grad", "h_prev_grad"):
            np.testing.assert_array_equal(got[name][others], runs[0][name][others], name)


def test_peephole_gradients_are_zero_without_peephole(rng):
    case = cases.block_case(4, 3, 2, 5, rng, "float32")
    grads = tf_ops.block_backward(ops, case, tf_ops.block_forward(ops, case))
    for name in ("wci_grad", "wcf_grad", "wco_grad"):
        np.testing.assert_array_equal(getattr(grads, name), np.zeros(5))


def test_clip_saturates_the_state(rng):
    case = cases.block_case(30, 4, 3, 5, rng, "float32", cell_clip=0.125)
    cs = tf_ops.to_float64(tf_ops.block_forward(ops, case).cs)
    assert np.max(np.abs(cs)) == 0.125
    assert tf.reduce_all(tf.abs(cs) <= 0.125)


@pytest.mark.parametrize("units", [1, 3, 16])
def test_infinite_gradient_goes_where_the_reference_has_it(units, rng):
    """Also if the units do not fill a vector: unused lanes must not turn the results into NaN."""
    case = cases.block_case(4, 3, 2, units, rng, "float64")
    for name in ("x", "w", "b", "cs_prev", "h_prev"):  # so that no two infinities cancel
        setattr(case.inputs, name, np.abs(getattr(case.inputs, name)) + 0.1)
    case.h_grad[3, 1] = np.inf
    case.cs_grad[...] = 0.0
    result = tf_ops.block_forward(ops, case)
    _, want = case.reference()
    got = tf_ops.block_arrays(result, tf_ops.block_backward(ops, case, result))
    x_grad = want["x"]
    assert np.isinf(x_grad[3, 1]).all()
    np.testing.assert_array_equal(np.isposinf(got["x_grad"]), np.isposinf(x_grad))
    np.testing.assert_array_equal(np.isnan(got["x_grad"]), np.isnan(x_grad))
