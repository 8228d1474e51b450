"""What ordinary ops take the place of."""

from tf_rnn_ops._op_table import PREFIX, signature
from tf_rnn_ops.portable import _nodes, _sizes

_GRADIENT = "it is a gradient; the gradient of ordinary ops is TensorFlow's own, taken anew"
_PARAMETERS = "it handles parameters, which inference does not; use our ops for it"
_NO_STAND_IN = "it is our own op, and nothing here puts ordinary ops in its place"
# Ops with one more input than the op that computes the same: packed weights or a seed.
_WITH_MORE = (
    f"{PREFIX}CudnnRNNV3Packed",
    f"{PREFIX}LayerRNNPacked",
    f"{PREFIX}StatelessCudnnRNNV3",
)
PACKED = _WITH_MORE[:2]
"""Ops that read packed weights."""
PACKING = (f"{PREFIX}PackCudnnRNNParams", f"{PREFIX}PackLayerRNN")
"""Ops that make what the last input of the ops of PACKED is."""


def _stack(node, place):
    """A node of the CudnnRNN family."""
    dtype, training = _nodes.dtype_of(node), _is_training(node)
    time_major, dropout = (
        _nodes.attribute(node, name, default)
        for name, default in (("time_major", True), ("dropout", 0.0))
    )
    if training and dropout > 0 and not place.inference:
        raise _nodes.CannotRewrite(
            f"it trains with dropout={dropout:g}, which ordinary ops would "
            "draw differently; take it for inference if that is what it is used for"
        )
    layout = _sizes.layout_of(node, place.shapes, time_major)
    return place.stand_ins.plain_forward(
        dtype, layout, _known_shapes(node, place), time_major, training, _outputs(node)
    )


def _layer(node, place):
    """A LayerRNN; also in training, since its masks are tensors, and what draws them stays as it is."""
    dtype, training = _nodes.dtype_of(node), _is_training(node)
    layer = _sizes.layer_of(node, place.shapes)
    time_major = _nodes.attribute(node, "time_major", True)
    return place.stand_ins.plain_layer(
        dtype, layer, _known_shapes(node, place), time_major, training, _outputs(node)
    )


def _block(node, place):
    """A BlockLSTMV2."""
    sizes, known = _sizes.block_of(node, place.shapes), _known_shapes(node, place)
    attrs = _nodes.attributes(node, signature("BlockLSTMV2").attrs)
    return place.stand_ins.plain_block(_nodes.dtype_of(node), sizes, known, **attrs)


def _is_training(node):
    return node.op not in PACKED and _nodes.attribute(node, "is_training", True)


def _outputs(node):
    return len(signature(node.op).outputs)


def _known_shapes(node, place):
    return [place.shapes.of(ref) for ref in _tensors(node)]


def _tensors(node):
    refs = _nodes.data_inputs(node)
    return refs[:-1] if node.op in _WITH_MORE else refs


# By op what makes its StandIn, or why nothing does.
_HOW = {
    **dict.fromkeys(("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"), _stack),
    **dict.fromkeys(("CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3"), _GRADIENT),
    "CudnnRNNParamsSize": _PARAMETERS,
    "CudnnRNNCanonicalToParams": _PARAMETERS,
    "CudnnRNNCanonicalToParamsV2": _PARAMETERS,
    "CudnnRNNParamsToCanonical": _PARAMETERS,
    "CudnnRNNParamsToCanonicalV2": _PARAMETERS,
}
_HOW_OF_OURS = {
    **_HOW,
    **dict.fromkeys(("StatelessCudnnRNNV3", "CudnnRNNV3Packed"), _stack),
    **dict.fromkeys(("LayerRNN", "LayerRNNPacked"), _layer),
    "BlockLSTMV2": _block,
    **dict.fromkeys(("LayerRNNBackprop", "BlockLSTMGradV2"), _GRADIENT),
}


def concerns(node):
    """Whether a node is one that to_plain() replaces, or says why it does not."""
    if node.op.startswith(PREFIX):
        return node.op not in PACKING
    return node.op in _HOW


def to_plain(node, place):
    """Replaces a node by ordinary ops.

    Args:
        node: A node that `concerns`.
        place: The _rewrite.Place of the node.

    Returns:
        What it became, in words.

    Raises:
        CannotRewrite: It must stay.
        UnknownSize: The graph does not say its sizes.
    """
    ours = node.op.startswith(PREFIX)
    name = node.op.removeprefix(PREFIX)
    how = (_HOW_OF_OURS if ours else _HOW).get(name, _NO_STAND_IN)
    if how is _NO_STAND_IN:
        raise _nodes.CannotRewrite(how)
    _nodes.check(node)
    if node.name in place.read_by_gradients:
        raise _nodes.CannotRewrite(
            "a gradient that was kept reads its reserve space; to='tf_rnn_ops' takes both"
        )
    if isinstance(how, str):
        raise _nodes.CannotRewrite(how)
    more, outputs = node.op in _WITH_MORE, signature(node.op).outputs
    last = len(_tensors(node))
    _nodes.replace_by_call(node, how(node, place), outputs, place.host)
    del node.input[last : last + more]
    return "ordinary ops"
