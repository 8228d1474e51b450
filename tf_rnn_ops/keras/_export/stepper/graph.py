"""The graph of a stepper's file: its inputs, nodes and arrays."""

from typing import Any, Sequence

import numpy as np

from tf_rnn_ops._step import file_format
from tf_rnn_ops.keras._export.stepper.recurrent import Recurrent
from tf_rnn_ops.keras._export.stepper.values import Value


class Graph:
    """The graph of a file, to which a tracer.Tracer adds inputs, nodes and outputs.

    Attributes:
        inputs: A list with the inputs of the file.
        nodes: A list with its nodes.
        outputs: A list with its outputs.
        layers: A list of (name of a recurrent layer, its op).
    """

    def __init__(self) -> None:
        """Makes a graph without nodes."""
        self.inputs: list[dict[str, Any]] = []
        self.nodes: list[dict[str, Any]] = []
        self.outputs: list[dict[str, str]] = []
        self.layers: list[tuple[str, str]] = []
        self._arrays: dict[str, np.ndarray] = {}
        self._names: set[str] = set()
        self._limits: dict[str, tuple[int, int]] = {}  # {input: its smallest and largest integer}

    def add_input(
        self, name: str, dtype: str, has_time: bool, dims: list, limits: tuple[int, int]
    ) -> Value:
        """Adds an input. `limits`: its smallest and its largest integer, if it is read as int32."""
        self.inputs.append({"name": name, "dtype": dtype, "has_time": has_time, "dims": dims})
        self._limits[name] = limits
        self._names.add(name)
        return Value(name, has_time)

    def read_as_tokens(self, value: Value) -> bool:
        """Makes an input int32. The result is False for a value that is not an input."""
        found = [one for one in self.inputs if one["name"] == value.name]
        for one in found:
            one["dtype"] = "int32"
        return bool(found)

    def add(
        self, op: str, layer: str, inputs: Sequence[Value], has_time: bool, **fields: Any
    ) -> Value:
        """Adds a node with one output.

        Args:
            op: The op of the file.
            layer: The name of the layer.
            inputs: The inputs.
            has_time: Whether the output has time.
            **fields: The fields of the node, and `weights`, {name: array}.
        """
        name = self._name_for(layer)
        weights = {
            key: self._store(f"{name}/{key}", a) for key, a in fields.pop("weights", {}).items()
        }
        node = {"op": op, "name": layer, "inputs": [value.name for value in inputs]}
        self.nodes.append({**node, "outputs": [name], "weights": weights, **fields})
        return Value(name, has_time)

    def add_recurrent(
        self,
        layer: str,
        node: Recurrent,
        inputs: list[Value],
        states: list[str],
        lengths: Value | None = None,
    ) -> tuple[Value, dict[str, Any]]:
        """Adds the node of a cell or a stack, and returns its output and the node.

        Args:
            layer: The name of the layer.
            node: The node.
            inputs: The sequences, and of a window the initial states, unless they are zeros.
            states: The names of its states; none in a window.
            lengths: Those of the sequences of a window, or None.
        """
        has_time, known = inputs[0].has_time, {}
        if lengths is not None:
            inputs, known = [*inputs, lengths], {"lengths": True}
        fields = {"states": states, **known, **node.fields}
        value = self.add("rnn", layer, inputs, has_time, weights=node.weights, **fields)
        self.layers.append((layer, node.op))
        return value, self.nodes[-1]

    def state_after(self, node: dict[str, Any], k: int) -> Value:
        """The value of the k-th state of a recurrent node after the last step, counted from 1."""
        node["outputs"] += [""] * (k + 1 - len(node["outputs"]))
        node["outputs"][k] = node["outputs"][k] or self._name_for(f"{node['name']}_state_{k}")
        return Value(node["outputs"][k], False)

    def _name_for(self, wanted: str) -> str:
        """A name that no other value has."""
        name, k = wanted, 1
        while name in self._names:
            name, k = f"{wanted}_{k}", k + 1
        self._names.add(name)
        return name

    def _store(self, name: str, array: Any) -> str:
        array = np.asarray(array)
        self._arrays[name] = array if array.dtype == np.int8 else array.astype(np.float32)
        return name

    def content(self, **sizes: int | None) -> bytes:
        """The content of the file of a graph to which nothing more is added.

        Args:
            **sizes: B and T as the fields of the file: `batch_size`, and `time` or `window`. None is any number.
        """
        self._cast()
        parts = {"inputs": self.inputs, "nodes": self.nodes, "outputs": self.outputs}
        return file_format.content(sizes | parts, self._arrays)

    def _cast(self) -> None:
        """Adds the nodes of int32 inputs that are read as float32."""
        casts = []
        for name in [one["name"] for one in self.inputs if one["dtype"] == "int32"]:
            users = [node for node in self.nodes if not _reads_words(node)]
            lists = [node["inputs"] for node in users if name in node["inputs"]]
            if not lists and all(output["value"] != name for output in self.outputs):
                continue
            cast = self._name_for(f"{name}_float")
            for inputs in lists:
                inputs[:] = [cast if one == name else one for one in inputs]
            for output in self.outputs:
                output["value"] = cast if output["value"] == name else output["value"]
            smallest, largest = self._limits[name]
            node = {"op": "cast", "name": name, "inputs": [name], "outputs": [cast]}
            casts.append({**node, "smallest": smallest, "largest": largest})
        self.nodes[:0] = casts


def _reads_words(node: dict[str, Any]) -> bool:
    return node["op"] == "embedding" or (node["op"] == "lengths" and node["words"])
