"""Makes float32 of all bfloat16 in a graph.

ONNX Runtime's CPU provider has few ops of bfloat16, and its Python API has no arrays of it. float32 has all values
of bfloat16, so a file has the weights of its model and rounds less often.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_rnn_ops.portable import per_node

_NARROW, _WIDE = tf.bfloat16.as_datatype_enum, tf.float32.as_datatype_enum


def widen(graph_def: Any) -> None:
    """Replaces bfloat16 in the attributes of all nodes and in the arguments of functions.

    Args:
        graph_def: A GraphDef; it is changed.
    """
    for node in per_node.all_nodes(graph_def):
        _widen_node(node)
    for function in graph_def.library.function:
        for argument in (*function.signature.input_arg, *function.signature.output_arg):
            if argument.type == _NARROW:
                argument.type = _WIDE


def _widen_node(node: Any) -> None:
    for value in node.attr.values():
        kind = value.WhichOneof("value")
        if kind == "type" and value.type == _NARROW:
            value.type = _WIDE
        elif kind == "tensor" and value.tensor.dtype == _NARROW:
            array = tf.make_ndarray(value.tensor).astype(np.float32)
            value.tensor.CopyFrom(tf.make_tensor_proto(array))
        elif kind == "list" and _NARROW in value.list.type:
            value.list.type[:] = [_WIDE if one == _NARROW else one for one in value.list.type]
