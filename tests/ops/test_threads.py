"""How many threads a call keeps busy, read from what the kernel counts for each thread."""

import os
import pathlib
import time

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support.waiting import wait_for

# A problem whose rows are shared among threads, and calls enough for some tenths of a second.
T, B, SIZE = 50, 32, 256
CALLS = 20


def _seconds_of_threads():
    """Seconds that each thread of this process ran or waited for a CPU, by its number."""
    seconds = {}
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            ran, waited = (task / "schedstat").read_text().split()[:2]
        except FileNotFoundError:  # the thread has ended
            continue
        seconds[task.name] = (int(ran) + int(waited)) / 1e9
    return seconds


def _threads_at_work(run):
    """How many threads had work during run(), on average, whatever else the CPUs did."""
    run()
    before, begin = _seconds_of_threads(), time.perf_counter()
    run()
    wall, after = time.perf_counter() - begin, _seconds_of_threads()
    return sum(seconds - before.get(task, 0.0) for task, seconds in after.items()) / wall


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


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one CPU")
def test_a_large_call_uses_a_second_thread(call):
    assert wait_for(lambda: _threads_at_work(lambda: [call() for _ in range(CALLS)]) > 1.5)


def _elements(call, limit):
    """An iterator over elements of CALLS calls, one after the other."""

    def element(_):
        total = tf.constant(0.0)
        for _ in range(CALLS):
            with tf.control_dependencies([total]):
                total += tf.reduce_sum(call())
        return total

    options = tf.data.Options()
    options.autotune.enabled = False
    options.threading.max_intra_op_parallelism = limit
    return iter(tf.data.Dataset.range(2).repeat().map(element).with_options(options))


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one CPU")
def test_the_limit_of_tf_data_is_kept(call):
    two, one = _elements(call, 2), _elements(call, 1)
    assert wait_for(lambda: _threads_at_work(lambda: next(two)) > 1.5)
    # A call on two threads would come out near 2 in every try.
    assert wait_for(lambda: _threads_at_work(lambda: next(one)) < 1.5)
