"""Replaces the conditions of masked layers by their general branch.

They save a gather for masks that only pad at the end. In a file they cost nodes, and in an OpenVINO model of a
known batch size the first call after a new number of steps gave wrong results (2026.4). The writer of ONNX replaces
them by its own nodes: see onnx/masks.py.
"""

import re
from typing import Any

from tf_rnn_ops.plain.names import MASK_CONDITION
from tf_rnn_ops.portable import per_node

_NAME = re.compile(rf"{MASK_CONDITION}_([a-z]+)(_\d+)?")


def replace(graph_def: Any) -> None:
    """Replaces the conditions of a GraphDef and of its functions.

    Args:
        graph_def: A GraphDef; it is changed.
    """
    for node in per_node.all_nodes(graph_def):
        if kind(node.op, node.name) is not None:
            _call_else_branch(node)


def kind(op: str, name: str) -> str | None:
    """The kind of condition of a masked layer that a node is, such as 'pack'; None for another node.

    See Note [Conditions of masks] in keras/dispatch/masks.py. TensorFlow appends _1, _2 and so on to names that occur
    again.

    Args:
        op: The op of the node.
        name: Its name.
    """
    if op not in ("If", "StatelessIf"):
        return None
    match = _NAME.fullmatch(name.rpartition("/")[2])
    return match and match[1]


def _call_else_branch(node: Any) -> None:
    function = node.attr["else_branch"].func.name
    node.op = "StatefulPartitionedCall" if node.op == "If" else "PartitionedCall"
    del node.input[0]
    for name in [name for name in node.attr if name not in ("Tin", "Tout")]:
        del node.attr[name]
    node.attr["f"].func.name = function
