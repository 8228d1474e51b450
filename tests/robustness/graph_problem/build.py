"""Makes the model of ONNX that a Graph describes, and its inputs."""

import zlib
from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from robustness.graph_problem import feeds

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_LAST = np.iinfo(np.int64).max


class Seen(NamedTuple):
    """Names of the inputs and of the output of a node, time-major: [T, B, F], [D, B, H]; '' if missing."""

    x: str
    h: str
    c: str
    lengths: str
    y: str


class Builder:
    """Collects the nodes, constants and inputs of a graph.

    Args:
        graph: A Graph.
        steps: T.
        batch: B.
        oracle: Whether nodes are written with layout=0, which ONNX Runtime has, and every Seen is an
            output.
    """

    def __init__(self, graph, steps, batch, oracle):
        self.graph, self.steps, self.batch, self.oracle = graph, steps, batch, oracle
        self.nodes, self.tensors, self.inputs, self.feeds = [], {}, {}, {}
        self.count = 0

    def name(self, prefix="t"):
        self.count += 1
        return f"{prefix}{self.count}"

    def add(self, op_type, *inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(
            helper.make_node(op_type, list(inputs), names, self.name("n"), **attributes)
        )
        return names[0] if outputs == 1 else names

    def const(self, array, name=None):
        name = name or self.name("k")
        self.tensors[name] = numpy_helper.from_array(np.asarray(array), name)
        return name

    def ints(self, *numbers):
        return self.const(np.array(numbers, np.int64))

    def normal(self, what, shape, scale=0.5):
        """Numbers that follow from the line and a name."""
        rng = np.random.default_rng([self.graph.seed, zlib.crc32(what.encode())])
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    def input(self, name, array, dims):
        """An input; `dims` has a letter for each open dimension and 0 for another."""
        if name not in self.inputs:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            shape = {
                "static": list(array.shape),
                "named": [size if d == "0" else d for d, size in zip(dims, array.shape)],
                "open": [size if d == "0" else None for d, size in zip(dims, array.shape)],
            }[self.graph.dims]
            self.inputs[name] = helper.make_tensor_value_info(name, kind, shape)
            self.feeds[name] = array
        return name

    # ---- nodes whose form depends on the opset ----

    def squeeze(self, x, *axes):
        if self.graph.opset < 13:
            return self.add("Squeeze", x, **({"axes": axes} if axes else {}))
        return self.add("Squeeze", x, *([self.ints(*axes)] if axes else []))

    def unsqueeze(self, x, *axes):
        if self.graph.opset < 13:
            return self.add("Unsqueeze", x, axes=axes)
        return self.add("Unsqueeze", x, self.ints(*axes))

    def split(self, x, sizes, axis):
        if self.graph.opset < 13:
            return self.add("Split", x, outputs=len(sizes), axis=axis, split=sizes)
        return self.add("Split", x, self.ints(*sizes), outputs=len(sizes), axis=axis)

    def slice(self, x, start, end, axis, step=1):
        return self.add("Slice", x, *(self.ints(n) for n in (start, end, axis, step)))

    def cast(self, x, dtype):
        return self.add("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def size(self, x, axis):
        """[size of an axis], from the shape."""
        return self.unsqueeze(
            self.add("Gather", self.add("Shape", x), self.const(np.int64(axis))), 0
        )

    def flip(self, x, axis):
        return self.slice(x, -1, -_LAST, axis, -1)


def build(graph, steps, batch, oracle):
    """(model, inputs, [Seen of each node]) of a Graph.

    With `oracle` the names in the Seens are outputs of the model; otherwise the output is the last Y.
    """
    b = Builder(graph, steps, batch, oracle)
    x = b.input("x", b.normal("x", (steps, batch, graph.I), 1.0), "tb0")
    sequence, width, seen = x, graph.I, []
    for k, op in enumerate(graph.ops):
        if k:
            sequence, width = feeds.between(b, k, graph.between[k - 1], seen[-1], x)
        dirs = 1 + (graph.direction[k] == "bidirectional")
        states = [feeds.state(b, k, kind, x, seen) for kind in "hc"[: 1 + (op == "LSTM")]]
        lengths = feeds.lengths(b, graph.lengths[k], x)
        weights = _weights(b, k, dirs, width, x)
        seen.append(_recurrent(b, k, sequence, lengths, states, weights))
    used = {n for one in seen for n in one if n} if oracle else {seen[-1][-1]}
    outputs = [_output(b, n) for n in sorted(used)]
    model = helper.make_model(
        helper.make_graph(
            b.nodes, "graph", list(b.inputs.values()), outputs, list(b.tensors.values())
        ),
        opset_imports=[helper.make_opsetid("", graph.opset)],
        ir_version=8,
    )
    return model, b.feeds, seen


def _output(b, name):
    """A ValueInfo of x, h, c, lengths or y."""
    if name in b.inputs:
        return b.inputs[name]
    lengths = [node.input[4] for node in b.nodes if node.op_type in GATES and len(node.input) > 4]
    kind, rank = (TensorProto.INT32, 1) if name in lengths else (TensorProto.FLOAT, 3)
    return helper.make_tensor_value_info(name, kind, [None] * rank)


def _weights(b, k, dirs, width, x):
    graph = b.graph
    gates, units = GATES[graph.ops[k]], graph.units[k]
    shapes = {"W": (dirs, gates * units, width), "R": (dirs, gates * units, units)}
    if graph.bias[k]:
        shapes["B"] = (dirs, 2 * gates * units)
    if graph.peepholes[k]:
        shapes["P"] = (dirs, 3 * units)

    def numbers(name, shape):
        # Larger recurrent weights would amplify the rounding of each step.
        return b.normal(f"{name}{k}", shape, 0.5 if name != "R" else 0.3)

    return {
        name: feeds.weight(b, graph.weights[k], numbers(name, shape), f"{name}{k}", x)
        for name, shape in shapes.items()
    }


def _recurrent(b, k, x, lengths, states, weights):
    """Adds node k; all tensors are time-major. Returns its Seen."""
    graph = b.graph
    op, layout = graph.ops[k], graph.layout[k] and not b.oracle
    attributes = {"hidden_size": graph.units[k], "direction": graph.direction[k]}
    if layout:
        attributes["layout"] = 1
    if op == "GRU":
        attributes["linear_before_reset"] = graph.reset_after[k]
    given = [b.add("Transpose", n, perm=[1, 0, 2]) if n and layout else n for n in (x, *states)]
    h, c = (*given[1:], "")[:2]
    names = [weights.get(n, "") for n in "WRB"]
    inputs = [given[0], *names, lengths, h, *([c, weights.get("P", "")] if op == "LSTM" else [])]
    while not inputs[-1]:
        inputs.pop()
    outputs = b.add(op, *inputs, outputs=3 if op == "LSTM" else 2, **attributes)
    y = b.add("Transpose", outputs[0], perm=[1, 2, 0, 3]) if layout else outputs[0]
    last = [b.add("Transpose", n, perm=[1, 0, 2]) if layout else n for n in outputs[1:]]
    b.last = getattr(b, "last", []) + [(y, *last)]
    joined = b.add("Reshape", b.add("Transpose", y, perm=[0, 2, 1, 3]), b.ints(0, 0, -1))
    return Seen(x, states[0], states[1] if op == "LSTM" else "", lengths, joined)
