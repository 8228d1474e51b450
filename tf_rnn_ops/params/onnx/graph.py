"""Nodes and values of onnx_ir: recurrent nodes, and names for error messages."""

from typing import Any

RECURRENT = ("LSTM", "GRU", "RNN")
DOMAINS = ("", "ai.onnx")
SEQUENCE, LENGTHS = 0, 4
_OUTPUTS = ("Y", "Y_h", "Y_c")


def is_recurrent(node: Any) -> bool:
    """Whether it is an LSTM, GRU or RNN of ONNX."""
    return node.domain in DOMAINS and node.op_type in RECURRENT


def name_of(node: Any) -> str:
    """The name of a node, or of its first output."""
    return node.name or next((output.name for output in node.outputs if output.name), "")


def title(node: Any) -> str:
    """The name of a node in error messages, and its type if it is not recurrent."""
    kind = "" if is_recurrent(node) else f" ({node.op_type})"
    return f"the node {name_of(node)!r}{kind}"


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def input_of(node: Any, k: int) -> Any:
    """Input k of a node; None for a missing one."""
    return node.inputs[k] if k < len(node.inputs) else None


def source_of(value: Any) -> str:
    """Text that names the source of a tensor."""
    if value is None:
        return "nothing"
    if value.const_value is not None:
        return "a constant"
    node = value.producer()
    if node is None:
        kind = "the input" if value.is_graph_input() else "the undefined tensor"
        return f"{kind} {value.name!r} of the graph"
    if is_recurrent(node):
        return f"the output {_OUTPUTS[value.index()]} of {title(node)}"
    return title(node)
