"""Finds the sizes of the network behind a node, from the shapes that a graph records."""

from typing import Any, Sequence

import tensorflow as tf

from tf_rnn_ops.native.tf_internals import graphs, registries
from tf_rnn_ops.params import Layout
from tf_rnn_ops.plain import sizes
from tf_rnn_ops.portable._nodes import attributes
from tf_rnn_ops.raw_ops.table import LAYER_ATTRS, STACK_ATTRS, signature

_Sizes = list[int | None] | None


class Shapes:
    """Static shapes of the tensors of one graph or function.

    The shapes are read from the attribute _output_shapes in a SavedModel. A graph without this attribute
    is imported, so that TensorFlow infers the shapes.
    """

    def __init__(self, graph_def: Any, function: Any = None) -> None:
        """`function`: a function in graph_def.library, or None for the graph itself."""
        self._graph_def = graph_def
        self._function = function
        nodes = graph_def.node if function is None else function.node_def
        self._nodes = {node.name: node for node in nodes}
        self._inferred: dict[str, _Sizes] | None = None

    def of(self, ref: str) -> _Sizes:
        """The shape for an input string of a node: a list of sizes with None for an unknown size, or None."""
        recorded = self._recorded(ref)
        if recorded is None or None in recorded:
            inferred = self._infer(ref)
            if inferred is not None:
                return inferred
        return recorded

    def of_output(self, node: Any, index: int, name: str) -> _Sizes:
        """The shape of output `index` of a node. `name`: the name of the output."""
        if self._function is None:
            return self.of(f"{node.name}:{index}")
        return self.of(f"{node.name}:{name}:0")

    def _recorded(self, ref: str) -> _Sizes:
        name, *rest = ref.split(":")
        if name not in self._nodes:
            return self._recorded_argument(name)
        node = self._nodes[name]
        index = int(rest[-1]) if rest else 0
        if len(rest) == 2:
            index += _first_index(node, rest[0])
        shapes = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else []
        return _sizes(shapes[index]) if 0 <= index < len(shapes) else None

    def _recorded_argument(self, name: str) -> _Sizes:
        if self._function is None or "_input_shapes" not in self._function.attr:
            return None
        names = [arg.name for arg in self._function.signature.input_arg]
        shapes = self._function.attr["_input_shapes"].list.shape
        if name not in names or names.index(name) >= len(shapes):
            return None
        return _sizes(shapes[names.index(name)])

    def _infer(self, ref: str) -> _Sizes:
        if self._inferred is None:
            try:
                self._inferred = _infer_all(self._graph_def, self._function)
            except (ValueError, KeyError, tf.errors.OpError):
                # An op may not be loaded, for instance. Then only recorded shapes are known.
                self._inferred = {}
        if self._function is None and ":" not in ref:
            ref = f"{ref}:0"
        return self._inferred.get(ref)


def _sizes(shape: Any) -> _Sizes:
    if shape.unknown_rank:
        return None
    return [None if dim.size < 0 else dim.size for dim in shape.dim]


def _first_index(node: Any, output: str) -> int:
    """The number of the first tensor of a named output. It is out of range if unknown."""
    op_def = registries.op_def(node.op)
    if op_def is None:
        return 1 << 30
    index = 0
    for arg in op_def.output_arg:
        if arg.name == output:
            return index
        if arg.number_attr:
            index += node.attr[arg.number_attr].i
        elif arg.type_list_attr:
            index += len(node.attr[arg.type_list_attr].list.type)
        else:
            index += 1
    return 1 << 30


def _infer_all(graph_def: Any, function: Any) -> dict[str, _Sizes]:
    """The shapes of all tensors of a graph or function: {input string: shape}."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
        if function is None:
            return {
                tensor.name: tensor.shape.as_list() if tensor.shape.rank is not None else None
                for op in graph.get_operations()
                for tensor in op.outputs
            }
        inner, names = graphs.graph_of_function(function)
        flat_graph = tf.Graph()
        with flat_graph.as_default():
            library = tf.compat.v1.GraphDef()
            library.CopyFrom(inner)
            library.library.CopyFrom(graph_def.library)
            tf.import_graph_def(library, name="")
        shapes = {}
        for nested, flat in names.items():
            if nested.startswith("^"):
                continue
            shape = flat_graph.get_tensor_by_name(flat).shape
            shapes[nested] = shape.as_list() if shape.rank is not None else None
        return shapes


def layout_of(node: Any, shapes: Shapes, time_major: bool) -> Layout:
    """The Layout of a CudnnRNN node, from the Shapes around it; see plain/sizes.py."""
    shapes_by_name = _shapes_of(node, shapes, outputs=("output_h", "output_c"))
    return sizes.layout_of(shapes_by_name, attributes(node, STACK_ATTRS), time_major)


def layer_of(node: Any, shapes: Shapes) -> sizes.Layer:
    """The Layer of a LayerRNN or LayerRNNPacked node."""
    shapes_by_name = _shapes_of(node, shapes, outputs=("output_h",))
    return sizes.layer_of(shapes_by_name, attributes(node, LAYER_ATTRS))


def block_of(node: Any, shapes: Shapes) -> tuple[int, int]:
    """H and I of a BlockLSTMV2 node."""
    return sizes.block_sizes_of(_shapes_of(node, shapes))


def _shapes_of(node: Any, shapes: Shapes, outputs: Sequence[str] = ()) -> dict[str, _Sizes]:
    """The shapes of the inputs and some of the outputs of a node, by name."""
    op = signature(node.op)
    shapes_by_name = {name: shapes.of(ref) for name, ref in zip(op.inputs, node.input)}
    return shapes_by_name | {
        name: shapes.of_output(node, op.outputs.index(name), name) for name in outputs
    }
