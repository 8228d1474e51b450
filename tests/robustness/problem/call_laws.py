"""Laws of the ways to call an op: each gives what the plain call gave.

In a graph that knows no shape, compiled by XLA, mapped over a stack of calls, and differentiated twice.
"""

import dataclasses
import functools

import numpy as np
import tensorflow as tf

from robustness.problem import ops
from robustness.problem.check import assert_same
from support import calls, tf_ops
from tf_rnn_ops import raw_ops

# The tensors that the iterations of a mapped call often have in common.
_WEIGHTS = {
    "params", "kernel", "recurrent_kernel", "bias", "projection", "peepholes", "layer_norm", "packed",
    "kernel_scale", "recurrent_kernel_scale", "projection_scale", "w", "wci", "wcf", "wco", "b",
}  # fmt: skip
# These belong to the numbers of one call.
_OF_ONE_CALL = {"reserve_space", "packed", "host_reserved"}

# The step of a difference, and its error relative to the largest number of an array.
_STEP = 1e-6
_DIFFERENCE_LIMIT = 1e-6


class _Called:
    """raw_ops, of which `call(op, tensors, attrs)` makes each call."""

    def __init__(self, call):
        self._call = call

    def __getattr__(self, name):
        op = calls.function_of(raw_ops, name)

        def run(**arguments):
            tensors = {n: a for n, a in arguments.items() if tf.is_tensor(a)}
            attrs = {n: a for n, a in arguments.items() if n not in tensors}
            return self._call(op, tensors, attrs)

        return run


def _function(op, tensors, attrs, shapes, **options):
    def call(*given):
        return op(**dict(zip(tensors, given)), **attrs)

    signature = [tf.TensorSpec(shapes(t), t.dtype) for t in tensors.values()]
    return tf.function(call, input_signature=signature, autograph=False, **options)


def unknown_shapes(s):
    """In a graph that knows no shape: the same bits."""

    def call(op, tensors, attrs):
        return _function(op, tensors, attrs, lambda t: None)(*tensors.values())

    assert_same(ops.run(s.problem, s.case, raw=_Called(call)), s.got, "unknown shapes")


def under_xla(s):
    """Compiled by XLA: the same bits, where packed weights are not packed, as docs/design/xla.md says."""

    def call(op, tensors, attrs):
        compiled = _function(op, tensors, attrs, lambda t: t.shape, jit_compile=True)
        return compiled(*tensors.values())

    got = ops.run(s.problem, s.case, raw=_Called(call))
    if s.problem.run == "packed" and s.short:
        s.compare(got, s.got, "under XLA")
    else:
        assert_same(got, s.got, "under XLA")


def _another(name, tensor):
    if name in _OF_ONE_CALL or not tensor.dtype.is_floating:
        return tensor
    return tensor * tf.cast(0.5, tensor.dtype)


def mapped(s):
    """tf.vectorized_map over two calls, the plain one and another, in either order.

    In every other problem they share the weights.
    """
    shared = _WEIGHTS if s.problem.seed % 2 else set()
    place = s.problem.seed // 2 % 2

    def call(op, tensors, attrs):
        pairs = {n: [_another(n, t), t] for n, t in tensors.items() if n not in shared}
        stacked = {n: tf.stack(pair if place else pair[::-1]) for n, pair in pairs.items()}
        if not stacked:
            return op(**tensors, **attrs)

        def one(given):
            return op(**{**tensors, **given}, **attrs)

        results = tf.vectorized_map(one, stacked)
        return tf.nest.map_structure(lambda t: t[place], results)

    s.compare(ops.run(s.problem, s.case, raw=_Called(call)), s.got, "mapped")


def second_derivatives(s):
    """In float64: the derivative of the gradients along a direction is what their differences say."""
    p = s.problem.replace(type="float64")
    forward = []

    def record(op, tensors, attrs):
        forward.append(functools.partial(_loss, op, tensors, attrs))
        forward.append({n: t for n, t in tensors.items() if _has_gradient(n, t)})
        return op(**tensors, **attrs)

    ops.run(p, dataclasses.replace(s.case, dtype=p.type), raw=_Called(record))
    loss, point = forward[:2]
    draw = np.random.default_rng(s.problem.seed)
    direction = {n: tf.constant(draw.uniform(-1, 1, t.shape)) for n, t in point.items()}
    low, high = (
        _gradients(loss, {n: t + sign * _STEP * direction[n] for n, t in point.items()})
        for sign in (-1, 1)
    )
    got = _derivative(loss, point, direction)
    for name, array in got.items():
        want = (tf_ops.to_float64(high[name]) - tf_ops.to_float64(low[name])) / (2 * _STEP)
        size = max(1.0, np.max(np.abs(want), initial=0.0))
        error = np.max(np.abs(tf_ops.to_float64(array) - want), initial=0.0) / size
        assert error <= _DIFFERENCE_LIMIT, f"second derivatives: {name}: error {error:.3e}"


def _has_gradient(name, tensor):
    return tensor.dtype.is_floating and "mask" not in name and tensor.shape.num_elements() > 0


def _loss(op, tensors, attrs, point):
    """A sum of all outputs with factors between -1 and 1."""
    result = op(**{**tensors, **point}, **attrs)._asdict()
    draw = np.random.default_rng(len(result))
    total = tf.zeros([], tf.float64)
    for name, output in result.items():
        if output.dtype == tf.float64 and name not in _OF_ONE_CALL:
            total += tf.reduce_sum(output * draw.uniform(-1, 1, output.shape))
    return total


def _gradients(loss, point):
    with tf.GradientTape() as tape:
        tape.watch(point)
        value = loss(point)
    return tape.gradient(value, point, unconnected_gradients=tf.UnconnectedGradients.ZERO)


def _derivative(loss, point, direction):
    with tf.GradientTape() as tape:
        tape.watch(point)
        found = _gradients(loss, point)
        along = tf.add_n([tf.reduce_sum(found[n] * direction[n]) for n in point])
    return tape.gradient(along, point, unconnected_gradients=tf.UnconnectedGradients.ZERO)
