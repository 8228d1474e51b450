"""Replaces recurrent ops by ordinary ops."""

from tf_rnn_ops._op_table import OPS, PREFIX, signature
from tf_rnn_ops.portable import _nodes, _sizes
from tf_rnn_ops.portable._decision import KEEP, Facts, Instead
from tf_rnn_ops.portable._dequantize import FORMER_OP

PACKED = tuple(
    f"{PREFIX}{op}" for op in ("CudnnRNNV3Packed", "LayerRNNPacked", "QuantizedLayerRNN")
)
"""Ops whose last input is packed weights."""
PACKING = tuple(f"{PREFIX}Pack{op}" for op in ("CudnnRNNParams", "LayerRNN", "QuantizedLayerRNN"))
"""Ops that pack weights."""
# Ops with one more input than the op that computes the same function.
_WITH_MORE = (*PACKED, f"{PREFIX}StatelessCudnnRNNV3")


def _stack(node, place, call):
    dropout = _nodes.attribute(node, "dropout", 0.0)
    if call["is_training"] and dropout > 0 and not place.inference:
        raise _nodes.CannotRewrite(
            f"it trains with dropout={dropout:g}, and ordinary ops would "
            "draw other random numbers; use inference=True (--inference) if the model is for inference"
        )
    layout = _sizes.layout_of(node, place.shapes, call["time_major"])
    return layout, lambda: place.stand_ins.plain_forward(layout, **call)


def _layer(node, place, call):
    # Also in training: the masks are input tensors, and the ops that draw them do not change.
    layer = _sizes.layer_of(node, place.shapes)
    return layer, lambda: place.stand_ins.plain_layer(layer, **call)


def _quantized_layer(node, place, call):
    layer = _sizes.layer_of(node, place.shapes)
    return layer, lambda: place.stand_ins.plain_quantized_layer(layer, **call)


def _block(node, place, call):
    units_and_size = _sizes.block_of(node, place.shapes)
    attrs = _nodes.attributes(node, signature("BlockLSTMV2").attrs)
    dtype, shapes = call["dtype"], call["shapes"]
    return None, lambda: place.stand_ins.plain_block(units_and_size, dtype, shapes, **attrs)


# {op: function that returns the network of a node (see Facts) and a function that makes its StandIn}.
_HOW = {
    **dict.fromkeys(("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"), _stack),
    **dict.fromkeys(("StatelessCudnnRNNV3", "CudnnRNNV3Packed"), _stack),
    **dict.fromkeys(("LayerRNN", "LayerRNNPacked"), _layer),
    "QuantizedLayerRNN": _quantized_layer,
    "BlockLSTMV2": _block,
}


def concerns(node):
    """Whether to_plain() replaces a node or raises an error with the reason."""
    if node.op.startswith(PREFIX):
        return node.op not in PACKING
    return node.op in OPS and node.op.startswith("CudnnRNN")


def to_plain(node, place):
    """Replaces a node of the _rewrite.Place by ordinary ops.

    Returns:
        A description of the replacement; KEEP if an exporter chose to keep the node.

    Raises:
        CannotRewrite: The node cannot be replaced.
        UnknownSize: The graph does not determine the sizes of the network.
    """
    op = OPS.get(node.op.removeprefix(PREFIX))
    if op is not None:
        _nodes.check(node)
    if node.name in place.read_by_gradients:
        raise _nodes.CannotRewrite(
            "a gradient that was kept reads its reserve space; to='tf_rnn_ops' replaces both"
        )
    how = _HOW.get(node.op.removeprefix(PREFIX))
    if how is None:
        raise _nodes.CannotRewrite(_why_not(op))
    refs = _nodes.data_inputs(node)
    more = node.op in _WITH_MORE
    last = len(refs) - more
    call = {
        "dtype": _nodes.dtype_of(node),
        "shapes": [place.shapes.of(ref) for ref in refs[:last]],
        "time_major": _nodes.attribute(node, "time_major", True),
        "is_training": node.op not in PACKED and _nodes.attribute(node, "is_training", True),
        "num_outputs": len(op.outputs),
    }
    network, make = how(node, place, call)
    facts = Facts(
        place=place.name,
        name=node.name,
        op=_nodes.attribute(node, FORMER_OP, node.op.removeprefix(PREFIX)),
        network=network,
        dtype=call["dtype"],
        shapes=call["shapes"],
        time_major=call["time_major"],
        read=place.reads.outputs(node, op.outputs),
    )
    choice = place.choose(facts)
    if choice == KEEP:
        return KEEP
    if isinstance(choice, Instead):
        stand_in, replacement = (
            place.stand_ins.instead(facts, choice, len(op.outputs)),
            choice.replacement,
        )
    else:
        stand_in, replacement = make(), "ordinary ops"
    _nodes.replace_by_call(node, stand_in, op.outputs, place.host)
    del node.input[last : last + more]
    return replacement


def _why_not(op):
    """The reason why no ordinary ops replace an op. `op`: an Op, or None."""
    if op is not None and op.outputs[0].endswith(("_backprop", "_grad")):
        return "it is a gradient op; TensorFlow computes the gradient of ordinary ops"
    if op is not None and "num_layers" in op.inputs:
        return "it converts parameters, which is not a part of inference; use our ops for it"
    return "it is an op of tf_rnn_ops for which there are no ordinary ops"
