"""LSTM, GRU and RNN nodes of ONNX, without importing onnx."""

from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tf_rnn_ops.params import _onnx_model
from tf_rnn_ops.params._cells import (
    Cell,
    Converted,
    as_array,
    check_shape,
    directions,
    from_cells,
    reorder,
    to_cells,
)
from tf_rnn_ops.params.layout import Layout

# Which gate of the buffer each gate of ONNX is, and back: ONNX has i, o, f, c and z, r, h.
_TO_ONNX = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}
_FROM_ONNX = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
_OP_TYPES = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
_ACTIVATIONS = {"LSTM": ("sigmoid", "tanh", "tanh"), "GRU": ("sigmoid", "tanh"), "RNN": ("tanh",)}
# What changes the result if it is not 0.
_REFUSED = {"clip": "clips its gates", "input_forget": "couples its input and forget gates"}


class OnnxNode(NamedTuple):
    """What of a node determines its function: one layer, in one or both directions.

    Attributes:
        op_type: 'LSTM', 'GRU' or 'RNN'.
        W: Input weights, [D, G*H, I].
        R: Recurrent weights, [D, G*H, H].
        B: Input biases and then recurrent biases, [D, 2*G*H]; None for 0.
        P: Peephole weights of an LSTM, which must be None.
        attributes: hidden_size, direction, activations, linear_before_reset and so on, where they
            are given. Strings may be bytes. `layout` (batch or time first) and `activation_alpha`
            (of no activation here) do not concern the weights and are ignored.
    """

    op_type: str
    W: Any
    R: Any
    B: Any = None
    P: Any = None
    attributes: Mapping = {}


def from_onnx(source: Any, node: str | Sequence[str] | None = None) -> Converted:
    """Makes the buffer of CudnnRNNV3 from the LSTM, GRU or RNN nodes of an ONNX model.

    Exact to the bit.

    Args:
        source: A model, as onnx.load returns it; or OnnxNodes, one for each layer, or a single one.
            Between two layers the model must join the directions: output [T, D, B, H] to
            [T, B, D*H].
        node: Name of the node of the model, or names, one for each layer. None for all recurrent
            nodes in the order of the graph, which then must be one stack.

    Returns:
        A Converted: the layout and the buffer.

    Raises:
        ValueError: A tensor has the wrong shape, or a node does what the op does not do: a GRU with
            linear_before_reset=0, other activations, clip, input_forget, peepholes, or the direction
            'reverse'.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops import params
        >>> node = params.OnnxNode("RNN", W=np.ones([1, 3, 2]), R=np.ones([1, 3, 3]))
        >>> converted = params.from_onnx(node)
        >>> converted.layout.rnn_mode, converted.params.shape
        ('rnn_tanh', (21,))
    """
    nodes = _nodes(source, node)
    if not nodes:
        raise ValueError("nodes must have at least one node, but it is empty.")
    first = nodes[0]
    modes = [_mode(f"layer {k}", node) for k, node in enumerate(nodes)]
    num_dirs = [_num_directions(f"layer {k}", node) for k, node in enumerate(nodes)]
    for what, found in (("rnn_mode", modes), ("number of directions", num_dirs)):
        if len(set(found)) > 1:
            raise ValueError(f"All nodes must have one {what}, but they have {found}.")
    units = as_array("R of layer 0", first.R, rank=3).shape[2]
    input_size = as_array("W of layer 0", first.W, rank=3).shape[2]
    cells = []
    for k, node in enumerate(nodes):
        width = input_size if k == 0 else num_dirs[0] * units
        cells += _cells(f"layer {k}", node, num_dirs[0], width, units)
    layout = Layout(
        modes[0],
        len(nodes),
        units,
        input_size,
        direction="bidirectional" if num_dirs[0] == 2 else "unidirectional",
    )
    return Converted(layout, from_cells(layout, cells))


def to_onnx(layout: Layout, params: ArrayLike) -> list[OnnxNode]:
    """Makes ONNX nodes, one for each layer; the inverse of from_onnx.

    Exact to the bit. Where the op skips the input weights, W is the identity for every gate.

    Args:
        layout: A Layout without projection.
        params: The buffer.

    Returns:
        A list of OnnxNodes with all attributes that the function needs. Y of a node is
        [T, D, B, H]; transpose and reshape it to [T, B, D*H] for the next.

    Raises:
        ValueError: The buffer does not fit the layout, or there is a projection.
    """
    if layout.num_proj:
        raise ValueError(f"ONNX has no LSTM with a projection, but num_proj is {layout.num_proj}.")
    op_type = _OP_TYPES[layout.rnn_mode]
    order = _TO_ONNX[op_type]
    num_dirs = directions(layout)
    attributes = {
        "hidden_size": layout.num_units,
        "direction": "bidirectional" if num_dirs == 2 else "forward",
    }
    if op_type == "GRU":
        attributes["linear_before_reset"] = 1
    if op_type == "RNN":
        attributes["activations"] = [layout.rnn_mode.removeprefix("rnn_").capitalize()] * num_dirs
    cells = to_cells(layout, params)

    def join(arrays):
        return np.stack([reorder(array, order).reshape(-1, array.shape[2]) for array in arrays])

    nodes = []
    for k in range(0, len(cells), num_dirs):
        layer = cells[k : k + num_dirs]
        biases = [
            np.concatenate([reorder(cell.bw, order).ravel(), reorder(cell.br, order).ravel()])
            for cell in layer
        ]
        nodes.append(
            OnnxNode(
                op_type,
                W=join([cell.w for cell in layer]),
                R=join([cell.r for cell in layer]),
                B=np.stack(biases),
                attributes=dict(attributes),
            )
        )
    return nodes


def _nodes(source, names):
    if hasattr(source, "graph"):
        names = [names] if isinstance(names, str) else names
        found = _onnx_model.recurrent_nodes(source, names)
        return [OnnxNode(*parts, attributes=attributes) for *parts, attributes in found]
    if names is not None:
        raise ValueError(f"node is for a model, but it is {names!r} and source is OnnxNodes.")
    return [source] if isinstance(source, OnnxNode) else list(source)


def _attribute(node, name, default):
    if not isinstance(node.attributes, Mapping):
        raise ValueError(
            f"attributes of an OnnxNode must be a mapping, but they are {node.attributes!r}."
        )
    value = node.attributes.get(name, default)
    return value.decode() if isinstance(value, bytes) else value


def _num_directions(where, node):
    direction = _attribute(node, "direction", "forward")
    if direction == "reverse":
        raise ValueError(
            f"direction of {where} is 'reverse', but the op runs forward or both ways; reverse the "
            "input and the output in time instead."
        )
    if direction not in ("forward", "bidirectional"):
        raise ValueError(
            f"direction of {where} must be 'forward' or 'bidirectional', but it is {direction!r}."
        )
    return 2 if direction == "bidirectional" else 1


def _mode(where, node):
    """The rnn_mode of a node that does what the op does."""
    if not isinstance(node.op_type, str) or node.op_type not in _ACTIVATIONS:
        raise ValueError(
            f"op_type of {where} must be 'LSTM', 'GRU' or 'RNN', but it is {node.op_type!r}."
        )
    for name, does in _REFUSED.items():
        value = _attribute(node, name, 0)
        if value:
            raise ValueError(f"{where} {does} ({name}={value}), which the op does not do.")
    if node.P is not None and np.any(node.P):
        raise ValueError(
            f"{where} has peephole weights P, which only BlockLSTMV2 has, with another format."
        )
    if node.op_type == "GRU" and not _attribute(node, "linear_before_reset", 0):
        raise ValueError(
            f"linear_before_reset of {where} is 0: the node multiplies by the reset gate before the "
            "recurrent product, CudnnRNNV3 after it, so no weights give the same results. LayerRNN "
            "has this GRU too, as rnn_mode='gru_reset_before'."
        )
    wanted = _ACTIVATIONS[node.op_type] * _num_directions(where, node)
    given = _attribute(node, "activations", None)
    given = wanted if given is None or given == [] else given
    if not isinstance(given, (list, tuple)) or any(not isinstance(a, (str, bytes)) for a in given):
        raise ValueError(f"activations of {where} must be a list of names, but they are {given!r}.")
    given = tuple((a.decode() if isinstance(a, bytes) else a).lower() for a in given)
    if node.op_type == "RNN" and set(given) == {"relu"} and len(given) == len(wanted):
        return "rnn_relu"
    if given != wanted:
        raise ValueError(
            f"activations of {where} must be {list(wanted)} for the op, but they are {list(given)}."
        )
    return {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}[node.op_type]


def _cells(where, node, num_dirs, width, units):
    order = _FROM_ONNX[node.op_type]
    gates = len(order)
    hidden_size = _attribute(node, "hidden_size", units)
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
            reorder(w[d].reshape(gates, units, width), order),
            reorder(r[d].reshape(gates, units, units), order),
            *(reorder(half, order) for half in b[d].reshape(2, gates, units)),
        )
        for d in range(num_dirs)
    ]
