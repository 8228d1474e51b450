"""Replaces the sign bits of floats, which Keras reads for argmax, argmin and signbit, by ordinary ops.

The formats have no Bitcast from floats to integers, and LiteRT has no BitwiseAnd.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_rnn_ops.portable import per_node


def replace(graph_def: Any) -> bool:
    """Replaces such nodes of a GraphDef and of its functions.

    Args:
        graph_def: A GraphDef; it is changed.

    Returns:
        Whether there is such a node.
    """
    found = False
    for nodes, host in per_node.hosts(graph_def):
        adding = per_node.Adding(nodes, host)
        by_name = {node.name: node for node in nodes}
        for node in [node for node in nodes if node.op == "BitwiseAnd"]:
            bits = by_name.get(node.input[0].split(":")[0])
            if bits is not None and _are_of_floats(bits) and _is_sign(adding, node.input[1]):
                _replace(node, bits.input[0], adding)
                found = True
    return found


def _are_of_floats(node: Any) -> bool:
    types = [node.attr[name].type for name in ("T", "type")] if node.op == "Bitcast" else []
    return types == [tf.float32, tf.int32]


def _is_sign(adding: per_node.Adding, ref: str) -> bool:
    value = adding.constant(ref)
    return value is not None and value.shape == () and value == np.iinfo(np.int32).min


def _replace(node: Any, x: str, adding: per_node.Adding) -> None:
    """Makes the node -1 where x is negative, also for -0.0, and otherwise 0: min(x, 1 / x) is negative there."""
    name, (_, _, *control) = node.name, node.input
    one = adding.add(f"{name}/one", "Const", value=np.array(1, np.float32))
    zero = adding.add(f"{name}/zero", "Const", value=np.array(0, np.int32))
    inverse = adding.add(f"{name}/inverse", "RealDiv", [one, x], T=tf.float32)
    least = adding.add(f"{name}/least", "Minimum", [x, inverse], T=tf.float32)
    sign = adding.add(f"{name}/sign", "Sign", [least], T=tf.float32)
    sign = adding.add(f"{name}/integer", "Cast", [sign], SrcT=tf.float32, DstT=tf.int32)
    node.op = "Minimum"
    node.input[:] = [sign, zero, *control]
