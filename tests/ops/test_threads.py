"""How many threads work in a call."""

import os

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support.busy_threads import busy_threads
from support.waiting import wait_for

# A call of some tenths of a second, whose rows are shared among threads.
T, B, SIZE = 1000, 32, 256

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one CPU")


@pytest.fixture
def call():
    rng = np.random.default_rng(0)

    def normal(*shape):
        return tf.constant(rng.normal(size=shape) * 0.05, tf.float32)

    kernel, recurrent = normal(SIZE, 4 * SIZE), normal(SIZE, 4 * SIZE)
    x, state = normal(T, B, SIZE), tf.zeros([B, SIZE])
    return lambda: (
        tf_rnn_ops.raw_ops.LayerRNN(
            input=x,
            input_h=state,
            input_c=state,
            kernel=kernel,
            recurrent_kernel=recurrent,
            is_training=False,
        ).output
    )


def test_a_large_call_uses_a_second_thread(call):
    assert wait_for(lambda: busy_threads(call) == 2)


def _elements(call, limit):
    """An iterator over elements of a call each."""

    def element(_):
        return tf.reduce_sum(call())

    options = tf.data.Options()
    options.autotune.enabled = False
    options.threading.max_intra_op_parallelism = limit
    dataset = tf.data.Dataset.range(2).repeat().map(element)
    return iter(dataset.with_options(options))


def test_the_limit_of_tf_data_is_kept(call):
    two, one = _elements(call, 2), _elements(call, 1)
    assert wait_for(lambda: busy_threads(lambda: next(two)) == 2)
    assert busy_threads(lambda: next(one)) == 1
