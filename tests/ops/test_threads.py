"""How many threads a call keeps busy, read from what the kernel counts for each thread."""

import os
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops

# A problem whose rows are shared among threads, and calls enough for some tenths of a second.
T, B, SIZE = 50, 32, 256
CALLS = 20


def _seconds_of_threads():
    """CPU seconds of each thread of this process, by its number."""
    seconds = {}
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            seconds[task.name] = int((task / "schedstat").read_text().split()[0]) / 1e9
        except FileNotFoundError:  # the thread has ended
            continue
    return seconds


def _share_of_second_thread(run):
    """What the second busiest thread worked during run(), over what the busiest did."""
    run()
    before = _seconds_of_threads()
    run()
    after = _seconds_of_threads()
    worked = sorted(value - before.get(task, 0.0) for task, value in after.items())
    return worked[-2] / worked[-1]


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
    assert _share_of_second_thread(lambda: [call() for _ in range(CALLS)]) > 0.3


def test_the_limit_of_tf_data_is_kept(call):
    options = tf.data.Options()
    options.threading.max_intra_op_parallelism = 1
    options.threading.private_threadpool_size = 1
    options.autotune.enabled = False
    data = tf.data.Dataset.range(CALLS).map(lambda _: tf.reduce_sum(call())).with_options(options)
    assert _share_of_second_thread(lambda: list(data)) < 0.1
