"""Short names for the nodes and tensors of a file: those of the layers and of ONNX's ops.

    functional_1/bidirectional_1/forward_lstm_1/TfRnnOps>LayerRNNPacked/Transpose__98
    bidirectional/forward_lstm/Transpose

A recurrent node has the name of its layer. A constant has the name of the node that reads it first and that of
the input in ONNX's specification, such as lstm/W.
"""

import re
from typing import Iterator

import onnx

from tf_rnn_ops.params.gates import ONNX_OPS
from tf_rnn_ops.plain.names import MASK_CONDITION
from tf_rnn_ops.raw_ops.table import PREFIX

# The parts of names that TensorFlow and our ops add to those of the layers.
_ADDED = re.compile(rf"(Stateful)?PartitionedCall(_\d+)?|{PREFIX}.*|{MASK_CONDITION}.*")
_NUMBER = re.compile(r"_\d+$")


def shorten(graph: onnx.GraphProto) -> None:
    """Renames all nodes and tensors of a GraphProto but its inputs and outputs."""
    Names(graph).apply(graph)


class Names:
    """The names of a graph and of the graphs in its nodes."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._taken = {one.name for one in (*graph.input, *graph.output)}
        # {name of a tensor: its new name}.
        self._new = {name: name for name in self._taken}
        self._model, self._has_numbers = _common_scope([_scope(node.name) for node in _all(graph)])
        self._name_nodes(graph)

    def apply(self, graph: onnx.GraphProto) -> None:
        """Gives a graph the new names."""
        for node in graph.node:
            node.input[:] = [self._new.get(name, name) for name in node.input]
            node.output[:] = [self._new.get(name, name) for name in node.output]
            for inner in _graphs_of(node):
                self.apply(inner)
        for one in (*graph.initializer, *graph.input, *graph.output, *graph.value_info):
            one.name = self._new.get(one.name, one.name)

    def _name_nodes(self, graph: onnx.GraphProto) -> None:
        constants = {one.name for one in graph.initializer}
        for one in (*graph.input, *graph.output):
            self._new.setdefault(one.name, self._new.get(one.name) or self._fresh("inner"))
        for node in graph.node:
            node.name = self._fresh(self._name_of(node))
            for k, output in enumerate(node.output):
                if output and output not in self._new:
                    self._new[output] = self._fresh(
                        f"{node.name}:{k}" if k else node.name, node.name
                    )
            for name, role in zip(node.input, _roles(node)):
                if name in constants and name not in self._new:
                    self._new[name] = self._fresh(f"{node.name}/{role}")
            for inner in _graphs_of(node):
                self._name_nodes(inner)

    def _name_of(self, node: onnx.NodeProto) -> str:
        scope = _scope(node.name)
        if self._model and scope[:1] == [self._model]:
            scope = scope[1:]
        if self._has_numbers:
            scope = [_NUMBER.sub("", part) for part in scope]
        is_layer = node.op_type in ONNX_OPS.values() and scope
        return "/".join(scope if is_layer else [*scope, node.op_type])

    def _fresh(self, name: str, own: str | None = None) -> str:
        """A name that is not taken; that of a node may also be the name of its output."""
        found, number = name, 0
        while found in self._taken and found != own:
            number += 1
            found = f"{name}_{number}"
        self._taken.add(found)
        return found


def _graphs_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _all(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for inner in _graphs_of(node):
            yield from _all(inner)


def _scope(name: str) -> list[str]:
    """The names of the layers around a node."""
    parts: list[str] = []
    for part in name.split("/")[:-1]:
        if _ADDED.fullmatch(part) and parts:
            break
        if not _ADDED.fullmatch(part):
            parts.append(part)
    return parts


def _common_scope(scopes: list[list[str]]) -> tuple[str, bool]:
    """The name of the model, which all layers have, and whether Keras appended a number to each name.

    Keras 3 opens the scope of a layer twice, first to build it, so TensorFlow appends a number to the second.
    """
    scopes = [scope for scope in scopes if scope and scope != ["mask"]]
    first = {scope[0] for scope in scopes}
    names = first | {scope[1] for scope in scopes if len(scope) > 1}
    numbered = bool(names) and all(_NUMBER.search(name) for name in names)
    return (first.pop() if len(first) == 1 else ""), numbered


def _roles(node: onnx.NodeProto) -> list[str]:
    """The names of the inputs of a node in ONNX's specification."""
    if not onnx.defs.has(node.op_type, node.domain):
        return [str(k) for k in range(len(node.input))]
    named = [one.name for one in onnx.defs.get_schema(node.op_type, domain=node.domain).inputs]
    return [named[min(k, len(named) - 1)] for k in range(len(node.input))]
