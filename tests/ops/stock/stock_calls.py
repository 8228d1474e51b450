"""Calls of TensorFlow's own CudnnRNN ops, of any version, from calls of the third."""

import numpy as np

from support import calls
from support.calls import Call

NAMES = (
    "CudnnRNN",
    "CudnnRNNV2",
    "CudnnRNNV3",
    "CudnnRNNBackprop",
    "CudnnRNNBackpropV2",
    "CudnnRNNBackpropV3",
    "CudnnRNNParamsSize",
    "CudnnRNNCanonicalToParams",
    "CudnnRNNCanonicalToParamsV2",
    "CudnnRNNParamsToCanonical",
    "CudnnRNNParamsToCanonicalV2",
)


def full_length_calls(ops, spec, steps, batch, rng):
    """The forward and backward call of V3 with every row of full length, time-major, float32."""
    _, forward, backward = calls.rnn_calls(ops, spec, steps, batch, rng)  # not the stateless op
    forward = forward.with_tensor("sequence_lengths", np.full(batch, steps, np.int32))
    result = calls.run_eagerly(ops, forward)
    backward = backward.copy()
    backward.tensors["sequence_lengths"] = forward.tensors["sequence_lengths"]
    for name in ("output", "output_h", "output_c", "reserve_space"):
        backward.tensors[name] = np.asarray(getattr(result, name))
    return [forward, backward]


def as_version(call, version):
    """The same call of CudnnRNN[Backprop] (1) or V2 (2), for a call of V3 that they can express."""
    tensors, attrs = dict(call.tensors), dict(call.attrs)
    del tensors["sequence_lengths"], attrs["num_proj"], attrs["time_major"]
    if "host_reserved" in tensors:
        if version == 1:
            del tensors["host_reserved"]
        else:
            tensors["host_reserved"] = np.zeros(2, np.int8)
    return Call(call.op.removesuffix("V3") + ("V2" if version == 2 else ""), tensors, attrs)


def as_first_canonical(call):
    """The same call of the first version, which has one count and no projection."""
    attrs = dict(call.attrs)
    del attrs["num_proj"]
    if "num_params_weights" in attrs:
        attrs["num_params"] = attrs.pop("num_params_weights")
        del attrs["num_params_biases"]
    return Call(call.op.removesuffix("V2"), dict(call.tensors), attrs)
