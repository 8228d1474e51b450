"""Rounding errors per dtype against the float64 reference; the bounds are in support/bounds.py."""

import numpy as np
import pytest

import tf_rnn_ops
from support import bounds, cases, tf_ops
from support.reference import layout, rounding
from support.reference.rounding import rounder
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

SPECS = [
    RnnSpec("lstm", 1, 64, 32),
    RnnSpec("lstm", 2, 24, 16, "bidirectional", num_proj=12),
    RnnSpec("gru", 1, 64, 32),
    RnnSpec("gru", 2, 24, 16, "bidirectional"),
    RnnSpec("rnn_tanh", 2, 24, 16, "bidirectional"),
    RnnSpec("rnn_relu", 2, 24, 16, "bidirectional"),
]
BLOCK_ATTRS = [{"use_peephole": False}, {"use_peephole": True, "cell_clip": 0.5}]


def _rnn(spec, dtype, rng, steps=25, batch=8):
    """(case, our results, reference, naive) for one random problem."""
    case = cases.rnn_case(spec, steps, batch, rng, dtype)
    result = tf_ops.rnn_forward(ops, case)
    got = tf_ops.rnn_arrays(case, result, tf_ops.rnn_backward(ops, case, result))
    want = tf_ops.rnn_reference_arrays(case, *case.reference())
    naive = tf_ops.rnn_reference_arrays(case, *case.reference(q=rounder(dtype)))
    return case, got, want, naive


def _block(attrs, dtype, rng):
    case = cases.block_case(25, 8, 32, 48, rng, dtype, **attrs)
    result = tf_ops.block_forward(ops, case)
    got = tf_ops.block_arrays(result, tf_ops.block_backward(ops, case, result))
    want = tf_ops.block_reference_arrays(*case.reference())
    naive = tf_ops.block_reference_arrays(*case.reference(q=rounder(dtype)))
    return case, result, got, want, naive


def _assert_within_naive(got, want, naive):
    for name in want:
        factor = (
            bounds.NAIVE_FACTOR_BACKWARD
            if bounds.is_gradient(name)
            else bounds.NAIVE_FACTOR_FORWARD
        )
        found, allowed = (
            bounds.error(name, got[name], want[name]),
            factor * bounds.error(name, naive[name], want[name]),
        )
        assert found <= allowed, f"{name}: error {found:.3e}, allowed {allowed:.3e}"


def _assert_rounded_once(got, want, dtype):
    limit = bounds.ROUNDED_ONCE_EPS * rounding.eps(dtype)
    for name in want:
        found = bounds.error(name, got[name], want[name])
        assert found <= limit, f"{name}: error {found:.3e}, allowed {limit:.3e}"


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_rnn_float_bounds(spec, rng):
    for dtype in ("float32", "float64"):
        _, got, want, _ = _rnn(spec, dtype, rng)
        bounds.assert_close(got, want, dtype, str(spec))


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_rnn_float32_at_a_working_size(mode, rng):
    _, got, want, _ = _rnn(RnnSpec(mode, 1, 192, 96), "float32", rng, steps=100, batch=16)
    bounds.assert_close(got, want, "float32", mode)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_rnn_16bit_against_naive(spec, dtype, rng):
    _, got, want, naive = _rnn(spec, dtype, rng)
    _assert_within_naive(got, want, naive)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_rnn_float16_rounds_only_its_outputs(spec, rng):
    """Backward is compared with the reference at the very output that it is given.

    bfloat16 may have rounded operands: tests/cc/cpu/rnn_kernel_test.cc, with and without.
    """
    case, got, _, _ = _rnn(spec, "float16", rng)
    want = tf_ops.rnn_reference_arrays(case, *case.reference(output=got["output"]))
    _assert_rounded_once(got, want, "float16")


@pytest.mark.parametrize("attrs", BLOCK_ATTRS, ids=str)
def test_block_lstm_float_bounds(attrs, rng):
    for dtype in ("float32", "float64"):
        _, _, got, want, _ = _block(attrs, dtype, rng)
        bounds.assert_close(got, want, dtype, str(attrs))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("attrs", BLOCK_ATTRS, ids=str)
def test_block_lstm_16bit_against_naive(attrs, dtype, rng):
    _, _, got, want, naive = _block(attrs, dtype, rng)
    _assert_within_naive(got, want, naive)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("attrs", BLOCK_ATTRS, ids=str)
def test_block_lstm_16bit_rounds_only_its_outputs(attrs, dtype, rng):
    """Backward is compared with the reference at the very outputs that it is given."""
    case, result, got, want, _ = _block(attrs, dtype, rng)
    grads = case.reference_backward(tf_ops.block_arrays(result))
    want = {name: want[name] for name in want if not bounds.is_gradient(name)}
    want.update({f"{name}_grad": value for name, value in grads.items()})
    _assert_rounded_once(got, want, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_saturated_gates(mode, dtype, rng):
    """Pre-activations of thousands, of either sign: the gates saturate and nothing overflows."""
    spec = RnnSpec(mode, 1, 17, 5)
    case = cases.rnn_case(spec, 4, 3, rng, dtype, lengths="full")
    case.x[:] = 5000.0
    (cell,) = layout.unpack(spec, case.params)
    # One sign per gate and unit, so that no sum cancels.
    cell.w[:] = rng.choice([-1.0, 1.0], size=cell.w.shape[:2] + (1,))
    result = tf_ops.rnn_forward(ops, case)
    got = tf_ops.rnn_arrays(case, result, tf_ops.rnn_backward(ops, case, result))
    fwd, bwd = case.reference()
    want = tf_ops.rnn_reference_arrays(case, fwd, bwd)
    assert len(np.unique(np.abs(want["output"]))) < want["output"].size
    for name in want:
        assert bounds.error(name, got[name], want[name]) <= 4 * rounding.eps(dtype), name
