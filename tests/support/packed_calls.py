"""The calls of other files with weights packed before, and with int8 weights."""

import numpy as np

from support.calls import Call
from support.reference import quantized

TRAINING = ("input_mask", "recurrent_mask", "seed")
PACKED_WEIGHTS = ("kernel", "recurrent_kernel", "bias", "projection")


def _pack_attrs(spec):
    sizes = {"num_layers": spec.layers, "num_units": spec.units, "input_size": spec.input_size}
    return {**sizes, **spec.attrs()}


def pack_params(ops, spec, params, **attrs):
    """PackCudnnRNNParams for a reference.spec.RnnSpec."""
    return ops.PackCudnnRNNParams(params=params, **_pack_attrs(spec), **attrs)


def packing_of_rnn(spec, call):
    """PackCudnnRNNParams for a Call of CudnnRNNV3."""
    return Call("PackCudnnRNNParams", {"params": call.tensors["params"]}, _pack_attrs(spec))


def packing_of_layer(call):
    """PackLayerRNN for a Call of LayerRNN."""
    weights = {n: call.tensors[n] for n in PACKED_WEIGHTS}
    return Call("PackLayerRNN", weights, {"rnn_mode": call.attrs["rnn_mode"]})


def of_rnn(ops, spec, call):
    """CudnnRNNV3Packed for a Call of CudnnRNNV3."""
    packed = pack_params(ops, spec, call.tensors["params"]).numpy()
    attrs = {n: v for n, v in call.attrs.items() if n not in ("dropout", "is_training")}
    return Call("CudnnRNNV3Packed", {**call.tensors, "packed": packed}, attrs)


def of_layer(ops, call):
    """LayerRNNPacked for a Call of LayerRNN, without its masks and seed."""
    tensors = {n: t for n, t in call.tensors.items() if n not in TRAINING}
    weights = {n: tensors[n] for n in PACKED_WEIGHTS}
    packed = ops.PackLayerRNN(**weights, rnn_mode=call.attrs["rnn_mode"]).numpy()
    attrs = {n: v for n, v in call.attrs.items() if n != "is_training"}
    return Call("LayerRNNPacked", {**tensors, "packed": packed}, attrs)


def of_quantized(ops, case, time_major=True):
    """QuantizedLayerRNN and PackQuantizedLayerRNN for a QuantizedCase."""
    tensors = {**case.tensors(time_major), "packed": case.pack(ops).numpy()}
    return [
        Call("QuantizedLayerRNN", tensors, case.attrs(time_major)),
        Call("PackQuantizedLayerRNN", case.weights(), {"rnn_mode": case.rnn_mode}),
    ]


def quantized_layer(ops, call):
    """QuantizedLayerRNN and PackQuantizedLayerRNN for a Call of LayerRNN without masks and peepholes."""
    weights = {"bias": call.tensors["bias"]}
    for name in ("kernel", "recurrent_kernel", "projection"):
        matrix, scale = call.tensors[name], np.zeros(0)
        if matrix.size:
            matrix, scale = quantized.quantized_columns(matrix)
        weights[name], weights[f"{name}_scale"] = matrix.astype(np.int8), scale.astype(np.float32)
    mode = {"rnn_mode": call.attrs["rnn_mode"]}
    names = ("input", "input_h", "input_c", "sequence_lengths")
    tensors = {**{n: call.tensors[n] for n in names}, **weights}
    tensors["packed"] = ops.PackQuantizedLayerRNN(**weights, **mode).numpy()
    attrs = {n: call.attrs[n] for n in ("activation", "recurrent_activation", "time_major")}
    return [
        Call("QuantizedLayerRNN", tensors, {**mode, **attrs}),
        Call("PackQuantizedLayerRNN", weights, mode),
    ]
