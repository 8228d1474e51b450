"""Checks for a process with TF_ENABLE_ONEDNN_OPTS=0, see ops/test_large_tensors.py.

Large tensors live in blocks that are kept from call to call; nobody may notice but the clock.
"""

import concurrent.futures

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, layer_cases, layer_ops, tf_ops
from support.reference.block_lstm import FORWARD_NAMES
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

# Outputs and the gradient of x of 4.3 MB, reserve space of 21 MB.
STEPS, BATCH, UNITS = 130, 32, 256
LARGE = 4 << 20
HUGE_PAGE = 2 << 20


class Rnn:
    @staticmethod
    def case(rng):
        spec = RnnSpec("lstm", 1, UNITS, UNITS)
        return cases.rnn_case(spec, STEPS, BATCH, rng, "float32", "full")

    forward = staticmethod(tf_ops.rnn_forward)
    backward = staticmethod(tf_ops.rnn_backward)
    large = ("output", "reserve_space")


class Layer:
    @staticmethod
    def case(rng):
        shape = (STEPS, BATCH, UNITS, UNITS)
        return layer_cases.layer_case("gru", shape, rng, "float32")

    forward = staticmethod(layer_ops.forward)
    backward = staticmethod(layer_ops.backward)
    large = ("output", "reserve_space")


class Block:
    @staticmethod
    def case(rng):
        return cases.block_case(STEPS, BATCH, UNITS, UNITS, rng, "float32")

    forward = staticmethod(tf_ops.block_forward)
    backward = staticmethod(tf_ops.block_backward)
    large = FORWARD_NAMES


@pytest.fixture(params=[Rnn, Layer, Block])
def family(request):
    with tf.device("CPU:0"):
        yield request.param


def _view(tensor):
    """The memory of an eager tensor on the CPU, not a copy of it."""
    return np.asarray(memoryview(tensor))


def _copies(result):
    return {name: np.array(tensor) for name, tensor in result._asdict().items()}


def _assert_same(result, want):
    for name, array in _copies(result).items():
        np.testing.assert_array_equal(array, want[name], err_msg=name)


def test_results_held_at_the_same_time_do_not_share_memory(family, rng):
    first, second = family.case(rng), family.case(rng)
    held = family.forward(ops, first)
    want = _copies(held)
    want_grads = _copies(family.backward(ops, first, held))

    other = family.forward(ops, second)
    other_grads = family.backward(ops, second, other)
    views = [_view(t) for r in (held, other, other_grads) for t in r if _view(t).nbytes >= LARGE]
    assert len(views) >= 2 * len(family.large) + 1  # and a gradient
    for k, view in enumerate(views):
        assert not any(np.shares_memory(view, later) for later in views[k + 1 :])

    _assert_same(held, want)
    _assert_same(family.backward(ops, first, held), want_grads)
    again = family.forward(ops, first)
    _assert_same(again, want)
    _assert_same(family.backward(ops, first, again), want_grads)


def test_a_view_outlives_its_tensor(family, rng):
    first, second = family.case(rng), family.case(rng)
    held = family.forward(ops, first)
    want = _copies(held)
    views = {name: _view(getattr(held, name)) for name in family.large}
    del held
    family.backward(ops, second, family.forward(ops, second))
    for name, view in views.items():
        np.testing.assert_array_equal(view, want[name], err_msg=name)


def test_large_tensors_come_from_the_cache(family, rng):
    """Its blocks are aligned to huge pages; TensorFlow's are aligned to 64 bytes."""
    result = family.forward(ops, family.case(rng))
    for name in family.large:
        view = _view(getattr(result, name))
        assert view.nbytes >= LARGE
        assert view.ctypes.data % HUGE_PAGE == 0, name


def test_concurrent_calls(family, rng):
    problems = [family.case(rng) for _ in range(3)]

    def run(case):
        with tf.device("CPU:0"):
            result = family.forward(ops, case)
            return _copies(result), _copies(family.backward(ops, case, result))

    want = [run(case) for case in problems]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for got, expected in zip(pool.map(run, problems * 4), want * 4):
            for arrays, wanted in zip(got, expected):
                for name in wanted:
                    np.testing.assert_array_equal(arrays[name], wanted[name], err_msg=name)
