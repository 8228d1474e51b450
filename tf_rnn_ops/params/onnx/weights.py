"""Conversion of weights from and to LSTM, GRU and RNN nodes of ONNX, without importing onnx."""

from typing import Any, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tf_rnn_ops.params.cells import Converted, as_array, converted, to_cells
from tf_rnn_ops.params.gates import ONNX_OPS, reorder
from tf_rnn_ops.params.layout import Layout
from tf_rnn_ops.params.onnx.nodes import (
    USUAL_ACTIVATIONS,
    OnnxNode,
    activations,
    attribute,
    cells_of,
    check_function,
    directions_of,
    nodes_of,
)

_ELSEWHERE = "tf_rnn_ops.keras.from_onnx makes a Keras layer of such a node."


def from_onnx(source: Any, node: str | Sequence[str] | None = None) -> Converted:
    """Makes the buffer of CudnnRNNV3 from the LSTM, GRU or RNN nodes of an ONNX model.

    The conversion is exact to the bit.

    Args:
        source: A model that onnx.load returned, a list of OnnxNodes, one for each layer, or a single
            OnnxNode. Weights may come from nodes that compute constants, which the package onnxscript
            computes. Initial states must be absent, 0, or inputs of the graph. Lengths must be absent, T, or
            inputs of the graph. Inputs of the graph are then inputs of the op.
        node: Name of the node of the model, or a list of names, one for each layer. A node without a name has
            the name of its first output. None for all recurrent nodes. Each node must read the output of the node
            before it with the directions joined, [T, D, B, H] to [T, B, D*H].

    Returns:
        A Converted: the layout and the buffer.

    Raises:
        TypeError: `source` is neither a model nor OnnxNodes.
        ImportError: `source` is a model, and onnxscript is missing.
        ValueError: A tensor has the wrong shape. A node has clip, input_forget, peepholes, other
            activations, the direction 'reverse' or, in a GRU, linear_before_reset=0, which the op does not
            have. tf_rnn_ops.keras.from_onnx converts such nodes except nodes with clip or input_forget.
            `node` is None and the recurrent nodes are not one chain, or nodes between two layers change the
            output of the first layer or the order of its elements. A weight is not constant. Initial states or
            lengths are computed, or are the output of another node.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops import params
        >>> node = params.OnnxNode("RNN", W=np.ones([1, 3, 2]), R=np.ones([1, 3, 3]))
        >>> converted = params.from_onnx(node)
        >>> converted.layout.rnn_mode, converted.params.shape
        ('rnn_tanh', (21,))
    """
    nodes = nodes_of(source, node, stack=True)
    first = nodes[0]
    modes = [_mode(f"layer {k}", layer) for k, layer in enumerate(nodes)]
    num_dirs = [directions_of(f"layer {k}", layer) for k, layer in enumerate(nodes)]
    for label, values in (("rnn_mode", modes), ("number of directions", num_dirs)):
        if len(set(values)) > 1:
            raise ValueError(f"All nodes must have one {label}, but they have {values}.")
    units = as_array("R of layer 0", first.R, rank=3).shape[2]
    input_size = as_array("W of layer 0", first.W, rank=3).shape[2]
    cells = []
    for k, layer in enumerate(nodes):
        width = input_size if k == 0 else num_dirs[0] * units
        cells += cells_of(f"layer {k}", layer, num_dirs[0], width, units)
    return converted(modes[0], cells, num_dirs[0])


def to_onnx(layout: Layout, params: ArrayLike) -> list[OnnxNode]:
    """Makes ONNX nodes, one for each layer; the inverse of from_onnx.

    The conversion is exact to the bit. If the op skips the input weights, W is the identity for every
    gate.

    Args:
        layout: A Layout without projection.
        params: The buffer.

    Returns:
        A list of OnnxNodes with all attributes that the function needs. Y of a node is [T, D, B, H].
        Transpose and reshape it to [T, B, D*H] for the next node.

    Raises:
        ValueError: The buffer does not fit the layout, or there is a projection.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops import params
        >>> layout = params.Layout("lstm", num_layers=2, num_units=3, input_size=2)
        >>> [node.W.shape for node in params.to_onnx(layout, np.zeros(layout.size))]
        [(1, 12, 2), (1, 12, 3)]
    """
    if layout.num_proj:
        raise ValueError(f"ONNX has no LSTM with a projection, but num_proj is {layout.num_proj}.")
    op_type = ONNX_OPS[layout.rnn_mode]
    num_dirs = layout.num_directions
    attributes: dict[str, Any] = {
        "hidden_size": layout.num_units,
        "direction": "bidirectional" if num_dirs == 2 else "forward",
    }
    if op_type == "GRU":
        attributes["linear_before_reset"] = 1
    if op_type == "RNN":
        attributes["activations"] = [layout.rnn_mode.removeprefix("rnn_").capitalize()] * num_dirs
    cells = to_cells(layout, params)

    def join(arrays: Iterable[np.ndarray]) -> np.ndarray:
        in_onnx = [reorder(array, "buffer", "onnx") for array in arrays]
        return np.stack([array.reshape(-1, array.shape[2]) for array in in_onnx])

    nodes = []
    for k in range(0, len(cells), num_dirs):
        layer = cells[k : k + num_dirs]
        biases = [
            np.concatenate([reorder(bias, "buffer", "onnx").ravel() for bias in (cell.bw, cell.br)])
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


def _mode(where: str, node: OnnxNode) -> str:
    """The rnn_mode of a node. Raises ValueError if the op does not compute the function of the node."""
    check_function(where, node)
    if node.P is not None and np.any(node.P):
        raise ValueError(
            f"{where} has peephole weights P, for which the buffer has no place. {_ELSEWHERE}"
        )
    if node.op_type == "GRU" and not attribute(node, "linear_before_reset", 0):
        raise ValueError(
            f"linear_before_reset of {where} is 0: the node multiplies by the reset gate before the "
            "recurrent product, CudnnRNNV3 after it, so the results would be different. "
            + _ELSEWHERE
        )
    wanted = USUAL_ACTIVATIONS[node.op_type] * directions_of(where, node)
    if attribute(node, "direction", "forward") == "reverse":
        raise ValueError(
            f"direction of {where} is 'reverse', but the op runs forward or both ways. {_ELSEWHERE}"
        )
    names = activations(where, node)
    if node.op_type == "RNN" and set(names) == {"relu"} and len(names) == len(wanted):
        return "rnn_relu"
    if names != wanted:
        raise ValueError(
            f"activations of {where} must be {list(wanted)} for the op, but they are {list(names)}. "
            + _ELSEWHERE
        )
    return {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}[node.op_type]
