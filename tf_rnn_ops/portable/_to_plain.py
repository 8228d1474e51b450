"""Replaces recurrent ops by ordinary ops."""

from typing import Any, Callable, NamedTuple

from tf_rnn_ops.plain import sizes
from tf_rnn_ops.portable import _functions, _nodes, _sizes
from tf_rnn_ops.portable._decision import Keep, NodeInfo, Replace
from tf_rnn_ops.portable._dequantize import FORMER_OP
from tf_rnn_ops.raw_ops.table import OPS, PREFIX, Op, signature

PACKED = tuple(
    f"{PREFIX}{op}" for op in ("CudnnRNNV3Packed", "LayerRNNPacked", "QuantizedLayerRNN")
)
"""Ops whose last input is packed weights."""
PACKING = tuple(f"{PREFIX}Pack{op}" for op in ("CudnnRNNParams", "LayerRNN", "QuantizedLayerRNN"))
"""Ops that pack weights."""
# Ops with one more input than the op that computes the same function.
_WITH_MORE = (*PACKED, f"{PREFIX}StatelessCudnnRNNV3")


class _Plain(NamedTuple):
    """The ordinary ops for a node.

    Attributes:
        network: See NodeInfo.
        label: A part of the names of functions.
        op: The op with the inputs of `sizes`.
        sizes: {name of an input: its sizes, or letters for unknown sizes}.
        function: The function for StandIns.make().
        options: Its options.
    """

    network: Any
    label: str
    op: str
    sizes: dict[str, Any]
    function: Callable[..., Any]
    options: dict[str, Any]


def _stack(node: Any, place: Any, call: dict[str, Any]) -> _Plain:
    dropout = _nodes.attribute(node, "dropout", 0.0)
    if call["is_training"] and dropout > 0 and not place.inference:
        raise _nodes.CannotRewrite(
            f"it trains with dropout={dropout:g}, and ordinary ops would "
            "draw other random numbers; use inference=True (--inference) if the model is for inference"
        )
    layout = _sizes.layout_of(node, place.shapes, call["time_major"])
    known = sizes.stack_shapes(layout, call["time_major"])
    options = {**call, "layout": layout}
    return _Plain(layout, layout.rnn_mode, "CudnnRNNV3", known, _functions.plain_stack, options)


def _layer(node: Any, place: Any, call: dict[str, Any]) -> _Plain:
    # Also in training: the masks are input tensors, and the ops that draw them do not change.
    layer = _sizes.layer_of(node, place.shapes)
    known = sizes.layer_shapes(layer, call["time_major"])
    known |= {name: [0] for name in layer.absent}
    options = {**call, "layer": layer}
    label = f"{layer.rnn_mode}_layer"
    return _Plain(layer, label, "LayerRNN", known, _functions.plain_layer, options)


def _quantized_layer(node: Any, place: Any, call: dict[str, Any]) -> _Plain:
    op, time_major = "QuantizedLayerRNN", call["time_major"]
    layer = _sizes.layer_of(node, place.shapes)
    known = sizes.layer_shapes(layer, time_major)
    known |= {name: [None] for name in signature(op).inputs if name.endswith("_scale")}
    known |= {name: [0] for name in _functions.absent_with_scales(layer)}
    options = {"layer": layer, "time_major": time_major, "num_outputs": call["num_outputs"]}
    label = f"{layer.rnn_mode}_int8_layer"
    return _Plain(layer, label, op, known, _functions.plain_quantized_layer, options)


def _block(node: Any, place: Any, call: dict[str, Any]) -> _Plain:
    known = sizes.block_shapes(*_sizes.block_of(node, place.shapes))
    attrs = _nodes.attributes(node, signature("BlockLSTMV2").attrs)
    return _Plain(None, "block_lstm", "BlockLSTMV2", known, _functions.plain_block, attrs)


# {op: function that returns the _Plain of a node}.
_PLAIN_OF = {
    **dict.fromkeys(("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"), _stack),
    **dict.fromkeys(("StatelessCudnnRNNV3", "CudnnRNNV3Packed"), _stack),
    **dict.fromkeys(("LayerRNN", "LayerRNNPacked"), _layer),
    "QuantizedLayerRNN": _quantized_layer,
    "BlockLSTMV2": _block,
}


def concerns(node: Any) -> bool:
    """Whether to_plain() replaces a node or raises an error with the reason."""
    if node.op.startswith(PREFIX):
        return node.op not in PACKING
    return node.op in OPS and node.op.startswith("CudnnRNN")


def to_plain(node: Any, place: Any) -> str | None:
    """Replaces a node of the _rewrite.Place by ordinary ops.

    Returns:
        A description of the replacement; None if an exporter chose to keep the node.

    Raises:
        CannotRewrite: The node cannot be replaced.
        UnknownSize: The graph does not determine the sizes of the network.
    """
    op = OPS.get(node.op.removeprefix(PREFIX))
    if op is not None:
        _nodes.check(node)
    if node.name in place.read_by_gradients:
        ours = node.op.startswith(PREFIX)
        raise _nodes.CannotRewrite(
            "a gradient that was kept reads its reserve space; both run after "
            f"`{'import tf_rnn_ops' if ours else 'tf_rnn_ops.enable_stock_ops()'}`"
        )
    make_plain = _PLAIN_OF.get(node.op.removeprefix(PREFIX))
    if op is None or make_plain is None:
        raise _nodes.CannotRewrite(_why_not(op))
    refs = _nodes.data_inputs(node)
    more = node.op in _WITH_MORE
    last = len(refs) - more
    shapes = [place.shapes.of(ref) for ref in refs[:last]]
    call = {
        "dtype": _nodes.dtype_of(node),
        "time_major": _nodes.attribute(node, "time_major", True),
        "is_training": node.op not in PACKED and _nodes.attribute(node, "is_training", True),
        "num_outputs": len(op.outputs),
    }
    plain = make_plain(node, place, call)
    info = NodeInfo(
        place=place.name,
        name=node.name,
        op=_nodes.attribute(node, FORMER_OP, node.op.removeprefix(PREFIX)),
        network=plain.network,
        dtype=call["dtype"],
        shapes=shapes,
        time_major=call["time_major"],
        read=place.reads.outputs(node, op.outputs),
    )
    decision = place.decide(info)
    if isinstance(decision, Keep):
        return None
    specs = _functions.specs(plain.op, plain.sizes, call["dtype"], shapes)
    if isinstance(decision, Replace):
        name = decision.name
        stand_in = place.stand_ins.make(
            f"{plain.network.rnn_mode}_replacement",
            _functions.replacement,
            specs,
            function=decision.function,
            dtype=call["dtype"],
            num_outputs=call["num_outputs"],
        )
    else:
        name = "ordinary ops"
        stand_in = place.stand_ins.make(plain.label, plain.function, specs, **plain.options)
    _nodes.replace_by_call(node, stand_in, op.outputs, place.host)
    del node.input[last : last + more]
    return name


def _why_not(op: Op | None) -> str:
    """The reason why no ordinary ops replace an op. `op`: an Op, or None."""
    if op is not None and op.outputs[0].endswith(("_backprop", "_grad")):
        return "it is a gradient op; TensorFlow computes the gradient of ordinary ops"
    if op is not None and "num_layers" in op.inputs:
        return "it converts parameters, which is not a part of inference; use our ops for it"
    return "it is an op of tf_rnn_ops for which there are no ordinary ops"
