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

import numpy as np
from onnx import TensorProto
from tf2onnx import utils

from tf_rnn_ops.export.onnx import nodes
from tf_rnn_ops.export.onnx.emitting import Builder
from tf_rnn_ops.export.onnx.leading import Leading, of_check


def simplify(ctx):
    """Simplifies what the masks of a tf2onnx.graph.Graph need."""
    _share_checks(ctx)
    gathers = [node for node in ctx.get_nodes() if _gathers_steps(ctx, node)]
    packing = {node.name: mask for node in gathers if (mask := _packed_mask(ctx, node))}
    steps = {mask: _Steps(ctx, mask) for mask in packing.values()}
    for node in gathers:
        if node.name in packing:
            _replace(ctx, node, steps[packing[node.name]].packing)
            continue
        for mask, own in steps.items():
            if index := _spreading(ctx, node.input[1], mask):
                _replace(ctx, node, getattr(own, index))
    for node in [node for node in ctx.get_nodes() if node.type == "ConcatV2"]:
        _gather_once(ctx, node)
    for node in list(ctx.get_nodes()):
        _bypass_last_valid(ctx, node)
    for mask, own in steps.items():
        _replace_lengths(ctx, mask, own)


class _Steps:
    """The tensors of a mask; see Note [Steps of a mask]. Each is made when it is first read."""

    def __init__(self, ctx, mask):
        self._mask = mask
        self._build = Builder(ctx, name="mask")

    @functools.cached_property
    def _ones(self):
        """[B, T, 1], int64."""
        ones = self._build.cast(self._mask, TensorProto.INT64)
        return self._build.node("Unsqueeze", [ones, self._build.constant([2])])[0]

    @functools.cached_property
    def _count(self):
        return self._build.node("CumSum", [self._ones, self._build.constant(1)])[0]

    @functools.cached_property
    def packing(self):
        """[B, T, 1]."""
        time = self._build.pick(self._build.node("Shape", [self._mask])[0], [1], 0)
        return self._build.node("TopK", [self._ones, time], 2, axis=1)[1]

    @functools.cached_property
    def zero(self):
        """[B, T, 1], and so are the next two."""
        return self._less(self._build.node("Mul", [self._count, self._ones])[0], 1)

    @functools.cached_property
    def before(self):
        return self._less(self._count, 1)

    @functools.cached_property
    def after(self):
        return self._build.node("Sub", [self._count, self._ones])[0]

    @functools.cached_property
    def lengths(self):
        """[B], int32."""
        axes = self._build.constant([1, 2])
        total = self._build.node("ReduceSum", [self._ones, axes], keepdims=0)[0]
        return self._build.cast(total, TensorProto.INT32)

    def _less(self, tensor, number):
        return self._build.node("Sub", [tensor, self._build.constant(number)])[0]


def _share_checks(ctx):
    """Bypasses checks of masks against sequences that have their sizes, and checks that were made before."""
    leading, seen = Leading(ctx), {}
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


def _replace(ctx, node, index):
    """Replaces a GatherV2 by a GatherND."""
    (output,) = node.output
    x, build = node.input[0], Builder(ctx, node)
    if build.is_used(output):
        build.connect(output, build.node("GatherND", [x, index], batch_dims=1)[0])


def _gather_once(ctx, node):
    """Moves the gather of both parts of a ConcatV2 behind it, as in a Bidirectional."""
    axis, shape = nodes.value(ctx, node.input[-1]), ctx.get_shape(node.output[0])
    parts = [nodes.producer(ctx, name) for name in node.input[:-1]]
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


def _bypass_last_valid(ctx, node):
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


def _replace_lengths(ctx, mask, steps):
    """Replaces the sums over a mask."""
    for node in list(ctx.get_nodes()):
        if node.type == "Sum" and nodes.value(ctx, node.input[1]) in (1, [1], -1):
            if _is_cast(ctx, node.input[0], mask) and not nodes.attribute(node, "keep_dims", False):
                (output,) = node.output
                build = Builder(ctx, node)
                if build.is_used(output):
                    build.connect(output, steps.lengths)


# ---- patterns of keras/dispatch/masks.py ----


def _gathers_steps(ctx, node):
    """Whether a node gathers steps of each row."""
    if node.type != "GatherV2" or nodes.attribute(node, "batch_dims", 0) != 1:
        return False
    index = ctx.get_shape(node.input[1])
    return nodes.value(ctx, node.input[2]) == 1 and index is not None and len(index) == 2


def _packed_mask(ctx, node):
    """The mask whose valid steps a node gathers, or None."""
    order = nodes.producer(ctx, node.input[1])
    if order is None or order.type != "TopKV2" or node.input[1] != order.output[1]:
        return None
    keys = nodes.producer(ctx, order.input[0])
    if keys is None or keys.type != "SelectV2":
        return None
    mask, valid, other = keys.input
    if ctx.get_dtype(mask) != TensorProto.BOOL or not _is_time(ctx, order.input[1], mask):
        return None
    return mask if _are_decreasing(ctx, valid, other, mask) else None


def _are_decreasing(ctx, valid, other, mask):
    """Whether keys decrease over time, and those of valid steps are larger than others."""
    values = [nodes.value(ctx, name) for name in (valid, other)]
    if None not in values:
        high, low = map(np.asarray, values)
        in_order = np.all(np.diff(high, axis=-1) < 0) and np.all(np.diff(low, axis=-1) < 0)
        return bool(in_order and high.size and np.min(high) > np.max(low))
    high, low = (nodes.producer(ctx, name) for name in (valid, other))
    return (
        high is not None
        and low is not None
        and (high.type, low.type) == ("AddV2", "Range")
        and _is_time(ctx, low.input[0], mask)
        and [nodes.value(ctx, name) for name in low.input[1:]] == [0, -1]
        and nodes.producer(ctx, high.input[0]) is low
        and _is_time(ctx, high.input[1], mask)
    )


def _spreading(ctx, name, mask):
    """The name of the indices of _Steps that a tensor is equal to, or None."""
    index = nodes.producer(ctx, name)
    if index is None or index.type != "SelectV2":
        return None
    condition, first, second = index.input
    if condition == mask and _is_before(ctx, first, mask):
        if _is_last_step(ctx, second, mask):
            return "zero"
        return "after" if _is_count(ctx, second, mask) else None
    less = nodes.producer(ctx, condition)
    is_before = less is not None and less.type == "Less" and nodes.value(ctx, less.input[1]) == 0
    if is_before and less.input[0] == second and _is_before(ctx, second, mask):
        return "before" if _is_last_step(ctx, first, mask) else None
    return None


def _is_cast(ctx, name, mask):
    node = nodes.producer(ctx, name)
    return node is not None and node.type == "Cast" and node.input[0] == mask


def _is_count(ctx, name, mask):
    node = nodes.producer(ctx, name)
    if node is None or node.type != "Cumsum" or nodes.value(ctx, node.input[1]) not in (1, -1):
        return False
    options = [nodes.attribute(node, option, False) for option in ("exclusive", "reverse")]
    return not any(options) and _is_cast(ctx, node.input[0], mask)


def _is_one_less(ctx, name):
    """Whether a tensor is another one minus 1."""
    node = nodes.producer(ctx, name)
    return node is not None and node.type == "Sub" and nodes.value(ctx, node.input[1]) == 1


def _is_before(ctx, name, mask):
    return _is_one_less(ctx, name) and _is_count(ctx, nodes.producer(ctx, name).input[0], mask)


def _is_last_step(ctx, name, mask):
    """Whether a number is T - 1."""
    known, time = nodes.value(ctx, name), ctx.get_shape(mask)[1]
    if known is not None:
        return known == time - 1
    return _is_one_less(ctx, name) and _is_time(ctx, nodes.producer(ctx, name).input[0], mask)


def _is_time(ctx, name, mask):
    """Whether a number is T of the mask."""
    known, time = nodes.value(ctx, name), ctx.get_shape(mask)[1]
    if known is not None:
        return known == time
    node = nodes.producer(ctx, name)
    if node is None or node.type != "StridedSlice" or nodes.value(ctx, node.input[1]) != [1]:
        return False
    shape = nodes.producer(ctx, node.input[0])
    return shape is not None and shape.type == "Shape" and shape.input[0] == mask
