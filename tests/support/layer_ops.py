"""Calls of raw_ops.LayerRNN and its gradient on the cases of layer_cases.py."""

import numpy as np
import tensorflow as tf

from support.tf_ops import constant, to_float64

INPUTS = {
    "input": "x",
    "input_h": "h0",
    "input_c": "c0",
    "kernel": "kernel",
    "recurrent_kernel": "recurrent_kernel",
    "bias": "bias",
    "projection": "projection",
    "peepholes": "peepholes",
    "layer_norm": "layer_norm",
    "sequence_lengths": "lengths",
    "input_mask": "input_mask",
    "recurrent_mask": "recurrent_mask",
    "seed": "seed",
}
_TYPES = {"sequence_lengths": "int32", "seed": "int64"}
DIFFERENTIABLE = tuple(INPUTS)[:9]
OPTIONAL_WEIGHTS = ("bias", "projection", "peepholes", "layer_norm")
_SEQUENCES = ("input", "output", "input_backprop")


def _swap(array, time_major):
    return array if time_major else np.swapaxes(array, 0, 1)


def tensors(case, time_major=True):
    """All inputs as keyword arguments of LayerRNN; vectors of 0 where one is not given."""
    found = {}
    for name, field in INPUTS.items():
        value = getattr(case.inputs, field)
        dtype = _TYPES.get(name, case.dtype)
        if name == "input_c" and not case.is_lstm:
            value = 0.0
        elif value is None:
            value = np.zeros(0)
        elif name == "input":
            value = _swap(value, time_major)
        found[name] = constant(value, dtype)
    return found


def upstream(case, time_major=True):
    """Gradients of output, output_h and output_c."""
    dc = case.dc if case.is_lstm else 0.0
    return [constant(a, case.dtype) for a in (_swap(case.dy, time_major), case.dh, dc)]


def forward(ops, case, time_major=True, **attrs):
    return ops.LayerRNN(**tensors(case, time_major), **case.attrs(), time_major=time_major, **attrs)


def backward(ops, case, result, time_major=True):
    names = ("output_backprop", "output_h_backprop", "output_c_backprop")
    return ops.LayerRNNBackprop(
        **tensors(case, time_major),
        **result._asdict(),
        **dict(zip(names, upstream(case, time_major))),
        **case.attrs(),
        time_major=time_major,
    )


def arrays(case, results, time_major=True):
    """A dict of tensors as time-major float64 arrays, without what the case does not have."""
    found = {}
    for name, tensor in results.items():
        if name == "reserve_space" or ("_c" in name and not case.is_lstm):
            continue
        weight = name.removesuffix("_backprop")
        if weight in OPTIONAL_WEIGHTS and getattr(case.inputs, weight) is None:
            assert tf.as_dtype(tensor.dtype).name == case.dtype and tensor.shape == [0]
            continue
        array = to_float64(tensor)
        found[name] = _swap(array, time_major) if name in _SEQUENCES else array
    return found


def run(ops, case, time_major=True):
    """Forward and backward: arrays under the names of LayerCase.reference()."""
    result = forward(ops, case, time_major)
    grads = backward(ops, case, result, time_major)
    return arrays(case, {**result._asdict(), **grads._asdict()}, time_major)


def calls(ops, case, time_major=True):
    """Valid calls of the two ops for one float32 case; see support/calls.py."""
    from support.calls import Call

    inputs = {name: tensor.numpy() for name, tensor in tensors(case, time_major).items()}
    attrs = {**case.attrs(), "time_major": time_major}
    result = ops.LayerRNN(**inputs, **attrs)
    names = ("output_backprop", "output_h_backprop", "output_c_backprop")
    gradients = {name: t.numpy() for name, t in zip(names, upstream(case, time_major))}
    outputs = {name: t.numpy() for name, t in result._asdict().items()}
    return [
        Call("LayerRNN", inputs, {**attrs, "is_training": True}),
        Call("LayerRNNBackprop", {**inputs, **outputs, **gradients}, attrs),
    ]
