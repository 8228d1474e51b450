"""The weights and attributes of ONNX's nodes, converted from LayerRNN and BlockLSTM."""

from typing import Any

import numpy as np

from tf_rnn_ops.params import OnnxNode
from tf_rnn_ops.params.gates import ONNX_OPS, reorder

# {name of an activation: its name in ONNX, and its alpha and beta if it has them}.
_FUNCTIONS = {
    "tanh": ("Tanh",),
    "sigmoid": ("Sigmoid",),
    "relu": ("Relu",),
    "linear": ("Affine", 1.0, 0.0),
    "hard_sigmoid": ("HardSigmoid", 1 / 6, 0.5),
    "hard_sigmoid_keras2": ("HardSigmoid", 0.2, 0.5),
}
# The activations of a node without that attribute.
_USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
_LISTS = ("activations", "activation_alpha", "activation_beta")


def of_layer(
    attrs: dict[str, Any],
    kernel: np.ndarray[Any, Any],
    recurrent_kernel: np.ndarray[Any, Any],
    bias: np.ndarray[Any, Any] | None = None,
    peepholes: np.ndarray[Any, Any] | None = None,
) -> OnnxNode:
    """The forward node for a LayerRNN.

    Args:
        attrs: rnn_mode, activation and recurrent_activation.
        kernel: [I, G*H]. All four tensors are in the format of LayerRNN.
        recurrent_kernel: [H, G*H].
        bias: [G*H], or [2, G*H] for 'gru'; None for none.
        peepholes: [3, H]; None for none.

    Returns:
        An OnnxNode.
    """
    op_type = ONNX_OPS[attrs["rnn_mode"]]
    node = _node(op_type, kernel, recurrent_kernel, bias, peepholes)
    mode = attrs["rnn_mode"]
    activation = {"rnn_tanh": "tanh", "rnn_relu": "relu"}.get(mode, attrs["activation"])
    names = [activation] * {"LSTM": 2, "GRU": 1, "RNN": 1}[op_type]
    if op_type != "RNN":
        names.insert(0, attrs["recurrent_activation"])
    functions = [_FUNCTIONS[name] for name in names]
    attributes = {
        **node.attributes,
        "activations": [function[0] for function in functions],
        # WHY not for all functions: these lists have values only for functions with such a parameter.
        "activation_alpha": [function[1] for function in functions if len(function) > 1],
        "activation_beta": [function[2] for function in functions if len(function) > 1],
    }
    if mode == "gru":
        attributes["linear_before_reset"] = 1
    return node._replace(attributes=attributes)


def of_block(
    w: np.ndarray[Any, Any], b: np.ndarray[Any, Any], peepholes: np.ndarray[Any, Any] | None = None
) -> OnnxNode:
    """The node of a BlockLSTMV2.

    Args:
        w: [I + H, 4*H].
        b: [4*H].
        peepholes: [3, H], of i, f and o; None for none.

    Returns:
        An OnnxNode.
    """
    inputs = w.shape[0] - b.shape[0] // 4
    return _node("LSTM", w[:inputs], w[inputs:], b, peepholes)


def _node(
    op_type: str,
    kernel: np.ndarray[Any, Any],
    recurrent_kernel: np.ndarray[Any, Any],
    bias: np.ndarray[Any, Any] | None,
    peepholes: np.ndarray[Any, Any] | None,
) -> OnnxNode:
    units = recurrent_kernel.shape[0]

    def by_gate(columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Converts [n, G*H] to [1, G*H, n] in ONNX's order of gates."""
        gates = columns.T.reshape(-1, units, len(columns))
        return reorder(gates, "keras", "onnx").reshape(1, -1, len(columns))

    b = p = None
    if bias is not None:
        both = bias if bias.ndim == 2 else np.stack([bias, np.zeros_like(bias)])
        b = np.concatenate([by_gate(one[None]).reshape(1, -1) for one in both], axis=1)
    if peepholes is not None:
        p = peepholes[[0, 2, 1]].reshape(1, -1)  # i, o, f
    return OnnxNode(
        op_type,
        by_gate(kernel),
        by_gate(recurrent_kernel),
        B=b,
        P=p,
        attributes={"hidden_size": units},
    )


def backwards(node: OnnxNode) -> OnnxNode:
    """The node, running from the last step to the first."""
    return node._replace(attributes={**node.attributes, "direction": "reverse"})


def can_join(first: OnnxNode, second: OnnxNode) -> bool:
    """Whether two OnnxNodes of one direction can be one node."""

    def kind(node: OnnxNode) -> tuple[Any, ...]:
        attributes = node.attributes
        return node.op_type, attributes["hidden_size"], attributes.get("linear_before_reset", 0)

    return kind(first) == kind(second)


def joined(forward: OnnxNode, backward: OnnxNode) -> OnnxNode:
    """One bidirectional node from two nodes.

    Args:
        forward: An OnnxNode.
        backward: An OnnxNode. can_join() must be true for the two.

    Returns:
        An OnnxNode.
    """

    def both(name: str) -> np.ndarray[Any, Any] | None:
        first, second = getattr(forward, name), getattr(backward, name)
        if first is None and second is None:
            return None
        first = np.zeros_like(second) if first is None else first
        return np.concatenate([first, np.zeros_like(first) if second is None else second])

    lists = {
        name: [*forward.attributes.get(name, []), *backward.attributes.get(name, [])]
        for name in _LISTS
    }
    return OnnxNode(
        forward.op_type,
        W=both("W"),
        R=both("R"),
        B=both("B"),
        P=both("P"),
        attributes={**forward.attributes, **lists, "direction": "bidirectional"},
    )


def attributes(node: OnnxNode) -> dict[str, Any]:
    """The attributes of a node without those that have the default value."""
    found = {name: value for name, value in node.attributes.items() if value != []}
    directions = 2 if found.get("direction") == "bidirectional" else 1
    if found.get("activations") == _USUAL[node.op_type] * directions:
        del found["activations"]
    return found
