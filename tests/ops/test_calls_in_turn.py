"""A kernel keeps what the shapes of its last call say: calls of other shapes come in between."""

import concurrent.futures

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, tf_ops
from support.bounds import assert_close
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

# Eager calls of equal attributes share a kernel; those of neighbours differ in one size each.
CALLS = [(3, 2, 4, 5), (6, 2, 4, 5), (6, 3, 4, 5), (6, 3, 7, 5), (6, 3, 7, 2), (0, 3, 7, 2)]


def _case(steps, batch, input_size, units, rng):
    return cases.rnn_case(RnnSpec("lstm", 1, units, input_size), steps, batch, rng, "float32")


def _check(case):
    result = tf_ops.rnn_forward(ops, case)
    got = tf_ops.rnn_arrays(case, result, tf_ops.rnn_backward(ops, case, result))
    want = tf_ops.rnn_reference_arrays(case, *case.reference())
    assert_close(got, want, "float32", f"{case.spec} x {case.x.shape}")


def test_each_call_has_its_own_shapes(rng):
    for sizes in [*CALLS, *CALLS[::-1]]:
        _check(_case(*sizes, rng))


def test_a_refused_call_leaves_nothing_behind(rng):
    case = _case(*CALLS[0], rng)
    tensors = tf_ops.rnn_tensors(case).inputs()
    _check(case)
    for name in ("input", "input_h", "input_c", "params", "sequence_lengths"):
        wrong = tf.concat([tensors[name], tensors[name]], axis=-1)
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=name):
                ops.CudnnRNNV3(**{**tensors, name: wrong}, **case.spec.attrs())
        _check(case)


def test_threads_with_calls_of_other_shapes(rng):
    drawn = [_case(*sizes, rng) for sizes in CALLS]
    want = [tf_ops.rnn_forward(ops, case).output.numpy() for case in drawn]

    def run(k):
        return tf_ops.rnn_forward(ops, drawn[k % len(drawn)]).output.numpy()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for k, got in enumerate(pool.map(run, range(60))):
            np.testing.assert_array_equal(got, want[k % len(drawn)])


def test_what_a_caller_does_with_a_scalar_is_not_seen_by_the_next_call(rng):
    """Outputs that are zero whatever is computed are one tensor for all calls."""
    case = _case(*CALLS[0], rng)
    for _ in range(2):
        result = tf_ops.rnn_forward(ops, case, is_training=False)
        assert result.reserve_space.numpy() == 0
        assert result.host_reserved.numpy() == 0
        variable = tf.Variable(result.reserve_space)
        variable.assign_add(1)
        added = tf.raw_ops.Add(x=result.reserve_space, y=tf.ones([]))
        assert (variable.numpy(), added.numpy()) == (1, 1)
