"""The recurrent nodes of an ONNX ModelProto: their weights, and the sources of their other inputs.

onnxscript computes what is constant in the graph. Then a weight is an initializer, or it is not constant. A buffer
holds only weights: initial states and lengths must be absent, have the values of absent ones, or be inputs of the
graph, which the caller passes with each call.
"""

import sys
from typing import Any, Iterator, Sequence

import numpy as np

from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.params.onnx.graph import (
    DOMAINS,
    LENGTHS,
    RECURRENT,
    SEQUENCE,
    capital,
    input_of,
    is_recurrent,
    name_of,
    source_of,
    title,
)
from tf_rnn_ops.params.onnx.stack import REMEDY, check_chain, check_order

_WEIGHTS = ((1, "W"), (2, "R"), (3, "B"), (7, "P"))
_STATES = ((5, "initial_h"), (6, "initial_c"))
# Nodes that move elements without changing their values.
_MOVES = (
    "Cast", "Concat", "Dropout", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice",
    "Split", "Squeeze", "Transpose", "Unsqueeze",
)  # fmt: skip
# Moves that repeat elements, or join those of several inputs.
_JOINS = ("Concat", "Expand")
# TensorProto.DataType of float32, int32, int64 and float64. A cast to another type may change values.
_WIDE = (1, 6, 7, 11)
# Nodes that may draw random numbers.
_RANDOM = ("Bernoulli", "Dropout")
_CALLER = "make it an input of the graph and pass {} with each call."
_ARRAYS = "Make it an initializer, or give a params.OnnxNode with the arrays instead of the model."


def recurrent_nodes(model: Any, names: Sequence[str] | None, stack: bool) -> list[tuple]:
    """The LSTM, GRU and RNN nodes of a model.

    Args:
        model: A ModelProto.
        names: Names of nodes, or None for all. A node without a name has the name of its first output.
        stack: Whether the nodes must be one stack: each node reads the output of the node before it, with the
            directions joined.

    Returns:
        A list of (op_type, W, R, B, P, attributes), in the order of `names` or of the graph.

    Raises:
        ImportError: The package onnxscript is missing.
        ValueError: There are no such nodes, a name is unknown or not unique, a weight is not constant,
            initial states or lengths are neither absent nor inputs of the graph, or the nodes are not a stack.
    """
    ir_model, fold_constants = _with_tools(model)
    nodes = _named([node for node in ir_model.graph if is_recurrent(node)], names)
    fold_constants()
    if names is None:
        _check_inner_graphs(ir_model.graph)
        nodes = [node for node in ir_model.graph if is_recurrent(node)]
    if not nodes:
        raise ValueError("The graph of the model has no LSTM, GRU or RNN node.")
    weights = [tuple(_weight(node, k, name) for k, name in _WEIGHTS) for node in nodes]
    if stack and names is None:
        check_chain(nodes)
    if stack:
        check_order(nodes, ir_model.graph.opset_imports)
    sequences = {
        id(source) for node in nodes for source in _moved(input_of(node, SEQUENCE), _JOINS)
    }
    for before, node in zip(nodes, nodes[1:]) if stack else ():
        _check_same_lengths(before, node)
    for node in nodes:
        for k, name in _STATES if node.op_type == "LSTM" else _STATES[:1]:
            _check_state(name, node, input_of(node, k), sequences)
        _check_lengths(node)
    return [
        (node.op_type, *arrays, _attributes(node))
        for node, arrays in zip(nodes, weights, strict=True)
    ]


def _with_tools(model: Any) -> tuple[Any, Any]:
    """The model of onnx_ir, and a function that computes the constants in it."""
    try:
        import onnx_ir
        from onnx_ir.passes.common import InlinePass
        from onnxscript import optimizer
    except ImportError as error:
        raise ImportError(
            "from_onnx reads models with the package onnxscript, which cannot be imported: pip install onnxscript, "
            "or give params.OnnxNode objects instead of the model."
        ) from error

    ir_model = onnx_ir.from_proto(model)
    for tensor in ir_model.graph.initializers.values():
        if isinstance(tensor.const_value, onnx_ir.ExternalTensor):
            raise ValueError(
                f"The values of {tensor.name!r} are in another file: load the model with onnx.load, which reads it."
            )
    if ir_model.functions:
        InlinePass()(ir_model)
    try:
        ir_model.graph.sort()
    except ValueError as error:
        raise ValueError(f"The graph of the model has a cycle: {error}") from error
    # onnx's inference of shapes follows the names of open sizes from the inputs to the nodes.
    for k, value in enumerate(ir_model.graph.inputs):
        if value.shape is not None:
            value.shape = onnx_ir.Shape(
                onnx_ir.SymbolicDim(f"input_{k}_{axis}") if _is_nameless(dim) else dim
                for axis, dim in enumerate(value.shape)
            )

    def fold_constants() -> None:
        try:
            optimizer.fold_constants(
                ir_model,
                onnx_shape_inference=True,
                output_size_limit=sys.maxsize,
                should_fold=lambda node: node.op_type not in (*RECURRENT, *_RANDOM),
            )
        except Exception as error:
            raise ValueError(
                f"onnxscript cannot compute the constants of the model: {one_line(error)}"
            ) from error

    return ir_model, fold_constants


def _is_nameless(dim: Any) -> bool:
    """Whether a size is open and has no name."""
    return not isinstance(dim, int) and dim.value is None


# ---- nodes ----


def _named(nodes: list, names: Sequence[str] | None) -> list:
    """The nodes with these names, or all nodes."""
    chosen: list = []
    for name in names or ():
        fitting = [node for node in nodes if name_of(node) == name]
        if not fitting:
            raise ValueError(
                f"The model has no LSTM, GRU or RNN node named {name!r}; it has {sorted(map(name_of, nodes))}."
            )
        if len(fitting) > 1:
            raise ValueError(
                f"The model has {len(fitting)} LSTM, GRU or RNN nodes named {name!r}: give them names "
                "that are different."
            )
        chosen += fitting
    return nodes if names is None else chosen


def _check_inner_graphs(graph: Any) -> None:
    """Raises ValueError if a branch or loop of the graph has recurrent nodes."""
    outer = set(graph)
    for node in graph.all_nodes():
        if is_recurrent(node) and node not in outer:
            raise ValueError(
                f"{capital(title(node))} is in a branch or loop of the model, which is not converted: give the "
                "names of nodes outside of it, or move the node there."
            )


def _attributes(node: Any) -> dict[str, Any]:
    return {attribute.name: attribute.value for attribute in node.attributes.values()}


def _weight(node: Any, k: int, name: str) -> np.ndarray | None:
    value = input_of(node, k)
    if value is None:
        return None
    if value.const_value is None:
        raise ValueError(
            f"{name} of {title(node)} is {value.name!r}, which is not a constant of the graph: it comes from "
            f"{source_of(value)}. {_ARRAYS}"
        )
    array = value.const_value.numpy()
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


# ---- sources of inputs ----


def _moved(value: Any, without: Sequence[str] = ()) -> Iterator:
    """The tensors whose elements nodes of _MOVES move into a tensor.

    `without`: kinds of nodes that count as a source.
    """
    waiting = [value] if value is not None else []
    done = set()
    while waiting:
        value = waiting.pop()
        if id(value) in done:
            continue
        done.add(id(value))
        node = value.producer()
        if value.const_value is not None or not _moves(node) or node.op_type in without:
            yield value
        else:
            waiting += node.inputs if node.op_type == "Concat" else node.inputs[:1]


def _moves(node: Any) -> bool:
    """Whether a node moves elements without changing their values or reversing their order."""
    if node is None or node.domain not in DOMAINS or node.op_type not in _MOVES:
        return False
    if input_of(node, 0) is None:
        return False
    if node.op_type == "Cast":
        return node.attributes["to"].value in _WIDE
    if node.op_type == "Slice":
        return _is_constant(input_of(node, 4), 1)
    if node.op_type == "Gather":
        indices = getattr(input_of(node, 1), "const_value", None)
        return indices is not None and bool(np.all(np.diff(indices.numpy().ravel()) == 1))
    return node.op_type != "Dropout" or _is_constant(input_of(node, 2), 0)


def _is_constant(value: Any, number: float) -> bool:
    """Whether an optional input is missing, or a constant with this number in all elements."""
    if value is None:
        return True
    return value.const_value is not None and bool(np.all(value.const_value.numpy() == number))


def _is_zero(value: Any) -> bool:
    """Whether all elements of a tensor are 0, for each size of an open dimension."""
    node = value.producer()
    if value.const_value is None and node is not None and node.op_type == "ConstantOfShape":
        fill = node.attributes.get("value")
        return fill is None or not np.any(fill.value.numpy())
    return value.const_value is not None and not np.any(value.const_value.numpy())


def _is_input(value: Any) -> bool:
    return value.const_value is None and value.producer() is None


def _check_state(name: str, node: Any, value: Any, sequences: set[int]) -> None:
    """Raises ValueError unless an initial state is missing, 0, or elements of an input of the graph.

    `sequences`: ids of the tensors that nodes read as their sequence, whose first steps are not states.
    """
    if all(map(_is_zero, _moved(value))):
        return
    sources = list(_moved(value, _JOINS))
    if all(_is_input(source) and id(source) not in sequences for source in sources):
        return
    if all(source.const_value is not None for source in _moved(value)):
        fault = "is a constant that is not 0"
    elif id(sources[0]) in sequences:
        fault = f"comes from {source_of(sources[0])}, which is also the sequence of a node"
    else:
        fault = f"comes from {source_of(sources[0])}"
    raise ValueError(
        f"{name} of {title(node)} {fault}, and a buffer holds only weights: {_CALLER.format('the states')}"
    )


def _check_lengths(node: Any) -> None:
    """Raises ValueError unless lengths are missing, T, or an input of the graph."""
    if all(map(_is_input, _moved(input_of(node, LENGTHS), _JOINS))):
        return
    sources = list(_moved(input_of(node, LENGTHS)))
    constant = all(source.const_value is not None for source in sources)
    layout = node.attributes.get("layout")
    x = input_of(node, SEQUENCE)
    steps = None if x is None or x.shape is None else x.shape[1 if layout and layout.value else 0]
    if constant and isinstance(steps, int):
        if all(_is_constant(source, steps) for source in sources):
            return
    fault = "is a constant" if constant else f"comes from {source_of(sources[0])}"
    raise ValueError(
        f"sequence_lens of {title(node)} {fault}, and a buffer holds only weights: "
        f"{_CALLER.format('the lengths, or a mask,')}"
    )


def _check_same_lengths(before: Any, node: Any) -> None:
    """Raises ValueError unless two nodes of a stack have the same lengths."""
    lengths = [
        {id(value) for value in _moved(input_of(reader, LENGTHS))} for reader in (before, node)
    ]
    if lengths[0] != lengths[1]:
        raise ValueError(
            f"sequence_lens of {title(node)} is not that of {title(before)}, but a stack has one input for all "
            f"layers. {REMEDY}"
        )
