"""Writes the steps of masked layers with few nodes, once for each mask.

Note [Steps of a mask]
A masked layer of keras/dispatch/masks.py gathers the valid steps of each row, runs the layer on them, and gathers
its outputs for all times. Both indices and the lengths follow from the mask:

    mask        1 0 1 1 0
    ones        1 0 1 1 0      count  1 1 2 3 3      lengths  3
    packing     0 2 3 1 4      the times with 1 first, each part in order: TopK, which keeps the order of equal values
    spreading   0 -1 1 2 -1    count * ones - 1, with -1 for the last step: its output is 0 if a time is masked
                0 0 1 2 2      count - 1, if a masked time repeats the output of the time before
                0 1 1 2 3      count - ones, if it repeats that of the time after, in a layer that goes backwards
"""

import functools
from typing import Any

from onnx import TensorProto
from tf2onnx import utils
from tf2onnx.graph import Graph, Node

from tf_rnn_ops._formats.onnx import nodes
from tf_rnn_ops._formats.onnx.emitting import Builder
from tf_rnn_ops._formats.onnx.leading import Leading, mask_of_condition, of_check
from tf_rnn_ops._formats.passes import mask_conditions


def simplify(ctx: Graph) -> None:
    """Replaces the conditions of masks in a tf2onnx.graph.Graph, and simplifies what else masks need."""
    _share_casts(ctx)
    _share_checks(ctx)
    steps: dict[str, _Steps] = {}
    replaced: dict[tuple[Any, ...], str] = {}
    for node in list(ctx.get_nodes()):
        kind = mask_conditions.kind(node.type, node.name)
        if kind is not None:
            mask = mask_of_condition(ctx, node)
            (x,) = [name for name in node.input[1:] if len(ctx.get_shape(name) or ()) == 3]
            own = steps.setdefault(mask, _Steps(ctx, mask))
            # Both layers of a Bidirectional read the same packed steps.
            key = mask, kind, nodes.origin(ctx, x), ctx.get_dtype(x)
            if key in replaced:
                ctx.replace_all_inputs(node.output[0], replaced[key])
            else:
                replaced[key] = node.output[0]
                _replace(ctx, node, x, getattr(own, kind))
    for node in [node for node in ctx.get_nodes() if node.type == "ConcatV2"]:
        _gather_once(ctx, node)
    for node in list(ctx.get_nodes()):
        _bypass_last_valid(ctx, node)
    for mask, own in steps.items():
        _replace_lengths(ctx, mask, own)


class _Steps:
    """The tensors of a mask; see Note [Steps of a mask]. Each is made when it is first read.

    The indices have the names of Note [Conditions of masks] in keras/dispatch/masks.py.
    """

    def __init__(self, ctx: Graph, mask: str) -> None:
        self._mask = mask
        self._build = Builder(ctx, name="mask")

    @functools.cached_property
    def _ones(self) -> str:
        """[B, T, 1], int64."""
        ones = self._build.cast(self._mask, TensorProto.INT64)
        return self._build.node("Unsqueeze", [ones, self._build.constant([2])])[0]

    @functools.cached_property
    def _count(self) -> str:
        return self._build.node("CumSum", [self._ones, self._build.constant(1)])[0]

    @functools.cached_property
    def pack(self) -> str:
        """[B, T, 1]."""
        time = self._build.pick(self._build.node("Shape", [self._mask])[0], [1], 0)
        return self._build.node("TopK", [self._ones, time], 2, axis=1)[1]

    @functools.cached_property
    def zero(self) -> str:
        """[B, T, 1], and so are the next two."""
        return self._less(self._build.node("Mul", [self._count, self._ones])[0], 1)

    @functools.cached_property
    def before(self) -> str:
        return self._less(self._count, 1)

    @functools.cached_property
    def after(self) -> str:
        return self._build.node("Sub", [self._count, self._ones])[0]

    @functools.cached_property
    def lengths(self) -> str:
        """[B], int32."""
        axes = self._build.constant([1, 2])
        total = self._build.node("ReduceSum", [self._ones, axes], keepdims=0)[0]
        return self._build.cast(total, TensorProto.INT32)

    def _less(self, tensor: str, number: int) -> str:
        return self._build.node("Sub", [tensor, self._build.constant(number)])[0]


def _share_casts(ctx: Graph) -> None:
    """Makes one tensor of equal casts to bool, since each layer casts a mask of another type."""
    casts: dict[str, str] = {}
    for node in list(ctx.get_nodes()):
        if node.type == "Cast" and ctx.get_dtype(node.output[0]) == TensorProto.BOOL:
            shared = casts.setdefault(node.input[0], node.output[0])
            if shared != node.output[0]:
                ctx.replace_all_inputs(node.output[0], shared)


def _share_checks(ctx: Graph) -> None:
    """Bypasses checks of masks against sequences that have their sizes, and checks that were made before."""
    leading = Leading(ctx)
    seen: dict[tuple[str, str], str] = {}
    for node in list(ctx.get_nodes()):
        if (checked := of_check(ctx, node)) is None:
            continue
        mask, sequences = checked
        sizes = leading.of(sequences)
        if leading.of(mask) == sizes:
            ctx.replace_all_inputs(node.output[0], mask)
        elif (mask, sizes) in seen:
            ctx.replace_all_inputs(node.output[0], seen[mask, sizes])
        else:
            seen[mask, sizes] = node.output[0]


def _replace(ctx: Graph, node: Node, x: str, index: str) -> None:
    """Replaces a condition by a GatherND."""
    (output,) = node.output
    build = Builder(ctx, node)
    if build.is_used(output):
        build.connect(output, build.node("GatherND", [x, index], batch_dims=1)[0])


def _gather_once(ctx: Graph, node: Node) -> None:
    """Moves the gather of both parts of a ConcatV2 behind it, as in a Bidirectional."""
    axis, shape = nodes.value(ctx, node.input[-1]), ctx.get_shape(node.output[0])
    parts: list[Any] = [nodes.producer(ctx, name) for name in node.input[:-1]]
    if axis not in (2, -1) or shape is None or len(shape) != 3:
        return
    if {getattr(part, "type", "") for part in parts} != {"GatherND"}:
        return
    if len({part.input[1] for part in parts}) > 1 or parts[0].get_attr_value("batch_dims") != 1:
        return
    (output,) = node.output
    index, inputs = parts[0].input[1], [part.input[0] for part in parts]
    axis, dtype = node.input[-1], ctx.get_dtype(output)
    build = Builder(ctx, node)
    joined = ctx.make_node(
        "ConcatV2",
        [*inputs, axis],
        name=utils.make_name(node.name),
        skip_conversion=False,
        dtypes=[dtype],
        shapes=[shape],
    )
    build.connect(output, build.node("GatherND", [joined.output[0], index], batch_dims=1)[0])


def _bypass_last_valid(ctx: Graph, node: Node) -> None:
    """Bypasses a node that sets the final h of rows without a valid step to 0, if it is 0 already."""
    if node.type != "SelectV2" or nodes.value(ctx, node.input[2]) != 0:
        return
    some, layer = (nodes.producer(ctx, name) for name in node.input[:2])
    if some is None or some.type != "Greater" or nodes.value(ctx, some.input[1]) != 0:
        return
    if layer is None or layer.type not in nodes.LAYERS or layer.input[1]:
        return
    lengths = nodes.producer(ctx, some.input[0])
    if lengths is not None and lengths.type == "ExpandDims" and lengths.input[0] == layer.input[9]:
        ctx.replace_all_inputs(node.output[0], node.input[1])


def _replace_lengths(ctx: Graph, mask: str, steps: _Steps) -> None:
    """Replaces the sums over a mask."""
    for node in list(ctx.get_nodes()):
        if node.type == "Sum" and nodes.value(ctx, node.input[1]) in (1, [1], -1):
            ones = nodes.producer(ctx, node.input[0])
            is_of_mask = ones is not None and ones.type == "Cast" and ones.input[0] == mask
            if is_of_mask and not nodes.attribute(node, "keep_dims", False):
                (output,) = node.output
                build = Builder(ctx, node)
                if build.is_used(output):
                    build.connect(output, steps.lengths)
