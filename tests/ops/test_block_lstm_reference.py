"""BlockLSTMV2 and its gradient op against the numpy reference, in every dtype."""

import numpy as np
import pytest

import tf_rnn_ops
from support import cases, tf_ops
from support.problem_lines import FLOATS, TAILS, TYPES, check_lines, lines
from support.reference.block_lstm import FORWARD_NAMES

ops = tf_rnn_ops.raw_ops

SIZES = {
    "units": lines("T=3 {size} H={h} type={type}", size=("B=1 I=1", "B=3 I=17", "B=5 I=16"),
                   h=TAILS, type=FLOATS),
    "rows": lines("T=2 B={b} I=3 H=5 type={type}", b=TAILS, type=FLOATS),
    "threads": lines("{size} type={type}", type=FLOATS,
                     size=("T=20 B=37 I=48 H=80", "T=90 B=1 I=20 H=70", "T=3 B=9 I=270 H=391")),
    "types": lines("T=25 B=8 I=32 H=48 type={type}", type=TYPES),
    "lengths": lines("T=5 B=3 I=4 H=6 lengths={n} type={type}", n=(0, 2, 4), type=TYPES),
    "no steps or rows": lines("{size} I=4 H=6 type={type}", type=TYPES,
                              size=("T=0 B=3", "T=4 B=0", "T=0 B=0")),
}  # fmt: skip


@pytest.mark.parametrize("peephole", ["yes", "no"])
@pytest.mark.parametrize("clip", [0, 0.25])
@pytest.mark.parametrize("name", SIZES)
def test_against_the_reference(name, clip, peephole):
    check_lines(f"op=BlockLSTMV2 clip={clip} peephole={peephole}", SIZES[name])


@pytest.mark.parametrize("dtype", TYPES)
def test_a_negative_cell_clip_is_none(dtype, rng):
    case = cases.block_case(5, 3, 4, 6, rng, dtype)
    want = tf_ops.block_forward(ops, case)
    case.cell_clip = -1.0
    for got, array in zip(tf_ops.block_forward(ops, case), want, strict=True):
        np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("dtype", TYPES)
def test_everything_beyond_seq_len_max_is_zero(dtype, rng):
    case = cases.block_case(5, 3, 4, 6, rng, dtype, 2, use_peephole=True)
    result = tf_ops.block_forward(ops, case)
    got = tf_ops.block_arrays(result, tf_ops.block_backward(ops, case, result))
    for name in FORWARD_NAMES + ("x_grad",):
        np.testing.assert_array_equal(got[name][2:], 0.0, err_msg=name)
        assert np.all(got[name][1] != 0), name


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
