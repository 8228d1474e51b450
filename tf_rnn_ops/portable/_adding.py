"""Adds nodes to a graph or function, and finds constants in it."""

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from tf_rnn_ops.portable import _nodes

# {op of a new node: the name of its outputs, which functions name}.
_OUTPUTS = {
    **dict.fromkeys(("Const", "ConcatV2", "Reshape", "Split"), "output"),
    **dict.fromkeys(("AddV2", "Minimum", "Mul", "RealDiv"), "z"),
    **dict.fromkeys(("Cast", "Sign"), "y"),
}


class Adding:
    """A graph or function that gets new nodes."""

    def __init__(self, nodes: Any, host: Any) -> None:
        """`nodes`: its nodes. `host`: the function, or None for the graph itself."""
        self._nodes, self._host = nodes, host
        self._by_name = {node.name: node for node in nodes}

    def add(
        self,
        name: str,
        op: str,
        inputs: Sequence[str] = (),
        shape: Any = None,
        value: np.ndarray[Any, Any] | None = None,
        output: int = 0,
        **attrs: Any,
    ) -> str:
        """Adds a node, and returns the input string of an output.

        `shape`: the attribute of shape(), or None. `value`: the array of a Const. `attrs`: types and integers.
        """
        assert name not in self._by_name, name
        node = self._nodes.add(name=name, op=op, input=inputs)
        self._by_name[name] = node
        if value is not None:
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
            attrs = {"dtype": tf.as_dtype(value.dtype)}
        for attr, setting in attrs.items():
            if isinstance(setting, int):
                node.attr[attr].i = setting
            else:
                node.attr[attr].type = setting.as_datatype_enum
        if shape is not None:
            node.attr["_output_shapes"].CopyFrom(shape)
        return self.output(name, op, output)

    def output(self, name: str, op: str, k: int) -> str:
        """The input string of output k of an added node."""
        if self._host is not None:
            return f"{name}:{_OUTPUTS[op]}:{k}"
        return f"{name}:{k}" if k else name

    def constant(self, ref: str) -> np.ndarray | None:
        """The values of a constant; None for another tensor."""
        node = _nodes.constant(self._by_name, ref)
        return None if node is None else tf.make_ndarray(node.attr["value"].tensor)

    def shape(self, ref: str) -> Any:
        """The attribute with the shape that the graph records for a tensor, or None."""
        node = self._by_name.get(ref.split(":")[0])
        if node is None or "_output_shapes" not in node.attr:
            return None
        shapes = node.attr["_output_shapes"]
        return shapes if len(shapes.list.shape) == 1 else None


def changed(graph_def: Any, ops: Sequence[str], change: Callable[[Any, Adding], None]) -> Any:
    """Changes the nodes of some ops in a copy of a graph and its functions.

    Args:
        graph_def: A GraphDef; it is not changed.
        ops: The ops.
        change: A function of a node and of the Adding of its graph or function.

    Returns:
        A GraphDef; graph_def itself if it has no such node.
    """
    if not any(node.op in ops for node in _nodes.all_nodes(graph_def)):
        return graph_def
    result = type(graph_def)()
    result.CopyFrom(graph_def)
    for nodes, host in hosts(result):
        adding = Adding(nodes, host)
        for node in [node for node in nodes if node.op in ops]:
            change(node, adding)
    return result


def hosts(graph_def: Any) -> list[tuple[Any, Any]]:
    """(nodes, None) of the graph itself, and (nodes, function) of each function."""
    return [(graph_def.node, None), *((host.node_def, host) for host in graph_def.library.function)]
