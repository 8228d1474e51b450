"""Dropout between layers, with seeds that are attributes (CudnnRNNV3) or an input (StatelessCudnnRNNV3).

The masks become visible through a stack of ReLU layers with unit input matrices and no recurrence:
on an input of ones, the output of a stack is the product of the masks of its layers.
"""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, networks, tf_ops
from support.reference import layout
from support.reference.spec import RnnSpec
from support.second_order import assert_slopes

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


def _stateless_masks(rate, seed, units=32, steps=24, batch=16, layers=2, **attrs):
    """The same for one call of the stateless op."""
    time_major = attrs.get("time_major", True)
    spec, tensors = _identity_inputs(units, steps, batch, layers, "float32", time_major)
    op = ops.StatelessCudnnRNNV3
    result = op(**tensors.inputs(), **spec.attrs(), seed=seed, dropout=rate, **attrs)
    return [result.output.numpy()]


def _fresh(rate, seed, **given):
    return _fresh_masks(rate, seed=seed[0], seed2=seed[1], **given)


OPS = {"CudnnRNNV3": _fresh, "StatelessCudnnRNNV3": _stateless_masks}
both_ops = pytest.mark.parametrize("masks", OPS.values(), ids=OPS)


def _assert_uncorrelated(a, b):
    a, b = (np.ravel(m - m.mean()) for m in (a, b))
    assert abs((a * b).mean() / (a.std() * b.std())) < SIGMAS / np.sqrt(a.size)


@pytest.mark.parametrize("rate", RATES)
@both_ops
def test_mask_values_and_rate(masks, rate):
    (mask,) = masks(rate, (3, 0))
    np.testing.assert_allclose(mask[mask != 0], 1.0 / (1.0 - rate), rtol=1e-6)
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


@both_ops
def test_every_layer_has_its_own_mask(masks):
    (two_masks,) = masks(0.5, (7, 0), layers=3)
    dropped = (two_masks == 0).mean()
    assert abs(dropped - 0.75) < SIGMAS * np.sqrt(0.75 * 0.25 / two_masks.size)


@both_ops
def test_seeds_and_calls_differ(masks):
    found = masks(0.5, (1, 2))
    if masks is _fresh:
        found = _fresh_masks(0.5, calls=3, seed=1, seed2=2)
    others = [(1, 3), (2, 2), (2, 1), (1, -1), (2, -1), (-1, 2), (0, 0)]
    for seeds in (*others, (1 + 2**32, 2), (1, 2 + 2**32), (1 + 2**63 - 2, 2)):
        found += masks(0.5, seeds)
    dropped = [(m == 0).astype(np.float64) for m in found]
    for j in range(len(dropped)):
        for k in range(j):
            _assert_uncorrelated(dropped[j], dropped[k])


def test_reproducible_for_seeds_and_call_number():
    first, again = (_fresh_masks(0.3, calls=3, seed=11, seed2=-4) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_stateless_op_draws_by_its_seed_alone():
    want = _stateless_masks(0.5, (5, 7))
    np.testing.assert_array_equal(_stateless_masks(0.5, (5, 7)), want)
    traced = tf.function(lambda seed: _traced_mask(seed))
    np.testing.assert_array_equal(traced(tf.constant([5, 7], tf.int64)), want[0])


def _traced_mask(seed):
    spec, tensors = _identity_inputs(32, 24, 16)
    attrs = {**spec.attrs(), "dropout": 0.5}
    return ops.StatelessCudnnRNNV3(**tensors.inputs(), **attrs, seed=seed).output


@both_ops
def test_same_mask_in_both_layouts(masks):
    (want,) = masks(0.5, (2, 0))
    (batch_major,) = masks(0.5, (2, 0), time_major=False)
    np.testing.assert_array_equal(np.swapaxes(batch_major, 0, 1), want)


def test_same_mask_in_all_dtypes():
    (want,) = _fresh_masks(0.5, seed=2)
    for dtype in ("bfloat16", "float16", "float64"):
        (other,) = _fresh_masks(0.5, seed=2, dtype=dtype)
        np.testing.assert_array_equal(other, want)


def _mix(z):
    """The finaliser of SplitMix64, in integers of Python."""
    bits = 2**64 - 1
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & bits
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & bits
    return z ^ (z >> 31)


def _key(seed):
    """The key of Philox, as docs/design/dropout.md describes it; no call is counted."""
    key = 0
    for number in (*seed, 0):
        key = _mix(((key ^ (number % 2**64)) + 0x9E3779B97F4A7C15) % 2**64)
    return key


@pytest.mark.parametrize("seed", [(0, 0), (3, 1), (-1, 2**40)])
def test_the_mask_is_philox(seed):
    """TensorFlow's own Philox gives the random words."""
    units, steps, batch, layers = 8, 3, 2, 3
    key = tf.constant([_key(seed)], tf.uint64)
    want = np.ones((steps, batch, units))
    for layer in range(layers - 1):
        for place in range(steps * batch):
            # Two words of 64 bits: counter of four columns and layer, then the place.
            counter = tf.constant([layer * 2**32, place], tf.uint64)
            words = tf.raw_ops.StatelessRandomUniformFullIntV2(
                shape=[units], key=key, counter=counter, alg=1, dtype=tf.uint32
            )
            t, b = divmod(place, batch)
            want[t, b] *= np.where(words.numpy() < 0.25 * 2**32, 0, 1 / 0.75)
    (got,) = _stateless_masks(0.25, seed, units, steps, batch, layers)
    np.testing.assert_allclose(got, want, rtol=1e-6)


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


@pytest.mark.parametrize(
    ("op", "seed", "how"),
    [
        ("CudnnRNNV3", 21, tf.function),
        ("StatelessCudnnRNNV3", [21, 4], tf.function),
        ("StatelessCudnnRNNV3", [21, 4], lambda function: function),
    ],
)
@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_gradients_are_those_of_the_masks(mode, op, seed, how, rng):
    """A function has kernels of its own, hence in its first call the masks of any other function."""
    spec = RnnSpec(mode, 3, 5, 4, "bidirectional", num_proj=3 if mode == "lstm" else 0)
    network = networks.stack(spec, rng, (5, 4), lengths=[5, 0, 3, 2], dropout=0.4, seed=seed)
    network.op = op
    arrays = {n: t.numpy() for n, t in network.values.items()}

    def total(arrays):
        return float(how(network.loss)({n: tf.constant(a) for n, a in arrays.items()}))

    got = how(network.gradients)(network.values)
    assert_slopes(got, total, arrays, rng)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_a_rate_of_one_drops_everything(dtype):
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


def test_dropout_changes_nothing_in_a_single_layer_or_at_inference(rng):
    single = cases.rnn_case(RnnSpec("gru", 1, 6, 3, "bidirectional"), 4, 3, rng, "float32")
    stack = cases.rnn_case(RnnSpec("lstm", 3, 6, 3), 4, 3, rng, "float32")
    for case, is_training in ((single, True), (single, False), (stack, False)):
        want = tf_ops.rnn_forward(ops, case, is_training=is_training)
        for rate in (0.9, 1.0):
            got = tf_ops.rnn_forward(ops, case, is_training=is_training, dropout=rate, seed=1)
            np.testing.assert_array_equal(got.output, want.output)
        if is_training:
            inputs = tf_ops.rnn_tensors(case).inputs()
            got = ops.StatelessCudnnRNNV3(**inputs, **case.spec.attrs(), seed=[1, 2], dropout=0.9)
            for name in ("output", "output_h", "output_c"):
                np.testing.assert_array_equal(getattr(got, name), getattr(want, name))
    trained = tf_ops.rnn_forward(ops, stack, dropout=0.9, seed=1).output
    assert np.any(trained != tf_ops.rnn_forward(ops, stack).output)


def test_recompute_grad_gets_the_same_mask():
    spec, tensors = _identity_inputs(8, 6, 4, 3)

    @tf.recompute_grad
    def block(x):
        inputs = {**tensors.inputs(), "input": x}
        return ops.StatelessCudnnRNNV3(**inputs, **spec.attrs(), seed=[2, 3], dropout=0.5).output

    x = tf.constant(tensors.input)
    with tf.GradientTape() as tape:
        tape.watch(x)
        output = block(x)
    # The output is the mask times ones, and so is the gradient.
    np.testing.assert_array_equal(tape.gradient(output, x), output)
