"""tf2onnx's handlers of our recurrent ops, of TensorFlow's, and of functions that tf2onnx lacks.

Importing this module registers them.

tf2onnx calls a method version_N for version N of ONNX and later versions.
"""

from typing import Any, Callable

import numpy as np
from onnx import TensorProto
from tf2onnx import utils
from tf2onnx.graph import Graph, Node
from tf2onnx.handler import tf_op

from tf_rnn_ops._formats.onnx import nodes, weights
from tf_rnn_ops._formats.onnx.emitting import Builder
from tf_rnn_ops.raw_ops.table import PREFIX


@tf_op(list(nodes.LAYERS))
class LayerRNN:
    """One layer in one direction, with Keras's weights."""

    @classmethod
    def version_13(cls, ctx: Graph, node: Node, **kwargs: Any) -> None:
        emit_layer(ctx, nodes.layer_of(ctx, node))


def emit_layer(ctx: Graph, layer: nodes.Layer, reverse: bool = False) -> None:
    """Replaces a LayerRNN by a node of ONNX.

    Args:
        ctx: The tf2onnx.graph.Graph.
        layer: A nodes.Layer.
        reverse: Whether the node processes the last step first. Input and output are in the order of time.
    """
    onnx_node = weights.backwards(layer.onnx_node) if reverse else layer.onnx_node
    units = onnx_node.attributes["hidden_size"]
    outputs = list(layer.node.output)
    build = Builder(ctx, layer.node)
    x = layer.x if layer.time_major else build.transpose(layer.x, [1, 0, 2])
    states = [build.reshape(s, [1, -1, units]) if s else "" for s in (layer.h, layer.c)]
    y, final = build.recurrent(onnx_node, x, layer.lengths, states)
    if build.is_used(outputs[0]):
        build.connect(outputs[0], build.sequence(y, 1, units, layer.time_major))
    for output, state in zip(outputs[1:], final):
        if build.is_used(output):
            build.connect(output, build.reshape(state, [-1, units]))
    build.close(outputs)


@tf_op([f"{PREFIX}Pack{what}" for what in ("LayerRNN", "CudnnRNNParams", "QuantizedLayerRNN")])
class Pack:
    """Packed weights, which the nodes of ONNX do not need."""

    @classmethod
    def version_13(cls, ctx: Graph, node: Node, **kwargs: Any) -> None:
        (packed,) = node.output
        build = Builder(ctx, node)
        if build.is_used(packed):
            build.connect(packed, build.constant([], np.uint8))


@tf_op(list(nodes.STACKS))
class CudnnRNN:
    """A stack: a node of ONNX for each of its layers."""

    @classmethod
    def version_13(cls, ctx: Graph, node: Node, **kwargs: Any) -> None:
        stack = nodes.stack_of(ctx, node)
        dirs, _, units = stack.layers[0].R.shape
        outputs = list(node.output)
        build = Builder(ctx, node)

        def turned(tensor: str) -> str:
            return tensor if stack.time_major or not tensor else build.transpose(tensor, [1, 0, 2])

        x, h, c = map(turned, (stack.x, stack.h, stack.c))
        final = []
        for k, layer in enumerate(stack.layers):
            rows = list(range(k * dirs, (k + 1) * dirs))
            one = len(stack.layers) == 1
            states = [s if one or not s else build.pick(s, rows, 0) for s in (h, c)]
            y, own = build.recurrent(layer, x, stack.lengths, states)
            final.append(own)
            x = build.sequence(y, dirs, units, True)
        if build.is_used(outputs[0]):
            build.connect(outputs[0], turned(x))
        for output, parts in zip(outputs[1:], zip(*final)):
            if build.is_used(output):
                build.connect(output, turned(build.concat(list(parts), 0)))
        build.close(outputs)


@tf_op(list(nodes.BLOCKS))
class BlockLSTM:
    """An LSTM, of which only the output of all steps is read."""

    @classmethod
    def version_13(cls, ctx: Graph, node: Node, **kwargs: Any) -> None:
        layer = nodes.block_of(ctx, node)
        units = layer.onnx_node.attributes["hidden_size"]
        outputs = list(node.output)
        build = Builder(ctx, node)
        lengths = layer.lengths
        if lengths:  # one number for all sequences
            rows = build.pick(build.node("Shape", [layer.x])[0], [1], 0)
            lengths = build.cast(build.node("Expand", [lengths, rows])[0], TensorProto.INT32)
        states = [build.reshape(s, [1, -1, units]) if s else "" for s in (layer.h, layer.c)]
        y, _ = build.recurrent(layer.onnx_node, layer.x, lengths, states)
        build.connect(outputs[6], build.sequence(y, 1, units, True))
        build.close(outputs[6:])


@tf_op("Erfc")
class Erfc:
    """1 - erf(x), as in gelu. The results are as exact as numbers near 1, also if they are much smaller."""

    @classmethod
    def version_13(cls, ctx: Graph, node: Node, **kwargs: Any) -> None:
        def compute(build: Builder, x: str, number: Callable[[float], str]) -> str:
            return build.node("Sub", [number(1), *build.node("Erf", [x])])[0]

        _emit_function(ctx, node, compute)


@tf_op("Expm1")
class Expm1:
    """exp(x) - 1 = tanh(x / 2) * (exp(x) + 1), as in celu."""

    @classmethod
    def version_13(cls, ctx: Graph, node: Node, **kwargs: Any) -> None:
        def compute(build: Builder, x: str, number: Callable[[float], str]) -> str:
            tanh = build.node("Tanh", build.node("Mul", [x, number(0.5)]))
            return build.node(
                "Mul", [*tanh, *build.node("Add", [*build.node("Exp", [x]), number(1)])]
            )[0]

        _emit_function(ctx, node, compute)


@tf_op("Log1p")
class Log1p:
    """log(1 + x), which is 2 * atanh(x / (x + 2)) near 0, where 1 + x loses digits."""

    @classmethod
    def version_13(cls, ctx: Graph, node: Node, **kwargs: Any) -> None:
        def compute(build: Builder, x: str, number: Callable[[float], str]) -> str:
            ratio = build.node("Div", [x, *build.node("Add", [x, number(2)])])
            near = build.node("Mul", [*build.node("Atanh", ratio), number(2)])
            far = build.node("Log", build.node("Add", [x, number(1)]))
            is_near = build.node("Less", [*build.node("Abs", [x]), number(0.5)])
            return build.node("Where", [*is_near, *near, *far])[0]

        _emit_function(ctx, node, compute)


def _emit_function(
    ctx: Graph, node: Node, compute: Callable[[Builder, str, Callable[[float], str]], str]
) -> None:
    """Replaces a node of one input and one output.

    Args:
        ctx: The tf2onnx.graph.Graph.
        node: The node.
        compute: A function that adds nodes and returns the name of the result. Its arguments are a Builder, the name of
            the input, and a function that adds a constant of the input's type.
    """
    (x,), outputs = node.input, list(node.output)
    dtype = utils.map_onnx_to_numpy_type(ctx.get_dtype(x))
    build = Builder(ctx, node)
    if build.is_used(outputs[0]):
        build.connect(outputs[0], compute(build, x, lambda value: build.constant(value, dtype)))
