"""The recurrent nodes of an ONNX ModelProto: their weights, and the sources of their other inputs."""

import numpy as np

from tf_rnn_ops.params.onnx import chain
from tf_rnn_ops.params.onnx.chain import CALLER, CONSTANT, LAYER, NOTHING, OTHER, Fed, Link
from tf_rnn_ops.params.onnx.trace import Tracer, batch_first, is_recurrent, name_of

_WEIGHTS = ((1, "W"), (2, "R"), (3, "B"), (7, "P"))
_STATES = ((5, "initial_h"), (6, "initial_c"))
_LENGTHS = 4
# {AttributeProto.AttributeType: field of the value}.
_ATTRIBUTE_FIELDS = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}
_GRAPHS = {5: "g", 10: "graphs"}


def recurrent_nodes(model, names, stack):
    """The LSTM, GRU and RNN nodes of a model.

    Args:
        model: A ModelProto.
        names: Names of nodes, or None for all.
        stack: Whether they must be one stack.

    Returns:
        A list of (op_type, W, R, B, P, attributes), in the order of `names` or of the graph.

    Raises:
        ValueError: There are no such nodes, a name is unknown or not unique, a weight is not constant,
            initial states or lengths are neither absent nor inputs of the graph, or the nodes are not a
            stack.
    """
    tracer = Tracer(_inlined(model))
    nodes = _named([node for node in tracer.nodes if is_recurrent(node)], names)
    if names is None:
        _check_inner_graphs(tracer.nodes)
    if not nodes:
        raise ValueError("The graph of the model has no LSTM, GRU or RNN node.")
    found = [
        (node.op_type, *(_weight(tracer, node, *one) for one in _WEIGHTS), _attributes(node))
        for node in nodes
    ]
    links = [_link(tracer, node) for node in nodes]
    if stack:
        chain.check_stack(links)
    for link in links:
        chain.check_inputs(link)
    return found


def _inlined(model):
    """The model with calls of its own functions replaced by their nodes. The package onnx inlines them."""
    if not getattr(model, "functions", None):
        return model
    from onnx import inliner

    return inliner.inline_local_functions(model)


def _named(nodes, names):
    """The nodes with these names, or all nodes."""
    if names is None:
        return nodes
    found = []
    for name in names:
        fitting = [node for node in nodes if node.name == name]
        if not fitting:
            raise ValueError(
                f"The model has no LSTM, GRU or RNN node named {name!r}; it has "
                f"{sorted(node.name for node in nodes)}."
            )
        if len(fitting) > 1:
            raise ValueError(
                f"The model has {len(fitting)} LSTM, GRU or RNN nodes named {name!r}: give them names "
                "that are different."
            )
        found += fitting
    return found


def _check_inner_graphs(nodes):
    """Raises ValueError if a branch or loop of the graph has recurrent nodes."""
    for outer in nodes:
        stack = _inner_nodes(outer)
        while stack:
            node = stack.pop()
            if is_recurrent(node):
                raise ValueError(
                    f"{name_of(node)} is in a graph inside of {name_of(outer)} ({outer.op_type}), "
                    "which is not converted: give the names of nodes outside of it, or move the node there."
                )
            stack += _inner_nodes(node)


def _inner_nodes(node):
    graphs = []
    for attribute in node.attribute:
        if attribute.type in _GRAPHS:
            value = getattr(attribute, _GRAPHS[attribute.type])
            graphs += value if attribute.type == 10 else [value]
    return [inner for graph in graphs for inner in graph.node]


def _input(node, k):
    """The name of input k of a node; '' for a missing one."""
    return node.input[k] if k < len(node.input) else ""


def _weight(tracer, node, k, what):
    name = _input(node, k)
    if not name:
        return None
    traced = tracer.trace(name)
    if not traced.is_constant:
        raise ValueError(
            f"{what} of {name_of(node)} is {name!r}, which is not a constant of the graph: it comes from "
            f"{_what(tracer, traced)}."
        )
    values = traced.values[0]
    return values.astype(np.float32) if values.dtype.name == "bfloat16" else values


def _attributes(node):
    attributes = {}
    for attribute in node.attribute:
        field = _ATTRIBUTE_FIELDS.get(attribute.type)
        if field is not None:
            value = getattr(attribute, field)
            attributes[attribute.name] = (
                list(value) if field.endswith("s") and len(field) > 1 else value
            )
    return attributes


# ---- the sources of a node's inputs ----


def _link(tracer, node):
    states = {name: _state(tracer, node, _input(node, k)) for k, name in _STATES}
    if node.op_type != "LSTM":
        del states["initial_c"]
    return Link(
        key=id(node),
        name=name_of(node),
        sequence=_sequence(tracer, node),
        states=states,
        lengths=_lengths(tracer, node),
    )


def _what(tracer, traced):
    """Text that names the source of a tensor."""
    if traced.stop:
        return traced.stop
    if traced.labels is not None:
        return " and ".join(source.what for source in tracer.feeds(traced.labels[0]))
    constant = np.array_equal(*(np.unique(values) for values in traced.values))
    return "a constant" if constant else "the sizes of its inputs"


def _sequence(tracer, node):
    """The Fed of X. It is a LAYER if X is the Y of a node, with the directions joined."""
    name = _input(node, 0)
    if not name:
        return Fed(OTHER, "nothing")
    traced = tracer.trace(name)
    what = _what(tracer, traced)
    if traced.labels is None:
        return Fed(OTHER, what)
    sources = tracer.feeds(traced.labels[0])
    if len(sources) != 1 or sources[0].node is None or sources[0].output != 0:
        return Fed(OTHER, what)
    made = sources[0].node
    for probe, labels in enumerate(traced.labels):
        y = tracer.trace(made.output[0]).labels[probe]
        y = y.transpose(1, 0, 2, 3) if batch_first(made) else y.transpose(0, 2, 1, 3)
        y = y.reshape(*y.shape[:2], -1)
        x = labels.swapaxes(0, 1) if batch_first(node) and labels.ndim == 3 else labels
        if not np.array_equal(x, y):
            return Fed(OTHER, f"its elements in another order or number than {what} has them")
    return Fed(LAYER, what, id(made))


def _state(tracer, node, name):
    """The Fed of an initial state. It is NOTHING if all values are 0."""
    if not name:
        return Fed(NOTHING)
    traced = tracer.trace(name)
    if traced.values is not None:
        zero = not any(np.any(values) for values in traced.values)
        return Fed(NOTHING) if zero else _of_no_input(tracer, traced)
    return _of_caller(tracer, node, traced)


def _lengths(tracer, node):
    """The Fed of the lengths. It is NOTHING if all lengths are T."""
    name = _input(node, _LENGTHS)
    if not name:
        return Fed(NOTHING)
    traced = tracer.trace(name)
    if traced.values is not None:
        steps = tracer.steps(node)
        full = all(np.all(lengths == most) for lengths, (most, _) in zip(traced.values, steps))
        return Fed(NOTHING) if full else _of_no_input(tracer, traced)
    return _of_caller(tracer, node, traced)


def _of_no_input(tracer, traced):
    """The Fed CONSTANT, or OTHER for values that change with the sizes of inputs."""
    what = _what(tracer, traced)
    kind = CONSTANT if what == "a constant" else OTHER
    return Fed(kind, what, traced.values[0].tobytes())


def _of_caller(tracer, node, traced):
    """The Fed CALLER if the tensor has the elements of one input in their order; otherwise OTHER."""
    what = _what(tracer, traced)
    if traced.labels is None:
        return Fed(OTHER, what, what)
    source, *others = tracer.feeds(traced.labels[0])
    if others or source.node is not None:
        return Fed(OTHER, what, what)
    swap = batch_first(node) and traced.labels[0].ndim == 3
    rows = [labels.swapaxes(0, 1) if swap else labels for labels in traced.labels]
    if not all(np.all(np.diff(row, axis=axis) > 0) for row in rows for axis in range(row.ndim)):
        return Fed(OTHER, f"rearranged elements of {what}", what)
    if _is_part_of_a_sequence(tracer, source, traced):
        return Fed(OTHER, f"{what}, which is also the sequence of a node", what)
    first, last = (int(rows[0][k].flat[0]) for k in (0, -1))
    return Fed(CALLER, what, (what, first, last))


def _is_part_of_a_sequence(tracer, source, traced):
    """Whether a tensor is a proper part of an input that is also the X of a recurrent node."""
    if traced.labels[0].size == tracer.trace(source.name).labels[0].size:
        return False
    for node in tracer.nodes:
        x = tracer.trace(_input(node, 0)) if is_recurrent(node) and _input(node, 0) else None
        if x is not None and x.labels is not None and tracer.feeds(x.labels[0]) == [source]:
            return True
    return False
