"""Dropout between layers, with seeds that are attributes. See test_stateless_dropout.py as well.

The masks become visible through a stack of ReLU layers with unit input matrices and no recurrence:
on an input of ones, the output of a stack is the product of the masks of its layers.
"""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, tf_ops
from support.reference import layout
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

RATES = (0.1, 0.5, 0.9)
# Standard errors that a statistic may be off; at 5 a false alarm has probability 6e-7.
SIGMAS = 5.0


def _identity_inputs(units, steps, batch, layers=2, dtype="float32", time_major=True):
    spec = RnnSpec("rnn_relu", layers, units, units)
    weights = layout.unpack(spec, np.zeros(layout.params_size(spec)))
    for cell in weights:
        cell.w[0] = np.eye(units)
    case = cases.RnnCase(
        spec=spec,
        dtype=dtype,
        x=np.ones((steps, batch, units)),
        h0=np.zeros((layers, batch, units)),
        c0=np.zeros((layers, batch, units)),
        params=layout.pack(spec, weights),
        lengths=np.full(batch, steps, np.int32),
        dy=np.ones((steps, batch, units)),
        dh=np.zeros((layers, batch, units)),
        dc=np.zeros((layers, batch, units)),
    )
    return spec, tf_ops.rnn_tensors(case, time_major)


def _fresh_masks(rate, units=32, steps=24, batch=16, layers=2, calls=1, dtype="float32", **attrs):
    """Outputs of the identity stack for the first `calls` calls of a new kernel object."""
    time_major = attrs.get("time_major", True)
    spec, tensors = _identity_inputs(units, steps, batch, layers, dtype, time_major)

    @tf.function
    def run():
        return ops.CudnnRNNV3(**tensors.inputs(), **spec.attrs(), dropout=rate, **attrs).output

    return [tf_ops.to_float64(run()) for _ in range(calls)]


def _correlation(a, b):
    a, b = a - a.mean(), b - b.mean()
    return float((a * b).mean() / (a.std() * b.std()))


def _assert_uncorrelated(a, b):
    limit = SIGMAS / np.sqrt(a.size)
    assert abs(_correlation(a.ravel(), b.ravel())) < limit


@pytest.mark.parametrize("rate", RATES)
def test_mask_values_and_rate(rate):
    (mask,) = _fresh_masks(rate, seed=3)
    kept = mask[mask != 0]
    np.testing.assert_allclose(kept, 1.0 / (1.0 - rate), rtol=1e-6)
    sigma = np.sqrt(rate * (1 - rate) / mask.size)
    assert abs((mask == 0).mean() - rate) < SIGMAS * sigma


def test_mask_has_no_structure():
    (mask,) = _fresh_masks(0.5, seed=5)
    dropped = (mask == 0).astype(np.float64)
    for axis in range(3):
        length = dropped.shape[axis]
        for lag in (1, 2, 4, 8):
            ahead = np.take(dropped, range(lag, length), axis)
            behind = np.take(dropped, range(length - lag), axis)
            _assert_uncorrelated(ahead, behind)
        others = tuple(k for k in range(3) if k != axis)
        share = dropped.mean(axis=others)
        sigma = 0.5 / np.sqrt(dropped.size / length)
        assert np.max(np.abs(share - 0.5)) < SIGMAS * sigma


def test_every_layer_has_its_own_mask():
    (two_masks,) = _fresh_masks(0.5, layers=3, seed=7)
    dropped = (two_masks == 0).mean()
    assert abs(dropped - 0.75) < SIGMAS * np.sqrt(0.75 * 0.25 / two_masks.size)


def test_calls_and_seeds_differ():
    masks = _fresh_masks(0.5, calls=3, seed=1, seed2=2)
    for seeds in ((1, 3), (2, 2), (2, 1), (1, -1), (2, -1), (1 + 2**32, 2), (1, 2 + 2**32), (0, 0)):
        masks += _fresh_masks(0.5, seed=seeds[0], seed2=seeds[1])
    dropped = [(m == 0).astype(np.float64) for m in masks]
    for j in range(len(dropped)):
        for k in range(j):
            _assert_uncorrelated(dropped[j], dropped[k])


def test_reproducible_for_seeds_and_call_number():
    first = _fresh_masks(0.3, calls=3, seed=11, seed2=-4)
    again = _fresh_masks(0.3, calls=3, seed=11, seed2=-4)
    np.testing.assert_array_equal(first, again)


def test_same_mask_in_both_layouts_and_all_dtypes():
    (want,) = _fresh_masks(0.5, seed=2)
    (batch_major,) = _fresh_masks(0.5, seed=2, time_major=False)
    np.testing.assert_array_equal(np.swapaxes(batch_major, 0, 1), want)
    for dtype in ("bfloat16", "float16", "float64"):
        (other,) = _fresh_masks(0.5, seed=2, dtype=dtype)
        np.testing.assert_array_equal(other, want)


@pytest.mark.parametrize("time_major", [True, False])
def test_backward_uses_the_mask_of_forward(time_major):
    spec, tensors = _identity_inputs(8, 6, 4, 3, "float64", time_major)
    for _ in range(3):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(tensors.input)
            result = ops.CudnnRNNV3(
                **tensors.inputs(), **spec.attrs(), dropout=0.5, seed=9, time_major=time_major
            )
        for _ in range(2):
            grad = tape.gradient(result.output, tensors.input)
            np.testing.assert_array_equal(grad, result.output)


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_gradient_equals_directional_derivative(mode, rng):
    """Copies of the op in one graph have kernels of their own, hence equal masks at first."""
    spec = RnnSpec(mode, 3, 5, 4, "bidirectional", num_proj=3 if mode == "lstm" else 0)
    case = cases.rnn_case(spec, 5, 4, rng, lengths=[5, 0, 3, 2])
    tensors = tf_ops.rnn_tensors(case)
    step = 1e-5

    def loss(values):
        result = ops.CudnnRNNV3(
            **values,
            sequence_lengths=tensors.sequence_lengths,
            **spec.attrs(),
            dropout=0.4,
            seed=21,
        )
        total = tf.reduce_sum(result.output * tensors.dy) + tf.reduce_sum(
            result.output_h * tensors.dh
        )
        return total + tf.reduce_sum(result.output_c * tensors.dc)

    @tf.function
    def run():
        values = {n: t for n, t in tensors.inputs().items() if n != "sequence_lengths"}
        with tf.GradientTape() as tape:
            tape.watch(values)
            total = loss(values)
        grads = tape.gradient(total, values)
        pairs = []
        for name, grad in grads.items():
            direction = tf.constant(rng.standard_normal(grad.shape))
            moved = [
                loss({**values, name: values[name] + sign * step * direction})
                for sign in (1.0, -1.0)
            ]
            pairs.append((tf.reduce_sum(grad * direction), (moved[0] - moved[1]) / (2 * step)))
        return pairs

    for analytic, numeric in run():
        np.testing.assert_allclose(analytic, numeric, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_a_rate_of_one_drops_everything(dtype, rng):
    """Also what is not finite."""
    _, tensors = _identity_inputs(8, 6, 4, 3, dtype)
    spec = RnnSpec("rnn_relu", 3, 8, 8)
    inputs = tensors.inputs()
    huge = np.full(inputs["input"].shape, np.inf)
    for x in (inputs["input"], tf.cast(huge, inputs["input"].dtype)):
        inputs["input"] = x
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = ops.CudnnRNNV3(**inputs, **spec.attrs(), dropout=1.0).output
        gradient = tape.gradient(output, inputs["input"])
        assert gradient is not None and not np.any(output) and not np.any(gradient)


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_after_a_rate_of_one_a_layer_sees_zeros(mode, rng):
    spec = RnnSpec(mode, 2, 6, 3)
    case = cases.rnn_case(spec, 5, 4, rng, lengths=[5, 0, 3, 2])
    got = tf_ops.rnn_forward(ops, case, dropout=1.0)
    weights = layout.unpack(spec, case.params)
    last = RnnSpec(mode, 1, 6, 6)
    alone = cases.RnnCase(
        **{
            **case.__dict__,
            "spec": last,
            "x": np.zeros((5, 4, 6)),
            "h0": case.h0[1:],
            "c0": case.c0[1:],
            "params": layout.pack(last, weights[1:]),
        }
    )
    want = tf_ops.rnn_forward(ops, alone)
    np.testing.assert_allclose(got.output, want.output, rtol=0, atol=1e-14)
    gradients = tf_ops.rnn_backward(ops, case, got, dropout=1.0)
    assert all(np.isfinite(g).all() for g in gradients)
    whole = tf_ops.rnn_forward(ops, case, is_training=False, dropout=1.0)
    np.testing.assert_array_equal(
        whole.output, tf_ops.rnn_forward(ops, case, is_training=False).output
    )


def test_dropout_changes_nothing_in_a_single_layer_or_at_inference(rng):
    single = cases.rnn_case(RnnSpec("gru", 1, 6, 3, "bidirectional"), 4, 3, rng, "float32")
    stack = cases.rnn_case(RnnSpec("lstm", 3, 6, 3), 4, 3, rng, "float32")
    for case, is_training in ((single, True), (single, False), (stack, False)):
        want = tf_ops.rnn_forward(ops, case, is_training=is_training).output
        got = tf_ops.rnn_forward(ops, case, is_training=is_training, dropout=0.9, seed=1).output
        np.testing.assert_array_equal(got, want)
    trained = tf_ops.rnn_forward(ops, stack, dropout=0.9, seed=1).output
    assert np.any(trained != tf_ops.rnn_forward(ops, stack).output)
