"""Calls of the ops of either `tf_rnn_ops.raw_ops` or `tf.raw_ops` on the cases of cases.py."""

import dataclasses

import numpy as np
import tensorflow as tf

from support.reference.block_lstm import FORWARD_NAMES, GRAD_NAMES


def _swap(array):
    return np.swapaxes(array, 0, 1)


def constant(array, dtype):
    """A tensor of `dtype` from float64 values (through float32 where numpy has no such type)."""
    return tf.cast(tf.constant(np.asarray(array, np.float64)), tf.as_dtype(dtype))


def to_float64(tensor):
    return tf.cast(tensor, tf.float64).numpy()


@dataclasses.dataclass
class RnnTensors:
    """The inputs of CudnnRNNV3 and the upstream gradients, in the layout that the op is given."""

    input: tf.Tensor
    input_h: tf.Tensor
    input_c: tf.Tensor
    params: tf.Tensor
    sequence_lengths: tf.Tensor
    dy: tf.Tensor
    dh: tf.Tensor
    dc: tf.Tensor

    def inputs(self):
        """The five inputs as keyword arguments of CudnnRNNV3."""
        names = ("input", "input_h", "input_c", "params", "sequence_lengths")
        return {name: getattr(self, name) for name in names}


def rnn_tensors(case, time_major=True):
    swap = (lambda a: a) if time_major else _swap
    lstm = case.spec.is_lstm

    def make(array):
        return constant(swap(array), case.dtype)

    return RnnTensors(
        input=make(case.x),
        input_h=make(case.h0),
        input_c=make(case.c0) if lstm else constant(0.0, case.dtype),
        params=constant(case.params, case.dtype),
        sequence_lengths=tf.constant(case.lengths, tf.int32),
        dy=make(case.dy),
        dh=make(case.dh),
        dc=make(case.dc) if lstm else constant(0.0, case.dtype),
    )


def rnn_forward(ops, case, time_major=True, is_training=True, **attrs):
    """Runs CudnnRNNV3; returns its result."""
    tensors = rnn_tensors(case, time_major)
    return ops.CudnnRNNV3(
        **tensors.inputs(),
        **case.spec.attrs(),
        time_major=time_major,
        is_training=is_training,
        **attrs,
    )


def rnn_backward(ops, case, result, time_major=True, **attrs):
    """Runs CudnnRNNBackpropV3 on the result of rnn_forward."""
    tensors = rnn_tensors(case, time_major)
    return rnn_backward_of(ops, case, result, tensors, time_major=time_major, **attrs)


def rnn_backward_of(ops, case, result, tensors, **attrs):
    """Runs CudnnRNNBackpropV3 on the result of CudnnRNNV3 for the same RnnTensors."""
    return ops.CudnnRNNBackpropV3(
        **tensors.inputs(),
        output=result.output,
        output_h=result.output_h,
        output_c=result.output_c,
        output_backprop=tensors.dy,
        output_h_backprop=tensors.dh,
        output_c_backprop=tensors.dc,
        reserve_space=result.reserve_space,
        host_reserved=result.host_reserved,
        **case.spec.attrs(),
        **attrs,
    )


def rnn_arrays(case, result, grads=None, time_major=True):
    """Outputs and gradients as a dict of time-major float64 arrays; states of an LSTM only."""
    swap = (lambda a: a) if time_major else _swap
    arrays = {
        "output": swap(to_float64(result.output)),
        "output_h": swap(to_float64(result.output_h)),
    }
    if case.spec.is_lstm:
        arrays["output_c"] = swap(to_float64(result.output_c))
    if grads is not None:
        arrays["input_backprop"] = swap(to_float64(grads.input_backprop))
        arrays["input_h_backprop"] = swap(to_float64(grads.input_h_backprop))
        if case.spec.is_lstm:
            arrays["input_c_backprop"] = swap(to_float64(grads.input_c_backprop))
        arrays["params_backprop"] = to_float64(grads.params_backprop)
    return arrays


def rnn_reference_arrays(case, fwd, bwd=None):
    """The reference's results under the names of rnn_arrays."""
    arrays = {"output": fwd.output, "output_h": fwd.output_h}
    if case.spec.is_lstm:
        arrays["output_c"] = fwd.output_c
    if bwd is not None:
        arrays["input_backprop"] = bwd.input
        arrays["input_h_backprop"] = bwd.input_h
        if case.spec.is_lstm:
            arrays["input_c_backprop"] = bwd.input_c
        arrays["params_backprop"] = bwd.params
    return arrays


def block_tensors(case):
    """The inputs of BlockLSTMV2 as keyword arguments."""
    tensors = {n: constant(getattr(case.inputs, n), case.dtype) for n in GRAD_NAMES}
    return {"seq_len_max": tf.constant(case.seq_len_max, tf.int64), **tensors}


def block_forward(ops, case):
    return ops.BlockLSTMV2(
        **block_tensors(case), cell_clip=case.cell_clip, use_peephole=case.use_peephole
    )


def block_backward(ops, case, result):
    return ops.BlockLSTMGradV2(
        **block_tensors(case),
        **{name: getattr(result, name) for name in FORWARD_NAMES},
        cs_grad=constant(case.cs_grad, case.dtype),
        h_grad=constant(case.h_grad, case.dtype),
        use_peephole=case.use_peephole,
    )


def block_arrays(result, grads=None):
    arrays = {name: to_float64(getattr(result, name)) for name in FORWARD_NAMES}
    if grads is not None:
        for name in GRAD_NAMES:
            arrays[f"{name}_grad"] = to_float64(getattr(grads, f"{name}_grad"))
    return arrays


def block_reference_arrays(out, grads=None):
    arrays = dict(out)
    if grads is not None:
        arrays.update({f"{name}_grad": value for name, value in grads.items()})
    return arrays
