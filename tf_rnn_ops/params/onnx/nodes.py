"""LSTM, GRU and RNN nodes of ONNX, checked and with the gates in the order of the buffer."""

from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

from tf_rnn_ops.params.cells import Cell, as_array, as_list, check_shape, not_a_source
from tf_rnn_ops.params.gates import COUNTS, reorder
from tf_rnn_ops.params.layout import num_directions
from tf_rnn_ops.params.onnx import model

# The activations of a node without that attribute, in each direction.
USUAL_ACTIVATIONS = {
    "LSTM": ("sigmoid", "tanh", "tanh"),
    "GRU": ("sigmoid", "tanh"),
    "RNN": ("tanh",),
}
# Attributes that change the result if they are not 0.
_REFUSED = {"clip": "clips its gates", "input_forget": "couples its input and forget gates"}
_SOURCES = "a model, as onnx.load returns it, or OnnxNodes"


class OnnxNode(NamedTuple):
    """The parts of a node that determine its function. A node is one layer in one or both directions.

    Attributes:
        op_type: 'LSTM', 'GRU' or 'RNN'.
        W: Input weights, [D, G*H, I].
        R: Recurrent weights, [D, G*H, H].
        B: Input biases and then recurrent biases, [D, 2*G*H]; None for 0.
        P: Peephole weights of an LSTM, which must be None.
        attributes: hidden_size, direction, activations, linear_before_reset and so on, if they are given.
            Strings may be bytes. `layout` (batch or time first) and `activation_alpha` (no activation here
            has it) do not affect the weights and are ignored.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops import params
        >>> params.OnnxNode("LSTM", W=np.ones([1, 12, 2]), R=np.ones([1, 12, 3])).op_type
        'LSTM'
    """

    op_type: str
    W: Any
    R: Any
    B: Any = None
    P: Any = None
    attributes: Mapping = {}


def nodes_of(source: Any, names: str | Sequence[str] | None, stack: bool) -> list[OnnxNode]:
    """The OnnxNodes of a model, or the given OnnxNodes; at least one.

    `stack`: whether they must be one stack.
    """
    if hasattr(source, "graph"):
        names = [names] if isinstance(names, str) else names
        return [OnnxNode(*parts) for parts in model.recurrent_nodes(source, names, stack)]
    nodes = [source] if isinstance(source, OnnxNode) else as_list(source, _SOURCES)
    for onnx_node in nodes:
        if not isinstance(onnx_node, OnnxNode):
            raise not_a_source(onnx_node, _SOURCES)
    if names is not None:
        raise ValueError(f"node must be None if source is OnnxNodes, but it is {names!r}.")
    if not nodes:
        raise ValueError("nodes must have at least one node, but it is empty.")
    return nodes


def attribute(node: OnnxNode, name: str, default: Any) -> Any:
    """An attribute of a node, or the default; bytes as a string."""
    if not isinstance(node.attributes, Mapping):
        raise ValueError(
            f"attributes of an OnnxNode must be a mapping, but they are {node.attributes!r}."
        )
    value = node.attributes.get(name, default)
    return value.decode() if isinstance(value, bytes) else value


def directions_of(where: str, node: OnnxNode) -> int:
    """D of a node."""
    direction = attribute(node, "direction", "forward")
    if direction not in ("forward", "reverse", "bidirectional"):
        raise ValueError(
            f"direction of {where} must be 'forward', 'reverse' or 'bidirectional', but it is "
            f"{direction!r}."
        )
    return num_directions(direction)


def check_function(where: str, node: OnnxNode) -> None:
    """Raises ValueError unless the node is an LSTM, GRU or RNN without features that the ops lack."""
    if not isinstance(node.op_type, str) or node.op_type not in USUAL_ACTIVATIONS:
        raise ValueError(
            f"op_type of {where} must be 'LSTM', 'GRU' or 'RNN', but it is {node.op_type!r}."
        )
    for name, does in _REFUSED.items():
        value = attribute(node, name, 0)
        if value:
            raise ValueError(f"{where} {does} ({name}={value}), which the op does not support.")


def activations(where: str, node: OnnxNode) -> tuple[str, ...]:
    """The names of a node's activations in lower case, one tuple for all directions."""
    names = attribute(node, "activations", None)
    if names is None or names == []:
        return USUAL_ACTIVATIONS[node.op_type] * directions_of(where, node)
    if not isinstance(names, (list, tuple)) or any(not isinstance(a, (str, bytes)) for a in names):
        raise ValueError(f"activations of {where} must be a list of names, but they are {names!r}.")
    return tuple((a.decode() if isinstance(a, bytes) else a).lower() for a in names)


def cells_of(where: str, node: OnnxNode, num_dirs: int, width: int, units: int) -> list[Cell]:
    """The Cells of a node, one for each direction."""
    gates = COUNTS[node.op_type.lower()]
    hidden_size = attribute(node, "hidden_size", units)
    w, r = (as_array(f"{n} of {where}", getattr(node, n), rank=3) for n in ("W", "R"))
    check_shape(f"R of {where}", r, (num_dirs, gates * units, units))
    check_shape(f"W of {where}", w, (num_dirs, gates * units, width))
    if hidden_size != units:
        raise ValueError(
            f"hidden_size of {where} must be {units} to fit R of layer 0, but it is {hidden_size}."
        )
    b = np.zeros((num_dirs, 2 * gates * units), w.dtype)
    if node.B is not None:
        b = as_array(f"B of {where}", node.B, rank=2)
        check_shape(f"B of {where}", b, (num_dirs, 2 * gates * units))
    return [
        Cell(
            reorder(w[d].reshape(gates, units, width), "onnx", "buffer"),
            reorder(r[d].reshape(gates, units, units), "onnx", "buffer"),
            *(reorder(half, "onnx", "buffer") for half in b[d].reshape(2, gates, units)),
        )
        for d in range(num_dirs)
    ]
