"""Replaces QuantizedLayerRNN by LayerRNNPacked with the values of its int8 weights in float."""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_rnn_ops.portable import _nodes
from tf_rnn_ops.portable._adding import Adding, changed
from tf_rnn_ops.raw_ops.table import PREFIX, signature

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
    return changed(graph_def, [OP], _replace)


def _replace(node: Any, adding: Adding) -> None:
    try:
        _nodes.check(node)
        dtype = _nodes.dtype_of(node)
    except _nodes.CannotRewrite:
        return  # to_plain() reports it
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


def _product(adding: Adding, label: str, matrix: str, scale: str, dtype: tf.DType) -> str:
    """The input string of matrix * scale in a type. `label`: the beginning of the names of new nodes."""
    integers, scales = adding.constant(matrix), adding.constant(scale)
    if integers is not None and scales is not None:
        floats = (integers.astype(np.float32) * scales).astype(dtype.as_numpy_dtype)
        return adding.add(label, "Const", value=floats)
    shape = adding.shape(matrix)
    values = adding.add(f"{label}_float", "Cast", [matrix], shape, SrcT=tf.int8, DstT=tf.float32)
    values = adding.add(f"{label}_values", "Mul", [values, scale], shape, T=tf.float32)
    if dtype != tf.float32:
        values = adding.add(label, "Cast", [values], shape, SrcT=tf.float32, DstT=dtype)
    return values
