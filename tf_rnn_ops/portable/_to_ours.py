"""Replaces TensorFlow's own ops for cuDNN by our ops."""

import tensorflow as tf

from tf_rnn_ops._op_table import PREFIX, signature
from tf_rnn_ops.portable import _functions, _nodes


def _renamed(node, place):
    """Renames an op that has the same signature as our op."""
    node.op = f"{PREFIX}{node.op}"
    return node.op


def _as_second_version(node, place):
    """Converts the first versions of the canonical ops, which have one count for weights and biases."""
    node.op = f"{PREFIX}{node.op}V2"
    count = node.attr["num_params"].i
    del node.attr["num_params"]
    node.attr["num_params_weights"].i = count
    node.attr["num_params_biases"].i = count
    node.attr["num_proj"].i = 0
    return node.op


def _forward_call(node, place):
    outputs = signature(node.op).outputs
    dtype, attrs = _nodes.dtype_of(node), _given(node)
    specs = [tf.TensorSpec(shape, dtype) for shape in ([None] * 3, [None] * 3, None, [None])]
    stand_in = place.stand_ins.make(
        attrs["rnn_mode"], _functions.own_forward, specs, num_outputs=len(outputs), **attrs
    )
    _nodes.replace_by_call(node, stand_in, outputs, place.host)
    return f"a call of {PREFIX}CudnnRNNV3"


def _backprop_call(node, place):
    op = signature(node.op)
    dtype, attrs = _nodes.dtype_of(node), _given(node)
    specs = [tf.TensorSpec([None] * 3, dtype), *[tf.TensorSpec(None, dtype)] * 10]
    specs = [*specs, tf.TensorSpec(None, tf.int8)][: len(op.inputs)]
    label = f"{attrs['rnn_mode']}_backprop"
    stand_in = place.stand_ins.make(label, _functions.own_backprop, specs, **attrs)
    _nodes.replace_by_call(node, stand_in, op.outputs, place.host)
    return f"a call of {PREFIX}CudnnRNNBackpropV3"


def _given(node):
    """The attributes that a node has."""
    given = _nodes.attributes(node, dict.fromkeys(signature(node.op).attrs))
    return {"rnn_mode": "lstm", **{n: value for n, value in given.items() if value is not None}}


_HOW = {
    "CudnnRNNV3": _renamed,
    "CudnnRNNBackpropV3": _renamed,
    "CudnnRNNParamsSize": _renamed,
    "CudnnRNNCanonicalToParamsV2": _renamed,
    "CudnnRNNParamsToCanonicalV2": _renamed,
    "CudnnRNNCanonicalToParams": _as_second_version,
    "CudnnRNNParamsToCanonical": _as_second_version,
    "CudnnRNN": _forward_call,
    "CudnnRNNV2": _forward_call,
    "CudnnRNNBackprop": _backprop_call,
    "CudnnRNNBackpropV2": _backprop_call,
}


def concerns(node):
    """Whether to_ours() replaces a node."""
    return node.op in _HOW


def to_ours(node, place):
    """As to_plain(), but with our ops."""
    _nodes.check(node)
    return _HOW[node.op](node, place)
