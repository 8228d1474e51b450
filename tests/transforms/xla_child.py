"""Child process: what needs a process of its own under XLA.

Usage: python -m transforms.xla_child late|clusters|sizes|one_thread|stock
"""

import os
import sys

OURS = "TfRnnOps>LayerRNN"


def layer_call(tf, ops):
    return ops.LayerRNN(
        input=tf.ones([5, 4, 3]),
        input_h=tf.zeros([4, 6]),
        input_c=tf.zeros([4, 6]),
        kernel=tf.fill([3, 24], 0.1),
        recurrent_kernel=tf.fill([6, 24], 0.2),
        bias=tf.fill([24], 0.3),
    ).output


def late():
    """The package is imported after the first compilation of the process."""
    import tensorflow as tf

    assert tf.function(lambda x: x + 1, jit_compile=True)(1) == 2
    import tf_rnn_ops

    run = lambda: layer_call(tf, tf_rnn_ops.raw_ops)  # noqa: E731
    assert (tf.function(run, jit_compile=True)() == run()).numpy().all()


def clusters():
    """TensorFlow chooses what to compile (TF_XLA_FLAGS), forward and backward in clusters."""
    import tensorflow as tf
    from tensorflow.python.eager import context

    import tf_rnn_ops

    context.enable_graph_collection()
    x = tf.random.stateless_normal([5, 4, 3], [1, 2])

    def step(x, kernel):
        with tf.GradientTape() as tape:
            tape.watch(kernel)
            result = tf_rnn_ops.raw_ops.LayerRNN(
                input=tf.sin(x) * 2,
                input_h=tf.zeros([4, 6]),
                input_c=tf.zeros([4, 6]),
                kernel=kernel,
                recurrent_kernel=tf.fill([6, 24], 0.2),
                sequence_lengths=[5, 3, 0, 2],
            )
            loss = tf.reduce_sum(tf.tanh(result.output) * 3)
        return loss, tape.gradient(loss, kernel)

    kernel = tf.fill([3, 24], 0.1)
    function = tf.function(step)
    for _ in range(3):  # the first calls are not compiled
        for got, want in zip(function(x, kernel), step(x, kernel), strict=True):
            tf.debugging.assert_near(got, want, rtol=1e-5, atol=1e-5)

    def types(graph):
        return {node.op for node in graph.node}

    chosen = [
        types(graphs.post_optimization_graph)
        for graphs in context.export_run_metadata().function_graphs
        if {OURS, OURS + "Backprop"} <= types(graphs.pre_optimization_graph)
    ]
    assert chosen and all("_XlaRun" in ops and OURS not in ops for ops in chosen), chosen


def sizes():
    """TensorFlow chooses to compile a call whose sizes are computed, which runs without XLA then."""
    import tensorflow as tf

    import tf_rnn_ops

    def size(inputs):
        found = tf_rnn_ops.raw_ops.CudnnRNNParamsSize(
            num_layers=1, num_units=3, input_size=inputs + 1, T=tf.float32, S=tf.int32
        )
        return found + 1

    function = tf.function(size)
    for _ in range(3):  # the first calls are not compiled
        assert function(tf.constant(1)) == 4 * 3 * (2 + 3 + 2) + 1


def one_thread():
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    import tf_rnn_ops

    run = lambda: layer_call(tf, tf_rnn_ops.raw_ops)  # noqa: E731
    assert (tf.function(run, jit_compile=True)() == run()).numpy().all()


def stock():
    """TensorFlow's own ops, of every version."""
    import numpy as np
    import tensorflow as tf

    sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir, "ops", "stock"))
    import stock_calls

    import tf_rnn_ops
    from support import calls
    from support.reference.spec import RnnSpec
    from transforms.test_xla import assert_same_bits, run_compiled

    tf_rnn_ops.enable_stock_ops()
    rng = np.random.default_rng(3)
    spec = RnnSpec("lstm", 2, 6, 4, "bidirectional")
    rnn = stock_calls.full_length_calls(tf_rnn_ops.raw_ops, spec, 5, 3, rng)
    params = calls.params_calls(spec, rng)
    every = rnn + [stock_calls.as_version(call, v) for call in rnn for v in (1, 2)]
    every += params + [stock_calls.as_first_canonical(call) for call in params[1:]]
    for call in every:
        want = calls.run_eagerly(tf.raw_ops, call)
        assert_same_bits(run_compiled(call, tf.raw_ops), want)
    assert {call.op for call in every} == set(stock_calls.NAMES)


if __name__ == "__main__":
    found = {f.__name__: f for f in (late, clusters, sizes, one_thread, stock)}
    found[sys.argv[1]]()
