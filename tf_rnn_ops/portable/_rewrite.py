"""Rewrites the CudnnRNN and LayerRNN nodes of a GraphDef and of its functions."""

from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tf_rnn_ops import plain
from tf_rnn_ops.portable import _functions, _sizes
from tf_rnn_ops.portable._report import Change, Kept, Report

TARGETS = ("tensorflow", "tf_rnn_ops")
_OURS = "TfRnnOps>"
# The field of AttrValue for a type of attribute.
_VALUE_OF = {"int": "i", "float": "f", "bool": "b", "string": "s", "type": "type"}
_FORWARD_OUTPUTS = ("output", "output_h", "output_c", "reserve_space", "host_reserved")
_BACKPROP_OUTPUTS = (
    "input_backprop",
    "input_h_backprop",
    "input_c_backprop",
    "params_backprop",
)
# By op: the names of its outputs.
_FORWARD = {
    "CudnnRNN": _FORWARD_OUTPUTS[:4],
    "CudnnRNNV2": _FORWARD_OUTPUTS,
    "CudnnRNNV3": _FORWARD_OUTPUTS,
}
_BACKPROP = ("CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3")
_PARAMS = (
    "CudnnRNNParamsSize",
    "CudnnRNNCanonicalToParams",
    "CudnnRNNCanonicalToParamsV2",
    "CudnnRNNParamsToCanonical",
    "CudnnRNNParamsToCanonicalV2",
)
_NO_STAND_IN = "it is our own op, and nothing here puts ordinary ops in its place"
# These are our own: there is nothing to do for them with to='tf_rnn_ops'.
_LAYER = "LayerRNN"
_LAYER_PACKED = "LayerRNNPacked"
_LAYER_BACKPROP = "LayerRNNBackprop"
_CUDNN_PACKED = "CudnnRNNV3Packed"
_BLOCK = "BlockLSTMV2"
_BLOCK_OUTPUTS = ("i", "cs", "f", "o", "ci", "co", "h")
_BLOCK_BACKPROP = "BlockLSTMGradV2"
_STATELESS = "StatelessCudnnRNNV3"
# Their result is what the last input of the two ops above is.
_PACKING = ("PackCudnnRNNParams", "PackLayerRNN")
# Those of our ops that have TensorFlow's very signature: only the name changes.
_SAME_SIGNATURE = (
    "CudnnRNNV3",
    "CudnnRNNBackpropV3",
    "CudnnRNNParamsSize",
    "CudnnRNNCanonicalToParamsV2",
    "CudnnRNNParamsToCanonicalV2",
)


def rewrite_graph_def(
    graph_def: Any, to: str = "tensorflow", inference: bool = False, clear_devices: bool = False
) -> tuple[Any, Report]:
    """Replaces TensorFlow's CudnnRNN ops in a graph, and ours.

    Args:
        graph_def: A GraphDef; it is not changed.
        to: What with. 'tensorflow': ordinary ops, which need no plug-in (forward ops only, and ours
            too if the graph has any). 'tf_rnn_ops': our ops, gradient and parameter ops included.
        inference: With to='tensorflow', take every node as one of inference, also if it has
            is_training=True and dropout. Without it, such a node is kept.
        clear_devices: Also remove the devices of all nodes, so that a session needs no soft
            placement.

    Returns:
        A pair (GraphDef, Report).

    Raises:
        ValueError: `to` is not one of the two.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import portable
        >>> graph_def, report = portable.rewrite_graph_def(tf.Graph().as_graph_def())
        >>> print(report)
        nodes changed: 0, kept: 0
    """
    if to not in TARGETS:
        raise ValueError(f"to must be 'tensorflow' or 'tf_rnn_ops', but it is {to!r}.")
    result = type(graph_def)()
    result.CopyFrom(graph_def)
    report = Report()
    stand_ins = _functions.StandIns(graph_def.library)
    hosts = [(None, result.node)] + [(f, f.node_def) for f in result.library.function]
    originals = [None, *graph_def.library.function]
    for (host, nodes), original in zip(hosts, originals):
        place = "" if host is None else host.signature.name
        shapes = _sizes.Shapes(graph_def, original)
        trained = set() if inference else _read_by_gradients(nodes)
        for node in nodes:
            if clear_devices:
                node.device = ""
            name = node.op.removeprefix(_OURS)
            known = (*_FORWARD, *_BACKPROP, *_PARAMS)
            if node.op != name:
                known += (_LAYER, _LAYER_PACKED, _LAYER_BACKPROP, _CUDNN_PACKED, _STATELESS)
                known += (_BLOCK, _BLOCK_BACKPROP)
            if node.op != name and (to == "tf_rnn_ops" or name in _PACKING):
                continue
            op = node.op
            if name not in known:
                if op != name:
                    report.kept.append(Kept(place, node.name, op, _NO_STAND_IN))
                continue
            try:
                _check_node(node)
                if to == "tensorflow" and node.name in trained:
                    raise plain.UnknownSize(
                        "a gradient that was kept reads its reserve space; to='tf_rnn_ops' takes both"
                    )
                if to == "tensorflow":
                    became = _to_plain(node, name, shapes, stand_ins, inference, host)
                else:
                    became = _to_ours(node, name, stand_ins, host)
            except plain.UnknownSize as reason:
                report.kept.append(Kept(place, node.name, op, str(reason)))
                continue
            report.changed.append(Change(place, node.name, op, became))
    if to == "tensorflow":
        _drop_packing(hosts, report)
    if stand_ins.functions:  # extend([]) would give a graph without functions an empty library
        result.library.function.extend(stand_ins.functions)
    return result, report


def _to_plain(node, name, shapes, stand_ins, inference, host):
    if name in (*_BACKPROP, _LAYER_BACKPROP, _BLOCK_BACKPROP):
        raise plain.UnknownSize(
            "it is a gradient; the gradient of ordinary ops is TensorFlow's own, taken anew"
        )
    if name in _PARAMS:
        raise plain.UnknownSize(
            "it handles parameters, which inference does not; use our ops for it"
        )
    if name == _BLOCK:
        return _block_to_plain(node, shapes, stand_ins, host)
    training = name not in (_LAYER_PACKED, _CUDNN_PACKED) and _attr(node, "is_training", True)
    how = (_attr(node, "time_major", True), training)
    dtype = _dtype(node)
    is_packed = name in (_LAYER_PACKED, _CUDNN_PACKED)
    has_more = is_packed or name == _STATELESS  # packed weights or a seed, which come last
    num_inputs = len(_data_inputs(node)) - has_more
    known = [shapes.of(ref) for ref in _data_inputs(node)[:num_inputs]]
    if name in (_LAYER, _LAYER_PACKED):
        # Also in training: its masks are tensors, and what draws them stays as it is.
        outputs = _FORWARD_OUTPUTS[: 3 if is_packed else 4]
        layer = _sizes.layer_of(node, shapes)
        stand_in = stand_ins.plain_layer(dtype, layer, known, *how, len(outputs))
        _replace_by_call(node, stand_in, outputs, host)
        del node.input[num_inputs : num_inputs + has_more]
        return "ordinary ops"
    if training and _attr(node, "dropout", 0.0) > 0 and not inference:
        raise plain.UnknownSize(
            f"it trains with dropout={_attr(node, 'dropout', 0.0):g}, which ordinary ops would "
            "draw differently; take it for inference if that is what it is used for"
        )
    layout = _sizes.layout_of(node, shapes, how[0])
    outputs = _FORWARD_OUTPUTS[:3] if is_packed else _FORWARD.get(name, _FORWARD_OUTPUTS)
    stand_in = stand_ins.plain_forward(dtype, layout, known, *how, len(outputs))
    _replace_by_call(node, stand_in, outputs, host)
    del node.input[num_inputs : num_inputs + has_more]
    return "ordinary ops"


def _block_to_plain(node, shapes, stand_ins, host):
    sizes = _sizes.block_of(node, shapes)
    known = [shapes.of(ref) for ref in _data_inputs(node)]
    attrs = _attr(node, "use_peephole", False), _attr(node, "cell_clip", 0.0)
    stand_in = stand_ins.plain_block(_dtype(node), sizes, known, *attrs)
    _replace_by_call(node, stand_in, _BLOCK_OUTPUTS, host)
    return "ordinary ops"


def _check_node(node):
    """Raises UnknownSize where inputs and attributes of a node are not those of its op."""
    op_def = op_def_registry.get(node.op)
    if op_def is None:
        return
    found, wanted = len(_data_inputs(node)), len(op_def.input_arg)
    if found != wanted and not any(arg.number_attr for arg in op_def.input_arg):
        raise plain.UnknownSize(f"it has {found} inputs, where the op has {wanted}")
    for attr in op_def.attr:
        kind = _VALUE_OF.get(attr.type)
        if kind and attr.name in node.attr and node.attr[attr.name].WhichOneof("value") != kind:
            raise plain.UnknownSize(f"its attribute {attr.name} is not of type {attr.type}")


def _dtype(node):
    if "T" not in node.attr or not node.attr["T"].type:
        raise plain.UnknownSize("its attribute T is missing")
    return tf.as_dtype(node.attr["T"].type)


def _read_by_gradients(nodes):
    """Names of the nodes whose reserve space a gradient op among the nodes reads."""
    found = set()
    for node in nodes:
        if node.op.removeprefix(_OURS) in (*_BACKPROP, _LAYER_BACKPROP):
            # NODE:3 in a graph, NODE:reserve_space:0 in a function.
            parts = [ref.split(":") for ref in _data_inputs(node)]
            found |= {
                name
                for name, *output in parts
                if output and output[0] in ("3", "4", *_FORWARD_OUTPUTS[3:])
            }
    return found


def _drop_packing(hosts, report):
    """Removes the nodes that pack weights for what has become ordinary ops."""
    needed = any(
        kept.op.removeprefix(_OURS) in (_LAYER_PACKED, _CUDNN_PACKED) for kept in report.kept
    )
    for host, nodes in hosts:
        place = "" if host is None else host.signature.name
        used = {ref.removeprefix("^").split(":")[0] for node in nodes for ref in node.input}
        if host is not None:
            used |= {ref.split(":")[0] for ref in host.ret.values()}
        for node in [n for n in nodes if n.op.removeprefix(_OURS) in _PACKING]:
            op = node.op
            if node.name not in used:
                report.changed.append(
                    Change(place, node.name, op, "nothing, since nobody reads it")
                )
                nodes.remove(node)
            elif needed:
                report.kept.append(Kept(place, node.name, op, "an op that was kept may read it"))
            else:
                _make_empty(node, host)
                report.changed.append(
                    Change(place, node.name, op, "no weights, which nobody needs")
                )


def _make_empty(node, host):
    """Packed weights that are only handed on, to a function that does without them now."""
    node.op = "Const"
    control = [ref for ref in node.input if ref.startswith("^")]
    node.attr.clear()
    node.attr["dtype"].type = tf.uint8.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([], tf.uint8, [0]))
    del node.input[:]
    node.input.extend(control)
    if host is not None:
        _rename_outputs(host, node.name, ("packed",))


def _to_ours(node, name, stand_ins, host):
    if name in _SAME_SIGNATURE:
        node.op = _OURS + name
        return node.op
    if name in _PARAMS:
        node.op = f"{_OURS}{name}V2"
        _set_second_version_attrs(node)
        return node.op
    dtype = _dtype(node)
    names = ["rnn_mode", "input_mode", "direction", "dropout", "seed", "seed2"]
    if name in _FORWARD:
        names.append("is_training")
    attrs = {n: _attr(node, n, None) for n in names}
    attrs = {n: value for n, value in attrs.items() if value is not None}
    attrs.setdefault("rnn_mode", "lstm")
    if name in _FORWARD:
        outputs = _FORWARD[name]
        stand_in = stand_ins.own_forward(dtype, attrs, len(outputs))
        inner = f"{_OURS}CudnnRNNV3"
    else:
        outputs = _BACKPROP_OUTPUTS
        stand_in = stand_ins.own_backprop(dtype, attrs, len(_data_inputs(node)))
        inner = f"{_OURS}CudnnRNNBackpropV3"
    _replace_by_call(node, stand_in, outputs, host)
    return f"a call of {inner}"


def _set_second_version_attrs(node):
    """The first versions of the canonical ops have one count for weights and biases."""
    count = node.attr["num_params"].i
    del node.attr["num_params"]
    node.attr["num_params_weights"].i = count
    node.attr["num_params_biases"].i = count
    node.attr["num_proj"].i = 0


def _replace_by_call(node, stand_in, outputs, host):
    # What begins with an underscore is about the node and not about its op.
    kept = {name: value for name, value in node.attr.items() if name.startswith("_")}
    kept_values = [
        (name, type(value).FromString(value.SerializeToString())) for name, value in kept.items()
    ]
    node.op = stand_in.op
    node.attr.clear()
    for name, value in [*kept_values, *stand_in.attrs.items()]:
        node.attr[name].CopyFrom(value)
    if host is not None:
        _rename_outputs(host, node.name, outputs)


def _rename_outputs(host, node, outputs):
    """Inside a function, users name a tensor by the op's output; a call has one list of them."""
    new = {f"{node}:{output}:0": f"{node}:output:{k}" for k, output in enumerate(outputs)}
    for user in host.node_def:
        for k, ref in enumerate(user.input):
            user.input[k] = new.get(ref, ref)
    for name, ref in host.ret.items():
        host.ret[name] = new.get(ref, ref)


def _data_inputs(node):
    return [ref for ref in node.input if not ref.startswith("^")]


def _attr(node, name, default):
    if name not in node.attr:
        return default
    value = node.attr[name]
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return found.decode() if kind == "s" else found
