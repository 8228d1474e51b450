"""The ops on a GPU against the float64 reference, with the bounds of the CPU.

Collected only if TF_RNN_OPS_TEST_DEVICE names a GPU (`make test-gpu`), or the mock GPU. On a CPU, tests/ops and
robustness/problem have more cases of each kind.
"""

import numpy as np
import pytest
import tensorflow as tf

from support import bounds, cases, devices, tf_ops
from support.reference import layout, rounding
from support.reference.block_lstm import FORWARD_NAMES
from support.reference.rounding import rounder
from support.reference.spec import RnnSpec

pytestmark = pytest.mark.usefixtures("everything_else_on_the_cpu")

ops = devices.ops

MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
DTYPES = ("bfloat16", "float16", "float32", "float64")
NARROW = ("bfloat16", "float16")
# With TF32 a product rounds its operands to 10 bits of mantissa.
TF32_EPS = 2.0**-10
# The bound for cuDNN's persistent kernels in float32, whose tanh is up to 7.2e-6 off (tests/gpu/core).
PERSISTENT_BOUND = 6e-5


def _specs(mode):
    """Every structure that a mode allows, at small sizes."""
    yield RnnSpec(mode, 1, 5, 3)
    yield RnnSpec(mode, 2, 6, 4, "bidirectional")
    yield RnnSpec(mode, 3, 4, 7)
    yield RnnSpec(mode, 2, 5, 5, "bidirectional", input_mode="skip_input")
    yield RnnSpec(mode, 1, 5, 5, input_mode="auto_select")
    if mode == "lstm":
        yield RnnSpec(mode, 1, 6, 4, num_proj=3)
        yield RnnSpec(mode, 2, 6, 4, "bidirectional", num_proj=5)


def _run(case, time_major=True, **attrs):
    """Forward and backward as a dict of arrays."""
    result = tf_ops.rnn_forward(ops, case, time_major, **attrs)
    grads = tf_ops.rnn_backward(ops, case, result, time_major, **attrs)
    return tf_ops.rnn_arrays(case, result, grads, time_major)


def _rnn_limit(name, dtype):
    if dtype == "float32" and devices.PERSISTENT_KERNELS:
        return PERSISTENT_BOUND
    return bounds.limit(name, dtype)


def _shares(case, got, reference, limit=_rnn_limit):
    """The error of each result as a share of its bound.

    `reference(q)` gives the results of the equations, rounded by q after each step. `limit` is that
    of float32 and float64.
    """
    want = reference(rounder("float64"))
    if case.dtype not in NARROW:
        return {n: bounds.error(n, got[n], want[n]) / limit(n, case.dtype) for n in got}
    naive = reference(rounder(case.dtype))
    shares = {}
    for name in got:
        factor = (
            bounds.NAIVE_FACTOR_BACKWARD
            if bounds.is_gradient(name)
            else bounds.NAIVE_FACTOR_FORWARD
        )
        # A tiny problem's naive error can be 0 by luck: one rounding of the result is always fair.
        allowed = max(
            factor * bounds.error(name, naive[name], want[name]), rounding.eps(case.dtype)
        )
        shares[name] = bounds.error(name, got[name], want[name]) / allowed
    return shares


def _judge(*measured):
    """Reports the worst share of all pairs of a context and its shares, then fails above 1."""
    worst = [(max(shares.values()), context, shares) for context, shares in measured]
    bounds.reported.extend(share for share, _, _ in worst)
    bad = [f"{context}: {shares}" for share, context, shares in worst if not share <= 1]
    assert not bad, "errors as shares of their bounds\n" + "\n".join(bad)


def _measure(case, time_major=True):
    def reference(q):
        return tf_ops.rnn_reference_arrays(case, *case.reference(q=q))

    context = f"{case.spec} {case.dtype} time_major={time_major} lengths {case.lengths}"
    return context, _shares(case, _run(case, time_major), reference)


def _check(case, time_major=True):
    _judge(_measure(case, time_major))


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_every_configuration(mode, dtype, time_major, rng):
    measured = []
    for spec in _specs(mode):
        full = cases.rnn_case(spec, 5, 4, rng, dtype, lengths="full")
        mixed = cases.rnn_case(spec, 6, 3, rng, dtype, lengths=[2, 6, 4])
        measured += [_measure(case, time_major) for case in (full, mixed)]
    _judge(*measured)


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_rows_of_length_zero(mode, time_major, rng):
    spec = RnnSpec(mode, 2, 6, 3, "bidirectional", num_proj=4 if mode == "lstm" else 0)
    for dtype in ("float32", "bfloat16"):
        for lengths in ([0, 4, 0, 2], [0, 0, 0, 0]):
            case = cases.rnn_case(spec, 4, 4, rng, dtype, lengths=lengths)
            _check(case, time_major)
            got = _run(case, time_major)
            empty = case.lengths == 0
            # The state and its gradient pass a row without steps untouched, to the bit.
            np.testing.assert_array_equal(got["output"][:, empty], 0.0)
            np.testing.assert_array_equal(got["output_h"][:, empty], case.h0[:, empty])
            np.testing.assert_array_equal(got["input_backprop"][:, empty], 0.0)
            np.testing.assert_array_equal(got["input_h_backprop"][:, empty], case.dh[:, empty])
            if spec.is_lstm:
                np.testing.assert_array_equal(got["output_c"][:, empty], case.c0[:, empty])
                np.testing.assert_array_equal(got["input_c_backprop"][:, empty], case.dc[:, empty])


@pytest.mark.parametrize("mode", MODES)
def test_padding_never_matters(mode, rng):
    case = cases.rnn_case(RnnSpec(mode, 2, 5, 3, "bidirectional"), 6, 3, rng, lengths=[6, 2, 0])
    beyond = np.arange(6)[:, None] >= case.lengths[None]
    runs = []
    for filler in (0.0, np.nan):
        case.x = np.where(beyond[..., None], filler, case.x)
        case.dy = np.where(beyond[..., None], filler, case.dy)
        runs.append(_run(case))
    for name in runs[0]:
        np.testing.assert_array_equal(runs[0][name], runs[1][name], err_msg=name)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("steps", "batch"), [(0, 3), (4, 0), (0, 0)])
def test_empty_time_or_batch(mode, steps, batch, rng):
    spec = RnnSpec(mode, 2, 5, 3, "bidirectional", num_proj=2 if mode == "lstm" else 0)
    for dtype in DTYPES:
        case = cases.rnn_case(spec, steps, batch, rng, dtype, lengths="full")
        for time_major in (True, False):
            got = _run(case, time_major)
            assert got["output"].shape == (steps, batch, spec.output_size)
            np.testing.assert_array_equal(got["output_h"], case.h0)
            np.testing.assert_array_equal(got["input_h_backprop"], case.dh)
            np.testing.assert_array_equal(got["params_backprop"], np.zeros(case.params.shape))
            result = tf_ops.rnn_forward(ops, case, time_major, is_training=False)
            np.testing.assert_array_equal(
                tf_ops.rnn_arrays(case, result, None, time_major)["output_h"], case.h0
            )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_inference(mode, dtype, rng):
    case = cases.rnn_case(RnnSpec(mode, 2, 7, 5, "bidirectional"), 6, 5, rng, dtype)
    result = tf_ops.rnn_forward(ops, case, is_training=False)
    got = tf_ops.rnn_arrays(case, result)

    def reference(q):
        return tf_ops.rnn_reference_arrays(case, case.reference(q=q)[0])

    _judge((mode, _shares(case, got, reference)))
    assert result.reserve_space.shape == [] and devices.array(result.reserve_space) == 0.0
    if mode != "lstm":
        assert result.output_c.shape == [] and devices.array(result.output_c) == 0.0


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_second_gradient_through_one_forward_equals_the_first(mode, dtype, dropout, rng):
    case = cases.rnn_case(RnnSpec(mode, 2, 9, 5, "bidirectional"), 6, 5, rng, dtype)
    result = tf_ops.rnn_forward(ops, case, dropout=dropout)
    # Another call of the same kernel must not disturb the first one's reserve space.
    tf_ops.rnn_forward(ops, case, dropout=dropout)
    first, second = (
        tf_ops.rnn_arrays(case, result, tf_ops.rnn_backward(ops, case, result, dropout=dropout))
        for _ in range(2)
    )
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def _identity_stack(units, steps, batch):
    """A stack of ReLU layers that passes its input on: its output on ones is the dropout mask."""
    spec = RnnSpec("rnn_relu", 2, units, units)
    weights = layout.unpack(spec, np.zeros(layout.params_size(spec)))
    for cell in weights:
        cell.w[0] = np.eye(units)
    states = np.zeros((2, batch, units))
    ones = np.ones((steps, batch, units))
    lengths = np.full(batch, steps, np.int32)
    params = layout.pack(spec, weights)
    return cases.RnnCase(
        spec, "float32", ones, states, states, params, lengths, ones, states, states
    )


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_masks(rate):
    case = _identity_stack(32, 24, 16)
    result = tf_ops.rnn_forward(ops, case, dropout=rate, seed=3)
    grads = tf_ops.rnn_backward(ops, case, result, dropout=rate, seed=3)
    mask = devices.array(result.output)
    np.testing.assert_allclose(mask[mask != 0], 1.0 / (1.0 - rate), rtol=1e-6)
    deviation = np.sqrt(rate * (1 - rate) / mask.size)
    assert abs((mask == 0).mean() - rate) < 5 * deviation
    # Backward has the mask of forward; x is positive, so ReLU passes every gradient.
    np.testing.assert_array_equal(devices.array(grads.input_backprop), mask)


def test_dropout_is_reproducible_and_moves_on():
    case = _identity_stack(16, 8, 4)
    tensors = tf_ops.rnn_tensors(case)

    def fresh(seed, seed2):
        """The masks of the first three calls of a new kernel object."""

        @tf.function
        def run():
            return ops.CudnnRNNV3(
                **tensors.inputs(), **case.spec.attrs(), dropout=0.5, seed=seed, seed2=seed2
            ).output

        return [devices.array(run()).tobytes() for _ in range(3)]

    first = fresh(1, 2)
    assert len(set(first)) == 3
    assert fresh(1, 2) == first
    # A negative second seed must not wipe out the first one.
    assert len({fresh(1, -1)[0], fresh(2, -1)[0], fresh(1, 2)[0], fresh(2, 2)[0]}) == 4


def test_dropout_has_no_effect_on_one_layer(rng):
    case = cases.rnn_case(RnnSpec("gru", 1, 6, 4, "bidirectional"), 5, 3, rng, "float32")
    plain, dropped = (tf_ops.rnn_forward(ops, case, dropout=rate) for rate in (0.0, 0.7))
    np.testing.assert_array_equal(devices.array(plain.output), devices.array(dropped.output))


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_working_sizes(mode, rng):
    _check(cases.rnn_case(RnnSpec(mode, 2, 128, 64, "bidirectional"), 20, 16, rng, "float32"))


def test_tf32_stays_near(rng):
    tf.config.experimental.enable_tensor_float_32_execution(True)
    case = cases.rnn_case(RnnSpec("lstm", 1, 64, 32), 10, 8, rng, "float32")
    got = _run(case)
    want = tf_ops.rnn_reference_arrays(case, *case.reference())
    shares = {n: bounds.error(n, got[n], want[n]) / (8 * TF32_EPS) for n in want}
    _judge(("TF32", shares))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_params_ops(mode, dtype, rng):
    for spec in _specs(mode):
        size = layout.params_size(spec)
        values = rounder(dtype)(rng.standard_normal(size))
        sizes = {
            "num_layers": spec.layers,
            "num_units": spec.units,
            "input_size": spec.input_size,
        }
        attrs = spec.attrs()
        for integer in (tf.int32, tf.int64):
            found = ops.CudnnRNNParamsSize(**sizes, T=tf.as_dtype(dtype), S=integer, **attrs)
            assert found.dtype == integer and int(np.squeeze(found.numpy())) == size
        weights, biases = layout.canonical(spec, values)
        got = ops.CudnnRNNParamsToCanonicalV2(
            **sizes,
            params=tf_ops.constant(values, dtype),
            num_params_weights=len(weights),
            num_params_biases=len(biases),
            **attrs,
        )
        for found, want in zip([*got.weights, *got.biases], [*weights, *biases], strict=True):
            np.testing.assert_array_equal(devices.array(found), want)
        back = ops.CudnnRNNCanonicalToParamsV2(
            **sizes,
            weights=[tf_ops.constant(w, dtype) for w in weights],
            biases=[tf_ops.constant(b, dtype) for b in biases],
            **attrs,
        )
        np.testing.assert_array_equal(devices.array(back), values)


# ---- BlockLSTM ----


def _run_block(case):
    result = tf_ops.block_forward(ops, case)
    return tf_ops.block_arrays(result, tf_ops.block_backward(ops, case, result))


def _measure_block(case):
    def reference(q):
        return tf_ops.block_reference_arrays(*case.reference(q=q))

    context = f"{case.dtype} {case.inputs.x.shape} seq_len_max {case.seq_len_max}"
    return context, _shares(case, _run_block(case), reference, bounds.limit)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cell_clip", [0.0, 0.25])
@pytest.mark.parametrize("use_peephole", [False, True])
def test_block_lstm(use_peephole, cell_clip, dtype, rng):
    attrs = {"use_peephole": use_peephole, "cell_clip": cell_clip}
    measured = []
    for steps, batch, input_size, units, seq_len_max in (
        (5, 3, 4, 6, 5),
        (1, 1, 1, 1, 1),
        (6, 7, 3, 33, 4),
        (4, 2, 17, 5, 0),
    ):
        case = cases.block_case(steps, batch, input_size, units, rng, dtype, seq_len_max, **attrs)
        measured.append(_measure_block(case))
    _judge(*measured)


@pytest.mark.parametrize("dtype", DTYPES)
def test_block_lstm_beyond_seq_len_max(dtype, rng):
    case = cases.block_case(5, 3, 4, 6, rng, dtype, 2, use_peephole=True)
    want = _run_block(case)
    for name in (*FORWARD_NAMES, "x_grad"):
        np.testing.assert_array_equal(want[name][2:], 0.0, err_msg=name)
    case.cs_grad[2:] = np.nan
    case.h_grad[2:] = np.nan
    got = _run_block(case)
    for name in want:
        np.testing.assert_array_equal(got[name], want[name], err_msg=name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("steps", "batch"), [(0, 3), (4, 0), (0, 0)])
def test_block_lstm_empty_time_or_batch(dtype, steps, batch, rng):
    case = cases.block_case(steps, batch, 4, 6, rng, dtype, use_peephole=True)
    got = _run_block(case)
    assert got["h"].shape == (steps, batch, 6)
    for name in got:
        np.testing.assert_array_equal(got[name], np.zeros(got[name].shape), err_msg=name)


def test_block_lstm_at_a_working_size(rng):
    _judge(_measure_block(cases.block_case(20, 16, 64, 128, rng, "float32", use_peephole=True)))
