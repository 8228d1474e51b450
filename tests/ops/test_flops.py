"""Operation counts of the ops in TensorFlow's profiler, against products counted by hand."""

import keras
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from tf_rnn_ops import raw_ops

PROFILER = tf.compat.v1.profiler
B, T, IN, H = 8, 50, 16, 4


def flops(function, *shapes):
    """The profiler's count for a function of tensors of these shapes."""
    specs = [tf.TensorSpec(shape) for shape in shapes]
    graph = tf.function(function).get_concrete_function(*specs).graph
    options = {**PROFILER.ProfileOptionBuilder.float_operation(), "output": "none"}
    node, count = PROFILER.profile(graph, options=options, cmd="op"), 0
    while node.children:  # a chain, one for each type of op
        (node,) = node.children
        count += node.float_ops if node.name.startswith(("TfRnnOps>", "CudnnRNN")) else 0
    return count


def products(*matrices):
    """Two operations for each element of the matrices, row and step."""
    return 2 * B * T * sum(rows * columns for rows, columns in matrices)


LAYERS = {
    "LSTM": ([(IN, 4 * H), (H, 4 * H)], lambda: tf_rnn_ops.keras.LSTM(H)),
    "GRU": ([(IN, 3 * H), (H, 3 * H)], lambda: tf_rnn_ops.keras.GRU(H)),
    "ProjectedLSTM": (
        [(IN, 4 * H), (2, 4 * H), (H, 2)],
        lambda: tf_rnn_ops.keras.ProjectedLSTM(H, num_proj=2),
    ),
    "PeepholeLSTM": ([(IN + H, 4 * H)], lambda: tf_rnn_ops.keras.PeepholeLSTM(H)),
    "CudnnGRU": (
        [(IN + H, 3 * H), (2 * H + H, 3 * H)] * 2,
        lambda: tf_rnn_ops.keras.CudnnGRU(H, num_layers=2, direction="bidirectional"),
    ),
    "CudnnLSTM": (
        [(IN + 2, 4 * H), (H, 2)],
        lambda: tf_rnn_ops.keras.CudnnLSTM(H, num_proj=2),
    ),
    "CudnnRNNTanh": (
        [(IN + H, H), (H + H, H)],
        lambda: tf_rnn_ops.keras.CudnnRNNTanh(H, num_layers=2, dropout=0.5),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    matrices, make = LAYERS[name]
    layer = make()
    layer.build((B, T, IN))

    def backward(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, training=True)
        return tape.gradient(y, [x, *[v.value for v in layer.trainable_variables]])

    assert flops(lambda x: layer(x, training=False), (B, T, IN)) == products(*matrices)
    assert flops(backward, (B, T, IN)) == 3 * products(*matrices)


def test_batch_first():
    def run(x, h):
        result = raw_ops.CudnnRNNV3(
            input=x, input_h=h, input_c=h, params=tf.zeros([4 * H * (IN + H + 2)]), time_major=False,
            sequence_lengths=tf.fill([B], T),
        )  # fmt: skip
        return result.output

    assert flops(run, (B, T, IN), (B, 1, H)) == products((IN + H, 4 * H))


def test_ops_of_tensorflow():
    def run(x, h):
        params = tf.zeros([4 * H * (IN + H + 2)])
        return tf.raw_ops.CudnnRNN(input=x, input_h=h, input_c=h, params=params).output

    assert flops(run, (T, B, IN), (1, B, H)) == products((IN + H, 4 * H))


def test_sizes_that_only_a_run_tells():
    layer = tf_rnn_ops.keras.LSTM(H)
    layer.build((B, T, IN))
    assert flops(lambda x: layer(x, training=False), (None, T, IN)) == 0
    assert flops(keras.layers.Dense(2), (None, IN)) == 0
