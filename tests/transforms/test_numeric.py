"""Registered gradients against central differences through the forward op, float64, every input."""

import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, tf_ops
from support.central_differences import assert_gradients
from support.reference.block_lstm import GRAD_NAMES
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

RNN_SPECS = [
    RnnSpec("lstm", 1, 3, 2),
    RnnSpec("lstm", 2, 3, 2, "bidirectional"),
    RnnSpec("lstm", 2, 3, 3, "bidirectional", "skip_input", 2),
    RnnSpec("gru", 1, 3, 2),
    RnnSpec("gru", 2, 3, 3, "bidirectional", "auto_select"),
    RnnSpec("rnn_tanh", 2, 3, 2, "bidirectional"),
    RnnSpec("rnn_relu", 2, 3, 2, "bidirectional"),
]


@pytest.mark.each_value
@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("spec", RNN_SPECS, ids=str)
def test_cudnn_rnn(spec, time_major, is_training, rng):
    case = cases.rnn_case(spec, 3, 3, rng, lengths=[3, 0, 2])
    tensors = tf_ops.rnn_tensors(case, time_major)
    values = {n: t for n, t in tensors.inputs().items() if n != "sequence_lengths"}
    if not spec.is_lstm:
        del values["input_c"]

    def loss(values):
        inputs = {**tensors.inputs(), **values}
        result = ops.CudnnRNNV3(
            **inputs, **spec.attrs(), time_major=time_major, is_training=is_training
        )
        return (
            tf.reduce_sum(result.output * tensors.dy)
            + tf.reduce_sum(result.output_h * tensors.dh)
            + tf.reduce_sum(result.output_c * tensors.dc)
        )

    assert_gradients(loss, values)


@pytest.mark.parametrize("seq_len_max", [4, 2, 0])
@pytest.mark.parametrize("use_peephole", [False, True])
def test_block_lstm(use_peephole, seq_len_max, rng):
    case = cases.block_case(4, 2, 3, 3, rng, seq_len_max=seq_len_max, use_peephole=use_peephole)
    values = tf_ops.block_tensors(case)
    length = values.pop("seq_len_max")
    assert set(values) == set(GRAD_NAMES)

    def loss(values):
        result = ops.BlockLSTMV2(seq_len_max=length, **values, use_peephole=use_peephole)
        return tf.reduce_sum(result.cs * case.cs_grad) + tf.reduce_sum(result.h * case.h_grad)

    assert_gradients(loss, values)


def test_inactive_clip_does_not_change_gradients(rng):
    """cell_clip above every |c|: the gradient, which ignores the clip, is exact."""
    case = cases.block_case(3, 2, 2, 3, rng, cell_clip=100.0, use_peephole=True)
    values = tf_ops.block_tensors(case)
    length = values.pop("seq_len_max")

    def loss(values):
        result = ops.BlockLSTMV2(seq_len_max=length, **values, use_peephole=True, cell_clip=100.0)
        return tf.reduce_sum(result.cs * case.cs_grad) + tf.reduce_sum(result.h * case.h_grad)

    assert_gradients(loss, values)
