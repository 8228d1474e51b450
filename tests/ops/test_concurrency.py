"""One kernel object used by many threads at once."""

import concurrent.futures

import numpy as np
import tensorflow as tf

import tf_rnn_ops
from support import cases, tf_ops
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

CALLS = 32
THREADS = 6


def _at_once(function):
    """The results of CALLS calls made by THREADS threads."""
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(function) for _ in range(CALLS)]
        return [future.result() for future in futures]


def test_results_and_gradients_equal_serial_ones(rng):
    rnn = cases.rnn_case(RnnSpec("lstm", 2, 40, 24, "bidirectional"), 12, 9, rng, "float32")
    block = cases.block_case(12, 9, 24, 40, rng, "float32", use_peephole=True)

    def run():
        result = tf_ops.rnn_forward(ops, rnn)
        arrays = tf_ops.rnn_arrays(rnn, result, tf_ops.rnn_backward(ops, rnn, result))
        result = tf_ops.block_forward(ops, block)
        arrays.update(tf_ops.block_arrays(result, tf_ops.block_backward(ops, block, result)))
        return arrays

    want = run()
    for got in _at_once(run):
        for name in want:
            np.testing.assert_array_equal(got[name], want[name], err_msg=name)


def test_every_concurrent_call_draws_its_own_dropout_mask(rng):
    case = cases.rnn_case(RnnSpec("gru", 2, 8, 8), 4, 3, rng, "float32")
    tensors = tf_ops.rnn_tensors(case).inputs()

    def fresh():
        @tf.function
        def run():
            return ops.CudnnRNNV3(**tensors, **case.spec.attrs(), dropout=0.5, seed=8).output

        run.get_concrete_function()
        return lambda: run().numpy().tobytes()

    serial = fresh()
    want = [serial() for _ in range(CALLS)]
    assert len(set(want)) == CALLS
    assert sorted(_at_once(fresh())) == sorted(want)
