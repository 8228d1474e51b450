"""Forward mode (tf.autodiff.ForwardAccumulator) through the ops."""

import numpy as np
import tensorflow as tf

import tf_rnn_ops
from support import cases, tf_ops
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

STEP = 1e-6
SPEC = RnnSpec("gru", 1, 4, 3)


def _problem(rng):
    case = cases.rnn_case(SPEC, 4, 3, rng, lengths=[4, 0, 2])
    tensors = tf_ops.rnn_tensors(case)
    direction = tf.constant(rng.standard_normal(case.x.shape))

    def run(x):
        result = ops.CudnnRNNV3(**{**tensors.inputs(), "input": x}, **SPEC.attrs())
        return result.output

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(run(x) ** 2)
        return tape.gradient(total, x)

    return tensors.input, direction, run, gradient


def _difference(function, x, direction):
    return (function(x + STEP * direction) - function(x - STEP * direction)) / (2 * STEP)


def test_jacobian_vector_product(rng):
    x, direction, run, _ = _problem(rng)
    with tf.autodiff.ForwardAccumulator(x, direction) as accumulator:
        output = run(x)
    got = accumulator.jvp(output)
    np.testing.assert_allclose(got, _difference(run, x, direction), atol=1e-8)
    assert np.any(got != 0)


def test_hessian_vector_product_forward_over_reverse(rng):
    x, direction, _, gradient = _problem(rng)
    with tf.autodiff.ForwardAccumulator(x, direction) as accumulator:
        found = gradient(x)
    got = accumulator.jvp(found)
    np.testing.assert_allclose(got, _difference(gradient, x, direction), atol=1e-8)
    assert np.any(got != 0)


def test_jacobian_and_hessian(rng):
    """Both through vectorized_map."""
    x, direction, run, gradient = _problem(rng)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        output, first = run(x), gradient(x)
    axes = [[-3, -2, -1], [0, 1, 2]]
    for got, function in ((tape.jacobian(output, x), run), (tape.jacobian(first, x), gradient)):
        product = tf.tensordot(got, direction, axes)
        np.testing.assert_allclose(product, _difference(function, x, direction), atol=1e-8)
        assert np.any(product != 0)
