"""Gradients of the ops that put the opaque parameter buffer together and take it apart."""

import numpy as np
import pytest
import tensorflow as tf

from support import cases, tf_ops
from support.reference import layout
from tf_rnn_ops import raw_ops


def _attributes(spec):
    return {
        "num_layers": spec.layers,
        "num_units": spec.units,
        "input_size": spec.input_size,
        **spec.attrs(),
    }


def _canonical(spec, params):
    weights, biases = layout.canonical(spec, np.zeros(layout.params_size(spec)))
    counts = {"num_params_weights": len(weights), "num_params_biases": len(biases)}
    found = raw_ops.CudnnRNNParamsToCanonicalV2(params=params, **_attributes(spec), **counts)
    return [*found.weights, *found.biases], len(weights)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_of_canonical_to_params(dtype, rng):
    """That of a sum with factors is the factors, where the reference has each matrix."""
    for _ in range(10):
        spec = cases.random_spec(rng)
        factors = tf_ops.constant(rng.integers(-8, 8, layout.params_size(spec)), dtype)
        want = layout.canonical(spec, tf_ops.to_float64(factors))
        variables = [[tf.Variable(tf.zeros(np.shape(a), dtype)) for a in arrays] for arrays in want]
        with tf.GradientTape() as tape:
            params = raw_ops.CudnnRNNCanonicalToParamsV2(
                weights=variables[0], biases=variables[1], **_attributes(spec)
            )
            loss = tf.reduce_sum(params * factors)
        for found, wanted in zip(tape.gradient(loss, variables), want):
            for gradient, array in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(tf_ops.to_float64(gradient), array)


def test_has_the_shape_in_which_a_weight_was_given():
    spec = cases.RnnSpec("gru", 1, 2, 3)
    weights, biases = layout.canonical(spec, np.zeros(layout.params_size(spec)))
    flat = [tf.Variable(tf.reshape(tf.constant(w, tf.float32), [-1])) for w in weights]
    with tf.GradientTape() as tape:
        params = raw_ops.CudnnRNNCanonicalToParamsV2(
            weights=flat, biases=[tf.constant(b, tf.float32) for b in biases], **_attributes(spec)
        )
        loss = tf.reduce_sum(params)
    assert [g.shape for g in tape.gradient(loss, flat)] == [v.shape for v in flat]


def test_of_params_to_canonical(rng):
    """A penalty on the matrices leaves the biases alone: here 3 on each number of a matrix."""
    for _ in range(10):
        spec = cases.random_spec(rng)
        params = tf.Variable(tf.zeros([layout.params_size(spec)]))
        with tf.GradientTape() as tape:
            parts, count = _canonical(spec, params)
            penalty = 3.0 * tf.add_n([tf.reduce_sum(w) for w in parts[:count]])
        found, biases = layout.canonical(spec, tape.gradient(penalty, params).numpy())
        assert all(np.all(w == 3) for w in found)
        assert not any(np.any(b) for b in biases)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_in_a_function_and_twice(jit_compile, rng):
    """The second derivative of a sum of squares is 2, in whatever order the numbers lie."""
    spec = cases.RnnSpec("lstm", 2, 3, 4, direction="bidirectional")
    direction = rng.standard_normal(layout.params_size(spec)).astype(np.float32)

    @tf.function(jit_compile=jit_compile)
    def twice(params):
        with tf.GradientTape() as outer:
            outer.watch(params)
            with tf.GradientTape() as tape:
                tape.watch(params)
                parts, _ = _canonical(spec, params)
                loss = tf.add_n([tf.reduce_sum(part**2) for part in parts])
            along = tf.reduce_sum(tape.gradient(loss, params) * direction)
        return outer.gradient(along, params)

    found = twice(tf.constant(rng.standard_normal(direction.shape).astype(np.float32)))
    np.testing.assert_allclose(found, 2 * direction, rtol=1e-6)
