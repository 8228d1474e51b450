"""Replaces the conditions of masked layers by their general branch.

They save a gather for masks that only pad at the end. In a file they cost nodes, ONNX Runtime's quantizer does
not see what their branches use, and in an OpenVINO model of a known batch size the first call after a new
number of steps gave wrong results (2026.4).
"""

from typing import Any

from tf_rnn_ops.plain.names import MASK_CONDITION


def replace(graph_def: Any) -> bool:
    """Replaces the conditions of a GraphDef and of its functions.

    Args:
        graph_def: A GraphDef; it is changed.

    Returns:
        Whether there are any.
    """
    found = False
    for host in (graph_def.node, *(f.node_def for f in graph_def.library.function)):
        for node in host:
            if node.op in ("If", "StatelessIf") and _is_of_a_mask(node.name):
                _call_else_branch(node)
                found = True
    return found


def _is_of_a_mask(name):
    """TensorFlow appends _1, _2 and so on to names that occur again."""
    last = name.rpartition("/")[2]
    return last == MASK_CONDITION or (
        last.startswith(f"{MASK_CONDITION}_") and last[len(MASK_CONDITION) + 1 :].isdigit()
    )


def _call_else_branch(node):
    function = node.attr["else_branch"].func.name
    node.op = "StatefulPartitionedCall" if node.op == "If" else "PartitionedCall"
    del node.input[0]
    for name in [name for name in node.attr if name not in ("Tin", "Tout")]:
        del node.attr[name]
    node.attr["f"].func.name = function
