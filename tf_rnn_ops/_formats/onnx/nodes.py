"""Reads our nodes and TensorFlow's in a graph of tf2onnx."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple

import numpy as np

from tf_rnn_ops._formats.onnx import weights
from tf_rnn_ops.params import to_onnx
from tf_rnn_ops.plain import sizes
from tf_rnn_ops.raw_ops.table import LAYER_ATTRS, PREFIX, STACK_ATTRS, signature

if TYPE_CHECKING:
    from tf2onnx.graph import Graph, Node

LAYERS = (f"{PREFIX}LayerRNN", f"{PREFIX}LayerRNNPacked")
_WITHOUT_LENGTHS = ("CudnnRNN", "CudnnRNNV2")
STACKS = (
    *(f"{PREFIX}CudnnRNNV3", f"{PREFIX}CudnnRNNV3Packed", f"{PREFIX}StatelessCudnnRNNV3"),
    *(*_WITHOUT_LENGTHS, "CudnnRNNV3"),
)
# TensorFlow's become this op before: see preparing.
BLOCKS = (f"{PREFIX}BlockLSTMV2",)
_STACK_TENSORS = ("input", "input_h", "input_c", "params")


class CannotWrite(ValueError):
    """The error for a node that cannot be written, with the reason."""


@contextlib.contextmanager
def errors_of_tf2onnx() -> Iterator[None]:
    """Raises a ValueError of one sentence for an error of a call of tf2onnx, which may be of any class."""
    try:
        yield
    except CannotWrite:  # of our handlers, which tf2onnx calls
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"tf2onnx cannot convert the model: {reason}") from error


class Layer(NamedTuple):
    """A LayerRNN node.

    Attributes:
        node: The tf2onnx.graph.Node.
        onnx_node: The OnnxNode that computes the layer forward.
        time_major: The attribute of the op.
        x: Name of the input. It and the next three names are empty for a tensor that is absent or 0.
        h: Name of the initial state h, [B, H].
        c: Name of the initial state c, [B, H].
        lengths: Name of the lengths, [B].
    """

    node: Any
    onnx_node: Any
    time_major: bool
    x: str
    h: str
    c: str
    lengths: str


def layer_of(ctx: Graph, node: Node) -> Layer:
    """The Layer of a LayerRNN or LayerRNNPacked node."""
    inputs = dict(
        zip(signature("LayerRNN").inputs, node.input[:10] if _is_packed(node) else node.input)
    )
    given = {name: name_ for name, name_ in inputs.items() if not _is_absent(ctx, name_)}
    attrs = {name: attribute(node, name, default) for name, default in LAYER_ATTRS.items()}
    names = ("kernel", "recurrent_kernel", "bias", "peepholes")
    arrays = {n: constant(ctx, node, n, given[n]) for n in names if n in given}
    return Layer(
        node,
        weights.of_layer(attrs, **arrays),
        bool(attribute(node, "time_major", True)),
        inputs["input"],
        inputs["input_h"],
        inputs["input_c"],
        given.get("sequence_lengths", ""),
    )


class Stack(NamedTuple):
    """A CudnnRNN node of any version.

    Attributes:
        layers: An OnnxNode for each layer.
        time_major: The attribute of the op.
        x: Name of the input. It and the next three names are empty for a tensor that is absent or 0.
        h: Name of the initial states h, [L*D, B, H] or [B, L*D, H].
        c: Name of the initial states c.
        lengths: Name of the lengths, [B].
    """

    layers: list
    time_major: bool
    x: str
    h: str
    c: str
    lengths: str


def stack_of(ctx: Graph, node: Node) -> Stack:
    """The Stack of a CudnnRNN node."""
    time_major = bool(attribute(node, "time_major", True))
    attrs = {name: attribute(node, name, default) for name, default in STACK_ATTRS.items()}
    shapes = dict(zip(_STACK_TENSORS, (_sizes(ctx, name) for name in node.input)))
    shapes["output_h"], shapes["output_c"] = (_sizes(ctx, name) for name in node.output[1:3])
    try:
        layout = sizes.layout_of(shapes, attrs, time_major)
    except sizes.UnknownSize as error:
        raise CannotWrite(f"The node {node.name!r} cannot be written: {error}.") from error
    params = constant(ctx, node, "params", node.input[3])
    x, h, c = node.input[:3]
    return Stack(
        # WHY float32: the node computes in float32.
        to_onnx(layout, np.asarray(params, np.float32)),
        time_major,
        x,
        h,
        c if attrs["rnn_mode"] == "lstm" else "",
        "" if node.type in _WITHOUT_LENGTHS else node.input[4],
    )


def block_of(ctx: Graph, node: Node) -> Layer:
    """The Layer of a BlockLSTM node. Its `lengths` is one number for all sequences."""
    length, x, c, h, w, wci, wcf, wco, b = node.input
    peepholes = None
    if attribute(node, "use_peephole", False):
        peepholes = np.stack([constant(ctx, node, "a peephole", n) for n in (wci, wcf, wco)])
    node_of_weights = weights.of_block(
        constant(ctx, node, "w", w), constant(ctx, node, "b", b), peepholes
    )
    return Layer(node, node_of_weights, True, x, h, c, length)


def _is_packed(node: Node) -> bool:
    """Whether the last input is the result of a Pack op."""
    return node.type.endswith("Packed")


def _is_absent(ctx: Graph, name: str) -> bool:
    """Whether an optional input is absent. A vector without elements stands for an absent input."""
    return not name or ctx.get_shape(name) == [0]


def attribute(node: Node, name: str, default: Any) -> Any:
    """The value of an attribute; bytes as a string."""
    value = node.get_attr_value(name, default)
    return value.decode() if isinstance(value, bytes) else value


def producer(ctx: Graph, name: str) -> Node | None:
    """The node that computes a tensor, behind Identity and StopGradient nodes; None for an input."""
    node = ctx.get_node_by_output(name) if name else None
    while node is not None and node.type in ("Identity", "StopGradient"):
        node = ctx.get_node_by_output(node.input[0])
    return node


def origin(ctx: Graph, name: str) -> str:
    """The name of a tensor before changes of its type."""
    node = ctx.get_node_by_output(name)
    while node is not None and node.type in ("Identity", "Cast", "StopGradient"):
        name = node.input[0]
        node = ctx.get_node_by_output(name)
    return name


def same(ctx: Graph, first: str, second: str) -> bool:
    """Whether two tensors are equal, except for their types."""
    return origin(ctx, first) == origin(ctx, second)


def value(ctx: Graph, name: str) -> Any:
    """The value of a tensor, as a list or a number; None if it is not constant."""
    node = producer(ctx, name)
    return node.get_tensor_value() if node is not None and node.is_const() else None


def constant(ctx: Graph, node: Node, what: str, name: str) -> np.ndarray[Any, Any]:
    """The values of a tensor.

    Raises:
        CannotWrite: The tensor is not constant.
    """
    made_by = producer(ctx, name)
    if made_by is None or not made_by.is_const():
        raise CannotWrite(f"{what} of the node {node.name!r} must be constant, but it is computed.")
    return made_by.get_tensor_value(as_list=False)


def _sizes(ctx: Graph, name: str) -> list[int | None] | None:
    """The shape of a tensor with None for an unknown size; None for an unknown rank."""
    shape = ctx.get_shape(name) if name else None
    return None if shape is None else [None if size < 0 else size for size in shape]
