"""The conditions on a problem: the values of the reference, and the same bits in each repetition."""

import dataclasses
import functools
import math

import numpy as np
import tensorflow as tf

from robustness.problem import ops, values
from robustness.problem.grammar import BLOCK, FEW_ROWS, INT8, LAYER, LINEAR, STACK
from support import bounds, tf_ops
from support.reference import dropout, rounding
from tf_rnn_ops import raw_ops

# A rounding may change on which side of a jump of its function's slope a pre-activation is that is
# nearer to it than this, in eps of what the products multiply. Then no gradient has one right value.
_NEAR_EPS = 64.0


@dataclasses.dataclass
class Expected:
    """The results of the reference: the arrays, and whether the gradients among them have one value."""

    arrays: dict
    decided: bool = True
    # The change of the output of int8 weights if a row is rounded the other way.
    slack: np.ndarray | float = 0.0


@functools.cache
def _multiplies_bfloat16():
    """Whether products of bfloat16 tensors take them as they are here: they pack to fewer bytes."""

    def size(dtype):
        weights = tf.zeros([64, 64], dtype)
        packed = raw_ops.PackLayerRNN(kernel=weights, recurrent_kernel=weights, rnn_mode="rnn_tanh")
        return packed.shape[0]

    return size(tf.bfloat16) < size(tf.float32)


def _operand_eps(dtype):
    if dtype == "bfloat16" and _multiplies_bfloat16():
        return rounding.eps(dtype)
    return rounding.eps("float64" if dtype == "float64" else "float32")


def _decided(problem, steps, operands=None):
    """steps: the valid rows of each, and how near each element came to such a jump."""
    eps = _operand_eps(problem.type) if operands is None else rounding.eps(operands)
    limit = _NEAR_EPS * eps
    return not any(np.any(near[valid[:, 0]] < limit) for valid, near in steps)


def reference(problem, case, got, operands=None):
    """The Expected of a problem. A 16-bit gradient op is given rounded outputs: those of `got`.

    `operands`: the type of what products multiply; by default that of the CPU for the problem's type.
    """
    given = got if "16" in problem.type else {}
    if problem.type == INT8:
        arrays, slack = case.reference(got["output"])
        return Expected(arrays, slack=slack)
    if problem.op == LINEAR:
        return Expected(case.reference())
    if problem.op == BLOCK:
        outputs, grads = case.reference()
        if given and problem.run == "training":
            grads = case.reference_backward(got)
        return Expected(tf_ops.block_reference_arrays(outputs, grads))
    if problem.op == LAYER:
        arrays, tape = case.reference_with_tape(output=given.get("output"))
        return Expected(
            arrays, _decided(problem, [(v, cache[-1]) for v, _, cache in tape], operands)
        )
    key = dropout.key(problem.seed, 0, 0)
    masks = dropout.masks(case.spec, problem.dropout, problem.T, problem.B, key)
    forward, backward = case.reference(masks, output=given.get("output"))
    steps = [step for _, tape in forward.tape for step in tape]
    arrays = tf_ops.rnn_reference_arrays(case, forward, backward)
    return Expected(
        arrays, _decided(problem, [(v, cache[-1]) for _, v, _, cache in steps], operands)
    )


def limit(problem, name):
    """The bound on the error of one array; see support/bounds.py."""
    if problem.type == INT8:
        return bounds.limit(name, "float32")
    if problem.type in ("float32", "float64"):
        return bounds.limit(name, problem.type)
    eps = bounds.ROUNDED_ONCE_EPS
    if problem.type == "bfloat16":
        # With products in bfloat16, whose operands dropout between layers enlarges; docs/numerics.md.
        eps = 2.0 if bounds.is_gradient(name) else 1.5
        if problem.op == STACK and problem.L > 1:
            eps /= math.sqrt(1 - problem.dropout)
    return eps * rounding.eps(problem.type)


def assert_close(problem, got, want, what, factor=1.0):
    """Arrays of two dicts under the bounds of the problem's type; of the names of `got`."""
    for name, array in got.items():
        found, allowed = bounds.error(name, array, want[name]), factor * limit(problem, name)
        assert found <= allowed, f"{what}: {name}: error {found:.3e}, allowed {allowed:.3e}"


def assert_steps(problem, got, expected):
    """Each step of int8 weights, which the reference began at the h of the op."""
    for name, array in got.items():
        want, slack = expected.arrays[name], expected.slack if name == "output" else 0.0
        assert array.shape == want.shape, f"reference: {name}: {array.shape}, not {want.shape}"
        allowed = limit(problem, name) * bounds.scale(name, want) + slack
        over = np.max(np.abs(array - want) / allowed, initial=0.0)
        assert over <= 1, f"reference: {name}: an error of {over:.2f} times what is allowed"


def assert_rounded_once(problem, got, want):
    """Each number of a 16-bit type is the rounded number of the reference, except for errors of float32."""
    rounded = rounding.rounder(problem.type)
    for name, array in got.items():
        error = bounds.limit(name, "float32") * bounds.scale(name, want[name])
        low, high = (rounded(want[name] + sign * error) for sign in (-1, 1))
        outside = (array < low) | (array > high)
        if np.any(outside):
            k = np.unravel_index(np.argmax(outside), outside.shape)
            raise AssertionError(
                f"reference, rounded once: {name}{list(map(int, k))} is {array[k]}, expected "
                f"{low[k]} to {high[k]}; {np.sum(outside)} of {array.size} are outside"
            )


def assert_same(got, want, what):
    """The same bits, in the arrays that both have."""
    for name in got.keys() & want.keys():
        same = got[name].tobytes() == want[name].tobytes()
        assert same, f"{what}: {name}: {np.sum(got[name] != want[name])} numbers differ"


def without_gradients(arrays):
    return {name: array for name, array in arrays.items() if not bounds.is_gradient(name)}


def check(problem):
    """Raises AssertionError with what does not hold; returns (case, arrays, Expected)."""
    case = values.case(problem)
    got = ops.run(problem, case)
    expected = reference(problem, case, got)
    decided = got if expected.decided else without_gradients(got)
    if problem.type == INT8:
        assert_steps(problem, got, expected)
    else:
        assert_close(problem, decided, expected.arrays, "reference")
    in_bfloat16 = problem.type == "bfloat16" and _multiplies_bfloat16()
    if problem.type in ("float16", "bfloat16") and not in_bfloat16:
        assert_rounded_once(problem, decided, expected.arrays)
    assert_same(ops.run(problem, case), got, "repeated")
    if problem.op == LINEAR:
        return case, got, expected
    if problem.op != BLOCK:
        other = "batch" if problem.order == "time" else "time"
        assert_same(ops.run(problem, case, other), got, f"{other} major")
    if problem.run == "training" and not (problem.op == STACK and problem.dropout):
        inference = problem.replace(run="inference", dropout=0.0)
        assert_same(ops.run(inference, case), got, "inference")
    if problem.type == INT8:
        other = "inference" if problem.run == "packed" else "packed"
        assert_same(ops.run(problem.replace(run=other), case), got, other)
    elif problem.run == "packed" and problem.T * problem.B > FEW_ROWS:
        assert_same(ops.run(problem.replace(run="inference"), case), got, "not packed")
    return case, got, expected
