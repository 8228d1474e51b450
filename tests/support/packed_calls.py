"""The calls of other files with weights packed before."""

from support.calls import Call

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
