"""Runs one of CHECKS in this process, which a fault would end: python -m ops.unusual_tensors NAME."""

import sys
import threading

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.grappler import tf_optimizer

import tf_rnn_ops

ops = tf_rnn_ops.raw_ops


def _block_inputs(steps=3, batch=2, input_size=3, units=2):
    rng = np.random.default_rng(0)

    def normal(*shape):
        return tf.constant(rng.normal(size=shape), tf.float32)

    return dict(
        x=normal(steps, batch, input_size),
        cs_prev=normal(batch, units),
        h_prev=normal(batch, units),
        w=normal(input_size + units, 4 * units),
        wci=normal(units),
        wcf=normal(units),
        wco=normal(units),
        b=normal(4 * units),
    )


def _constant_of_unknown_shape(value):
    """TensorFlow folds it while the graph is built, without knowing its shape first."""
    text = tf.io.serialize_tensor(tf.constant(value, tf.int64)).numpy()
    return lambda: tf.io.parse_tensor(tf.constant(text), tf.int64)


def constants_of_unknown_shape():
    arguments = _block_inputs()
    result = ops.BlockLSTMV2(seq_len_max=3, **arguments)
    gradients = dict(cs_grad=result.cs, h_grad=result.h)
    for value in ([2, 3], [], [3]):
        length = _constant_of_unknown_shape(value)
        for name, more in (
            ("BlockLSTMV2", {}),
            ("BlockLSTMGradV2", {**result._asdict(), **gradients}),
        ):
            inputs = {**arguments, **more}
            if name == "BlockLSTMGradV2":
                inputs["use_peephole"] = False
            try:
                tf.function(
                    lambda n=name, i=inputs, v=length: getattr(ops, n)(seq_len_max=v(), **i)
                )()
            except (ValueError, tf.errors.InvalidArgumentError) as error:
                assert "seq_len_max must be a scalar" in str(error), error
            else:
                raise AssertionError(f"{name} took seq_len_max={value}")
    length = _constant_of_unknown_shape(3)
    whole = tf.function(lambda: ops.BlockLSTMV2(seq_len_max=length(), **arguments))()
    np.testing.assert_array_equal(whole.h, result.h)


def _fold(build):
    with tf.Graph().as_default() as graph:
        output = tf.identity(build(), name="output")
        meta = tf.compat.v1.train.export_meta_graph(graph=graph)
    meta.collection_def["train_op"].node_list.value.append(output.op.name)
    config = config_pb2.ConfigProto()
    rewrite = config.graph_options.rewrite_options
    rewrite.optimizers.append("constfold")
    rewrite.min_graph_nodes = -1
    return tf_optimizer.OptimizeGraph(config, meta)


def folding_without_a_device():
    """Grappler evaluates nodes of constants on a device that lacks most of what devices have."""
    size = 512  # so that large memory is asked for
    block = _block_inputs(8, 1, size, size)
    zeros = {name: np.zeros(value.shape, np.float32) for name, value in block.items()}
    folded = _fold(lambda: ops.BlockLSTMV2(seq_len_max=np.int64(8), **zeros).h)
    assert folded.node
    state = np.zeros((1, size), np.float32)
    folded = _fold(
        lambda: (
            ops.LayerRNN(
                input=np.zeros((8, 1, size), np.float32),
                input_h=state,
                input_c=state,
                kernel=np.zeros((size, 4 * size), np.float32),
                recurrent_kernel=np.zeros((size, 4 * size), np.float32),
                bias=np.zeros(4 * size, np.float32),
                rnn_mode="lstm",
                is_training=False,
            ).output
        )
    )
    assert folded.node


def _unaligned(value, dtype):
    """A scalar tensor without a copy, one element behind where TensorFlow would align it."""
    count = 64 // np.dtype(dtype).itemsize
    memory = np.zeros(3 * count, dtype)
    first = (-memory.ctypes.data // memory.itemsize) % count + 1
    memory[first] = value
    view = memory[first : first + 1].reshape(())
    assert view.ctypes.data % 64 == np.dtype(dtype).itemsize
    tensor = tf.experimental.dlpack.from_dlpack(view.__dlpack__())
    return tensor, memory


def unaligned_scalars():
    arguments = _block_inputs()
    length, kept = _unaligned(2, np.int64)
    got = ops.BlockLSTMV2(seq_len_max=length, **arguments)
    want = ops.BlockLSTMV2(seq_len_max=2, **arguments)
    np.testing.assert_array_equal(got.h, want.h)
    sizes = {"num_layers": 2, "num_units": 3, "input_size": 4}
    scalars = {name: _unaligned(value, np.int32) for name, value in sizes.items()}
    got = ops.CudnnRNNParamsSize(
        T=tf.float32, S=tf.int64, **{name: scalar for name, (scalar, _) in scalars.items()}
    )
    want = ops.CudnnRNNParamsSize(T=tf.float32, S=tf.int64, **sizes)
    assert int(got[0] if got.shape.rank else got) == int(want[0] if want.shape.rank else want)
    del kept


def small_stack():
    """Gradients in a thread whose stack has 256 KiB, in which TensorFlow's own layers can train."""
    outcome = []

    def work():
        x = tf.ones((50, 32, 64))
        state = tf.zeros((1, 32, 64))
        params = tf.ones((4 * 64 * 128 + 8 * 64,)) * 0.01
        with tf.GradientTape() as tape:
            tape.watch([x, params])
            y = ops.CudnnRNNV3(
                input=x, input_h=state, input_c=state, params=params, sequence_lengths=[50] * 32
            ).output
        outcome.append([bool(np.isfinite(g.numpy()).all()) for g in tape.gradient(y, [x, params])])

    work()  # what TensorFlow does only once needs more
    threading.stack_size(256 * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert outcome == [[True, True]] * 2, outcome


CHECKS = {
    check.__name__: check
    for check in (
        constants_of_unknown_shape,
        folding_without_a_device,
        unaligned_scalars,
        small_stack,
    )
}

if __name__ == "__main__":
    CHECKS[sys.argv[1]]()
