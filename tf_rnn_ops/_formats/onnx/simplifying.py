"""Removes inputs and nodes that the nodes of ONNX do not need: zeros, full lengths, reversed inputs.

    x -> reverse -> LayerRNN -> reverse        one node of the direction 'reverse'
    x -> LayerRNN, and such a node             one node of both directions

"reverse" is ReverseV2 along the time axis. For rows of different lengths it is GatherV2 with the reversed
steps of each row; see Note [Reversed rows] in keras/dispatch/masks.py.
"""

from typing import NamedTuple, Sequence

import numpy as np
from tf2onnx import utils
from tf2onnx.graph import Graph, Node

from tf_rnn_ops._formats.onnx import handlers, masks, nodes, weights
from tf_rnn_ops._formats.onnx.emitting import Builder

_FILLED = ("BroadcastTo", "Cast", "ExpandDims", "Reshape", "Squeeze", "Tile", "Transpose")
# {ops: numbers of the inputs that are the initial states, the lengths, and the sequences}.
_INPUTS = {
    nodes.LAYERS: ((1, 2), 9, 0),
    nodes.STACKS: ((1, 2), 4, 0),
    nodes.BLOCKS: ((2, 3), 0, 1),
}


class _Reversal(NamedTuple):
    """The node that reverses the input of a layer.

    Attributes:
        type: ReverseV2 or GatherV2.
        x: The name of its input.
        others: The names of its other inputs.
    """

    type: str
    x: str
    others: tuple


def simplify(ctx: Graph) -> None:
    """Simplifies a tf2onnx.graph.Graph, which still has nodes of TensorFlow."""
    for node in list(ctx.get_nodes()):
        if node.type in ("Select", "SelectV2"):
            # WHY: tf2onnx otherwise multiplies by 0 and 1, which gives NaN where the other value is not finite.
            node.set_attr("handles_nan", True)
        for ops, inputs in _INPUTS.items():
            if node.type in ops:
                _drop_inputs(ctx, node, *inputs)
    _drop_double_reversals(ctx)
    masks.simplify(ctx)
    forward, backward = [], []
    for node in [node for node in ctx.get_nodes() if node.type in nodes.LAYERS]:
        layer = nodes.layer_of(ctx, node)
        reversal = _reversal(ctx, layer)
        if reversal is None:
            forward.append(layer)
        else:
            backward.append(_turned(ctx, layer, reversal))
    for layer in backward:
        partner = next((other for other in forward if _fit(ctx, other, layer)), None)
        if partner is None:
            handlers.emit_layer(ctx, layer, reverse=True)
        else:
            forward.remove(partner)
            _emit_pair(ctx, partner, layer)


# ---- inputs that are not needed ----


def _drop_inputs(ctx: Graph, node: Node, states: Sequence[int], lengths: int, x: int) -> None:
    for k in states:
        if _is_zero(ctx, node.input[k]):
            ctx.replace_input(node, node.input[k], "", k)
    if lengths < len(node.input) and _is_full(ctx, node, node.input[lengths], node.input[x]):
        ctx.replace_input(node, node.input[lengths], "", lengths)


def _drop_double_reversals(ctx: Graph) -> None:
    """Removes pairs of ReverseV2, as on the output of a backward layer, which Bidirectional reverses again."""
    for node in [node for node in ctx.get_nodes() if node.type == "ReverseV2"]:
        before = nodes.producer(ctx, node.input[0])
        if before is not None and before.type == "ReverseV2":
            if nodes.value(ctx, node.input[1]) == nodes.value(ctx, before.input[1]) is not None:
                ctx.replace_all_inputs(node.output[0], before.input[0])


def _is_zero(ctx: Graph, name: str) -> bool:
    """Whether a tensor is known to be 0."""
    node = nodes.producer(ctx, name)
    while node is not None:
        if node.is_const():
            return not np.any(node.get_tensor_value(as_list=False))
        if node.type == "ZerosLike":
            return True
        if node.type == "Pack":
            return all(_is_zero(ctx, one) for one in node.input)
        if node.type not in ("Fill", *_FILLED):
            return False
        node = nodes.producer(ctx, node.input[1 if node.type == "Fill" else 0])
    return False


def _is_full(ctx: Graph, node: Node, name: str, x: str) -> bool:
    """Whether lengths, or one length for all sequences, are known to be the number of steps of x."""
    steps = ctx.get_node_by_output(nodes.origin(ctx, name)) if name else None
    if steps is not None and steps.type == "Fill":
        steps = ctx.get_node_by_output(nodes.origin(ctx, steps.input[1]))
    if steps is None:
        return False
    axis = 0 if nodes.attribute(node, "time_major", True) else 1
    if steps.is_const():
        known, value = ctx.get_shape(x), steps.get_tensor_value(as_list=False)
        return known is not None and value.size > 0 and bool(np.all(value == known[axis]))
    turned = nodes.producer(ctx, x)
    if turned is not None and turned.type == "Transpose":
        if _is_size(ctx, steps, turned.input[0], 1 - axis):
            return True
    return _is_size(ctx, steps, x, axis)


def _is_size(ctx: Graph, node: Node, x: str, axis: int) -> bool:
    """Whether a node computes the size of an axis of a tensor."""
    if node.type != "StridedSlice" or nodes.value(ctx, node.input[1]) != [axis]:
        return False
    shape = nodes.producer(ctx, node.input[0])
    return shape is not None and shape.type == "Shape" and nodes.same(ctx, shape.input[0], x)


# ---- directions ----


def _reversal(ctx: Graph, layer: nodes.Layer) -> _Reversal | None:
    """The _Reversal of the input of a layer, or None."""
    node = nodes.producer(ctx, layer.x)
    if node is None or not _reverses(ctx, node, layer):
        return None
    return _Reversal(node.type, node.input[0], tuple(node.input[1:]))


def _reverses(ctx: Graph, node: Node, layer: nodes.Layer) -> bool:
    """Whether a node reverses the steps of each row that the layer computes."""
    if node.type == "ReverseV2":
        axes = ([0], [-3]) if layer.time_major else ([1], [-2])
        return not layer.lengths and nodes.value(ctx, node.input[1]) in axes
    if node.type != "GatherV2" or layer.time_major or not layer.lengths:
        return False
    steps = ctx.get_node_by_output(nodes.origin(ctx, node.input[1]))
    return (
        nodes.attribute(node, "batch_dims", 0) == 1
        and nodes.value(ctx, node.input[2]) == 1
        and steps is not None
        and steps.type == "ReverseSequence"
        and nodes.attribute(steps, "seq_dim", 0) == 1
        and nodes.attribute(steps, "batch_dim", 0) == 0
        and nodes.same(ctx, steps.input[1], layer.lengths)
        and _counts_steps(ctx, steps.input[0])
    )


def _counts_steps(ctx: Graph, name: str) -> bool:
    """Whether each row of a tensor is 0, 1, 2 and so on."""
    node = nodes.producer(ctx, name)
    while node is not None and node.type in _FILLED:
        node = nodes.producer(ctx, node.input[0])
    if node is None:
        return False
    if node.is_const():
        value = node.get_tensor_value(as_list=False)
        return bool(np.all(value == np.arange(value.shape[-1])))
    return node.type == "Range" and [nodes.value(ctx, node.input[k]) for k in (0, 2)] == [0, 1]


def _turned(ctx: Graph, layer: nodes.Layer, reversal: _Reversal) -> nodes.Layer:
    """The layer with the input in the order of time.

    Its output is then reversed in place of its input, and nodes that reversed the old output are bypassed.
    """
    node, output = layer.node, layer.node.output[0]
    dtypes, shapes = node.output_dtypes, node.output_shapes
    undone = [
        other
        for other in ctx.find_output_consumers(output)
        if _reverses(ctx, other, layer) and other.input[0] == output
    ]
    turned = utils.make_name(output)
    ctx.remove_node(node.name)
    new = ctx.make_node(
        node.type,
        node.input,
        outputs=[turned, *node.output[1:]],
        attr=node.attr,
        name=node.name,
        skip_conversion=False,
        dtypes=dtypes,
        shapes=shapes,
        domain=node.domain,
    )
    for other in undone:
        ctx.replace_all_inputs(other.output[0], turned)
    ctx.make_node(
        reversal.type,
        [turned, *reversal.others],
        outputs=[output],
        attr={"batch_dims": 1} if reversal.type == "GatherV2" else {},
        name=utils.make_name(node.name),
        skip_conversion=False,
        dtypes=dtypes[:1],
        shapes=shapes[:1],
    )
    return layer._replace(node=new, x=reversal.x)


def _fit(ctx: Graph, forward: nodes.Layer, backward: nodes.Layer) -> bool:
    """Whether two layers can be one node."""
    return (
        nodes.same(ctx, forward.x, backward.x)
        and ctx.get_dtype(forward.x) == ctx.get_dtype(backward.x)
        and (
            forward.lengths == backward.lengths
            or nodes.same(ctx, forward.lengths, backward.lengths)
        )
        and forward.time_major == backward.time_major
        and (bool(forward.h), bool(forward.c)) == (bool(backward.h), bool(backward.c))
        and weights.can_join(forward.onnx_node, backward.onnx_node)
        and not _depends(forward.node, backward.node)
        and not _depends(backward.node, forward.node)
    )


def _depends(node: Node, other: Node) -> bool:
    """Whether a node needs a result of another node."""
    seen, waiting = set(), [node]
    while waiting:
        for before in waiting.pop().inputs:
            if before is other:
                return True
            if before is not None and before.name not in seen:
                seen.add(before.name)
                waiting.append(before)
    return False


def _emit_pair(ctx: Graph, forward: nodes.Layer, backward: nodes.Layer) -> None:
    """Replaces two layers by one node."""
    outputs = forward.node.output, backward.node.output
    concat = _concat_of(ctx, outputs[0][0], outputs[1][0])
    units = forward.onnx_node.attributes["hidden_size"]
    outer = None if concat is None else Builder(ctx, concat)
    build = Builder(ctx, forward.node, backward.node)
    x = forward.x if forward.time_major else build.transpose(forward.x, [1, 0, 2])
    states = [
        build.concat([build.reshape(s, [1, -1, units]) for s in pair], 0) if all(pair) else ""
        for pair in ((forward.h, backward.h), (forward.c, backward.c))
    ]
    joined = weights.joined(forward.onnx_node, weights.backwards(backward.onnx_node))
    y, final = build.recurrent(joined, x, forward.lengths, states)
    if concat is not None and outer is not None:
        outer.connect(concat.output[0], build.sequence(y, 2, units, forward.time_major))
    for d, names in enumerate(outputs):
        if build.is_used(names[0]):
            one = build.pick(y, d, 1)
            one = one if forward.time_major else build.transpose(one, [1, 0, 2])
            build.connect(names[0], one)
        for name, state in zip(names[1:], final):
            if build.is_used(name):
                build.connect(name, build.pick(state, d, 0))
    build.close(*outputs)


def _concat_of(ctx: Graph, first: str, second: str) -> Node | None:
    """The node that joins the outputs of both directions, if there is one."""
    for node in ctx.find_output_consumers(first):
        if node.type == "ConcatV2" and list(node.input[:-1]) == [first, second]:
            if nodes.value(ctx, node.input[-1]) in (2, -1):
                return node
    return None
