"""Recurrent nodes of a ModelProto of ONNX, without importing onnx."""

import numpy as np

_OP_TYPES = ("LSTM", "GRU", "RNN")
# TensorProto.DataType of what weights are, and the field that holds values without raw_data.
_FLOAT, _FLOAT16, _DOUBLE, _BFLOAT16 = 1, 10, 11, 16
# Nodes that hand on the values that they get.
_TRANSPARENT = ("Transpose", "Squeeze", "Unsqueeze", "Reshape", "Identity", "Dropout", "Cast")
_EXTERNAL = 1  # TensorProto.DataLocation
# AttributeProto.AttributeType, and the fields.
_ATTRIBUTE_FIELDS = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}


def recurrent_nodes(model, names):
    """The LSTM, GRU and RNN nodes of a model.

    Args:
        model: A ModelProto.
        names: Names of nodes, or None for all.

    Returns:
        A list of (op_type, W, R, B, P, attributes), in the order of `names` or of the graph.

    Raises:
        ValueError: There are none, a name is unknown, a weight is no constant of the graph, states to
            begin with are constants other than 0, or lengths are constants below T.
    """
    graph = model.graph
    nodes = [node for node in graph.node if node.op_type in _OP_TYPES]
    if names is not None:
        by_name = {node.name: node for node in nodes}
        missing = [name for name in names if name not in by_name]
        if missing:
            raise ValueError(
                f"The model has no LSTM, GRU or RNN node named {missing[0]!r}; it has "
                f"{sorted(by_name)}."
            )
        nodes = [by_name[name] for name in names]
    if not nodes:
        raise ValueError("The graph of the model has no LSTM, GRU or RNN node.")
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            constants[node.output[0]] = node.attribute[0].t
    steps = _known_steps(graph)
    return [_read(node, constants, steps.get(next(iter(node.input), ""))) for node in nodes]


def _known_steps(graph):
    """{name of a tensor: its first dimension}, T of an X, where the model says it."""
    found = {}
    for value in (*graph.input, *graph.value_info):
        dims = value.type.tensor_type.shape.dim
        if dims and dims[0].dim_value:
            found[value.name] = dims[0].dim_value
    return found


def check_chain(model):
    """Refuses a model whose recurrent nodes are not fed each by the one before it."""
    makers = {
        name: (node, k) for node in model.graph.node for k, name in enumerate(node.output) if name
    }
    nodes = [node for node in model.graph.node if node.op_type in _OP_TYPES]
    for before, node in zip(nodes, nodes[1:]):
        if _source(node, makers) != (before, 0):  # its Y
            raise ValueError(
                f"The node {node.name!r} does not get the output of the node {before.name!r} before "
                "it, so they are no stack: give the names of nodes, such as each for itself."
            )


def _source(node, makers):
    """The node that made the first input, seen through others, and the number of its output."""
    seen = set()
    while True:
        name = next(iter(node.input), "")
        node, output = makers.get(name, (None, 0))
        if node is None or node.op_type not in _TRANSPARENT or name in seen:
            return node, output
        seen.add(name)


def _read(node, constants, steps):
    inputs = [*node.input, *[""] * 8]  # what is left out is '' or missing
    weights = []
    for k, what in ((1, "W"), (2, "R"), (3, "B"), (7, "P")):
        name = inputs[k]
        if name and name not in constants:
            raise ValueError(
                f"{what} of the node {node.name!r} is {name!r}, which is no constant of the graph."
            )
        weights.append(_array(constants[name]) if name else None)
    if inputs[4] in constants and not _are_all(constants[inputs[4]], steps):
        raise ValueError(
            f"sequence_lens of the node {node.name!r} is a constant, which no weights hold: make it an "
            "input of the graph and pass the lengths, or a mask, with each call."
        )
    for k, what in ((5, "initial_h"), (6, "initial_c")):
        if inputs[k] in constants and not _is_zero(constants[inputs[k]]):
            raise ValueError(
                f"{what} of the node {node.name!r} is a constant that is not 0, which no weights hold: "
                "make it an input of the graph and pass the states with each call."
            )
    attributes = {}
    for attribute in node.attribute:
        field = _ATTRIBUTE_FIELDS.get(attribute.type)
        if field is not None:
            value = getattr(attribute, field)
            attributes[attribute.name] = (
                list(value) if field.endswith("s") and len(field) > 1 else value
            )
    return node.op_type, *weights, attributes


def _are_all(tensor, steps):
    """Whether lengths, which are int32, are those of all steps."""
    raw = np.frombuffer(tensor.raw_data, "<i4") if tensor.raw_data else tensor.int32_data
    return bool(np.all(np.asarray(raw) == steps))


def _is_zero(tensor):
    try:
        return not np.any(_array(tensor))
    except ValueError:  # no numbers that could be weights
        return False


def _array(tensor):
    """A TensorProto as an array; bfloat16 becomes float32, exactly."""
    if tensor.data_location == _EXTERNAL:
        raise ValueError(
            f"The values of {tensor.name!r} are in another file: load it too, as onnx.load does."
        )
    kind, shape = tensor.data_type, tuple(tensor.dims)
    if kind in (_FLOAT16, _BFLOAT16):
        bits = (
            np.frombuffer(tensor.raw_data, "<u2")
            if tensor.raw_data
            else np.array(tensor.int32_data, np.uint16)
        ).reshape(shape)
        if kind == _FLOAT16:
            return bits.astype(np.uint16).view(np.float16)
        return (bits.astype(np.uint32) << 16).view(np.float32)
    if kind not in (_FLOAT, _DOUBLE):
        raise ValueError(
            f"{tensor.name!r} must hold floating point numbers, but its data_type is {kind}."
        )
    dtype = np.dtype(np.float32 if kind == _FLOAT else np.float64)
    if tensor.raw_data:
        array = np.frombuffer(tensor.raw_data, dtype.newbyteorder("<"))
    else:
        array = np.array(tensor.float_data if kind == _FLOAT else tensor.double_data, dtype)
    return array.astype(dtype).reshape(shape)
