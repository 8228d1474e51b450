"""StatelessCudnnRNNV3: masks are a function of its seed.

A stack of ReLU layers with unit input matrices and no recurrence shows them, as in test_dropout.py.
"""

import numpy as np
import pytest
import tensorflow as tf
from test_dropout import SIGMAS, _assert_uncorrelated, _identity_inputs

import tf_rnn_ops
from support import cases, tf_ops
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops


def _mask(seed, rate=0.5, units=32, steps=24, batch=16, layers=2, **attrs):
    spec, tensors = _identity_inputs(
        units, steps, batch, layers, time_major=attrs.get("time_major", True)
    )
    result = ops.StatelessCudnnRNNV3(
        **tensors.inputs(), **spec.attrs(), seed=seed, dropout=rate, **attrs
    )
    return result.output.numpy()


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
    got = _mask(seed, 0.25, units, steps, batch, layers)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_equal_seeds_drop_alike():
    want = _mask((5, 7))
    np.testing.assert_array_equal(_mask((5, 7)), want)
    np.testing.assert_array_equal(np.swapaxes(_mask((5, 7), time_major=False), 0, 1), want)
    traced = tf.function(lambda seed: _mask_tensor(seed))
    np.testing.assert_array_equal(traced(tf.constant([5, 7], tf.int64)), want)


def _mask_tensor(seed):
    spec, tensors = _identity_inputs(32, 24, 16)
    return ops.StatelessCudnnRNNV3(
        **tensors.inputs(), **spec.attrs(), seed=seed, dropout=0.5
    ).output


def test_every_part_of_the_seed_counts():
    seeds = (
        (1, 2),
        (2, 1),
        (1, 3),
        (1, -2),
        (-1, 2),
        (1 + 2**32, 2),
        (1, 2 + 2**32),
        (1 + 2**63 - 2, 2),
    )
    dropped = [(_mask(seed) == 0).astype(np.float64) for seed in seeds]
    for j in range(len(dropped)):
        assert abs(dropped[j].mean() - 0.5) < SIGMAS * 0.5 / np.sqrt(dropped[j].size)
        for k in range(j):
            _assert_uncorrelated(dropped[j], dropped[k])


def test_without_dropout_it_is_the_other_op(rng):
    for spec in (RnnSpec("lstm", 2, 6, 4, "bidirectional", num_proj=3), RnnSpec("gru", 1, 5, 3)):
        case = cases.rnn_case(spec, 5, 4, rng, lengths=[5, 0, 3, 2])
        inputs = tf_ops.rnn_tensors(case).inputs()
        # One layer has nothing to drop.
        rate = 0.5 if spec.layers == 1 else 0.0
        got = ops.StatelessCudnnRNNV3(**inputs, **spec.attrs(), seed=[1, 2], dropout=rate)
        want = ops.CudnnRNNV3(**inputs, **spec.attrs())
        for name in ("output", "output_h", "output_c"):
            np.testing.assert_array_equal(getattr(got, name), getattr(want, name))


@pytest.mark.parametrize("how", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_gradient_equals_directional_derivative(mode, how, rng):
    spec = RnnSpec(mode, 3, 5, 4, "bidirectional", num_proj=3 if mode == "lstm" else 0)
    case = cases.rnn_case(spec, 5, 4, rng, lengths=[5, 0, 3, 2])
    tensors = tf_ops.rnn_tensors(case)
    values = {n: t for n, t in tensors.inputs().items() if n != "sequence_lengths"}
    step = 1e-5

    @how
    def loss(values):
        result = ops.StatelessCudnnRNNV3(
            **values,
            sequence_lengths=tensors.sequence_lengths,
            **spec.attrs(),
            seed=[21, 4],
            dropout=0.4,
        )
        return (
            tf.reduce_sum(result.output * tensors.dy)
            + tf.reduce_sum(result.output_h * tensors.dh)
            + tf.reduce_sum(result.output_c * tensors.dc)
        )

    with tf.GradientTape() as tape:
        tape.watch(values)
        total = loss(values)
    for name, gradient in tape.gradient(total, values).items():
        if gradient is None:  # input_c without a cell state
            continue
        direction = rng.standard_normal(gradient.shape)
        moved = [loss({**values, name: values[name] + s * step * direction}) for s in (1.0, -1.0)]
        numeric = (moved[0] - moved[1]) / (2 * step)
        np.testing.assert_allclose(
            np.sum(gradient * direction), numeric, rtol=1e-7, atol=1e-7, err_msg=name
        )


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
