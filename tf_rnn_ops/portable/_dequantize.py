"""Replaces QuantizedLayerRNN by LayerRNNPacked with the values of its int8 weights in float."""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_rnn_ops._op_table import PREFIX, signature
from tf_rnn_ops.portable import _nodes
from tf_rnn_ops.portable._adding import Adding, nodes_of

OP = f"{PREFIX}QuantizedLayerRNN"
"""The op with int8 weights."""
FORMER_OP = "_tf_rnn_ops_former_op"
"""An attribute of a LayerRNNPacked that was another op: the name of that op without the package."""
_OP = f"{PREFIX}LayerRNNPacked"
_MATRICES = ("kernel", "recurrent_kernel", "projection")


def dequantized(graph_def: Any) -> Any:
    """Replaces int8 weights by float weights of the same values.

    The new weights are constants if the old ones are, otherwise they are computed from the old ones. The
    packed weights are empty, so the graph is for a converter, not for a session.

    Args:
        graph_def: A GraphDef; it is not changed.

    Returns:
        A GraphDef; graph_def itself if it has no QuantizedLayerRNN.
    """
    hosts = [None, *graph_def.library.function]
    if not any(node.op == OP for host in hosts for node in nodes_of(graph_def, host)):
        return graph_def
    result = type(graph_def)()
    result.CopyFrom(graph_def)
    for host in (None, *result.library.function):
        nodes = nodes_of(result, host)
        adding = Adding(nodes, host)
        for node in [node for node in nodes if node.op == OP]:
            try:
                _nodes.check(node)
                dtype = _nodes.dtype_of(node)
            except _nodes.CannotRewrite:
                continue  # to_plain() reports it
            _replace(node, dtype, adding)
    return result


def _replace(node, dtype, adding):
    inputs = dict(zip(signature(OP).inputs, _nodes.data_inputs(node)))
    control = [ref for ref in node.input if ref.startswith("^")]
    for name in _MATRICES:
        pair = inputs[name], inputs[f"{name}_scale"]
        inputs[name] = _product(adding, f"{node.name}/dequantized/{name}", *pair, dtype)
    absent = adding.add(
        f"{node.name}/dequantized/absent", "Const", value=np.zeros([0], dtype.as_numpy_dtype)
    )
    inputs |= dict.fromkeys(("peepholes", "layer_norm"), absent)
    inputs["packed"] = adding.add(
        f"{node.name}/dequantized/packed", "Const", value=np.zeros([0], np.uint8)
    )
    node.input[:] = [*(inputs[name] for name in signature(_OP).inputs), *control]
    node.attr[FORMER_OP].s = node.op.removeprefix(PREFIX).encode()
    node.op = _OP


def _product(adding, label, matrix, scale, dtype):
    """The input string of matrix * scale in a type. `label`: the beginning of the names of new nodes."""
    arrays = [adding.constant(ref) for ref in (matrix, scale)]
    if not any(array is None for array in arrays):
        values = (arrays[0].astype(np.float32) * arrays[1]).astype(dtype.as_numpy_dtype)
        return adding.add(label, "Const", value=values)
    shape = adding.shape(matrix)
    values = adding.add(f"{label}_float", "Cast", [matrix], shape, SrcT=tf.int8, DstT=tf.float32)
    values = adding.add(f"{label}_values", "Mul", [values, scale], shape, T=tf.float32)
    if dtype != tf.float32:
        values = adding.add(label, "Cast", [values], shape, SrcT=tf.float32, DstT=dtype)
    return values
