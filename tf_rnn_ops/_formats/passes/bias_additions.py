"""Replaces BiasAdd by an ordinary addition where a converter misreads it.

Keras writes BiasAdd for keras.ops.add, and so for Add and x + y, if the second operand looks like a bias of the first
one. That is true of [1, T, 1] + [1, T, 1], with a bias along the second axis: tf2onnx adds it along the last axis, and
LiteRT's converter expects four dimensions. LiteRT has no BiasAdd of integers.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_rnn_ops.portable import per_node


def replace(graph_def: Any) -> bool:
    """Replaces such nodes of a GraphDef and of its functions.

    Args:
        graph_def: A GraphDef; it is changed. A bias along the second axis needs a rank that the graph records, as
            that of a SavedModel does.

    Returns:
        Whether there is such a node.
    """
    found = False
    for nodes, host in per_node.hosts(graph_def):
        adding = per_node.Adding(nodes, host)
        for node in [node for node in nodes if node.op == "BiasAdd"]:
            second_axis = per_node.attribute(node, "data_format", "NHWC") == "NCHW"
            rank = _rank(node) if second_axis else 2
            if rank and (second_axis or tf.as_dtype(node.attr["T"].type).is_integer):
                _replace(node, adding, [-1] + [1] * (rank - 2))
                found = True
    return found


def _rank(node: Any) -> int:
    """The number of dimensions of the output of a node; 0 if it is unknown."""
    shapes = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else []
    return len(shapes[0].dim) if len(shapes) == 1 and not shapes[0].unknown_rank else 0


def _replace(node: Any, adding: per_node.Adding, sizes: list[int]) -> None:
    """Makes the node the Identity of a sum with the bias in the shape `sizes`.

    WHY an Identity: in a function a tensor has the name of an output of its op, and that of Identity is the same.
    """
    value, bias, *control = node.input
    dtype = tf.as_dtype(node.attr["T"].type)
    shape = adding.add(f"{node.name}/shape", "Const", value=np.array(sizes, np.int32))
    bias = adding.add(f"{node.name}/bias", "Reshape", [bias, shape], T=dtype, Tshape=tf.int32)
    node.op = "Identity"
    node.input[:] = [adding.add(f"{node.name}/sum", "AddV2", [value, bias], T=dtype), *control]
    node.attr.pop("data_format", None)  # a SavedModel lacks attributes that are defaults
