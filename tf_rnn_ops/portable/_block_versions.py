"""Replaces TensorFlow's BlockLSTM and BlockLSTMV2 by BlockLSTMV2 of this package."""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_rnn_ops.params.gates import order
from tf_rnn_ops.portable import _nodes
from tf_rnn_ops.portable._adding import Adding, changed
from tf_rnn_ops.raw_ops.table import PREFIX

OPS = ("BlockLSTM", "BlockLSTMV2")
"""The ops of TensorFlow."""
_OURS = f"{PREFIX}BlockLSTMV2"
# The inputs whose columns are gates.
_BY_GATE = {4: "w", 8: "b"}
_ORDER = order("tensorflow_1", "keras", 4)
_FORGET = 1


def as_ours(graph_def: Any) -> Any:
    """Replaces the ops by our op, which the writers of all formats know.

    The first version has another order of gates and adds `forget_bias`. Its weights become constants if they are
    constants, otherwise they are computed.

    Args:
        graph_def: A GraphDef; it is not changed.

    Returns:
        A GraphDef; graph_def itself if it has no such node.
    """
    return changed(graph_def, OPS, _replace)


def _replace(node: Any, adding: Adding) -> None:
    if node.op == "BlockLSTM":
        _to_second_version(node, adding)
    node.op = _OURS


def _to_second_version(node: Any, adding: Adding) -> None:
    bias = _nodes.attribute(node, "forget_bias", 1.0)
    if "cell_clip" not in node.attr:
        node.attr["cell_clip"].f = 3.0
    node.attr.pop("forget_bias", None)
    dtype = _nodes.dtype_of(node)
    for k, weight in _BY_GATE.items():
        label, ref = f"{node.name}/{weight}_of_v2", node.input[k]
        shift = bias if weight == "b" else 0.0
        array = adding.constant(ref)
        if array is None:
            node.input[k] = _computed(adding, label, ref, dtype, shift)
        else:
            node.input[k] = adding.add(label, "Const", value=_reordered(array, shift))


def _reordered(array: np.ndarray[Any, Any], shift: float) -> np.ndarray[Any, Any]:
    gates = np.split(array, len(_ORDER), axis=-1)
    gates = [gates[k] for k in _ORDER]
    gates[_FORGET] = gates[_FORGET] + np.asarray(shift, array.dtype)
    return np.concatenate(gates, axis=-1)


def _computed(adding: Adding, label: str, ref: str, dtype: tf.DType, shift: float) -> str:
    axis = adding.add(f"{label}/axis", "Const", value=np.array(-1, np.int32))
    split, count = f"{label}/gates", len(_ORDER)
    adding.add(split, "Split", [axis, ref], num_split=count, T=dtype)
    gates = [adding.output(split, "Split", k) for k in _ORDER]
    if shift:
        value = np.array(shift, dtype.as_numpy_dtype)
        by = adding.add(f"{label}/forget_bias", "Const", value=value)
        gates[_FORGET] = adding.add(f"{label}/forget", "AddV2", [gates[_FORGET], by], T=dtype)
    types = {"N": count, "T": dtype, "Tidx": tf.int32}
    return adding.add(label, "ConcatV2", [*gates, axis], adding.shape(ref), **types)
