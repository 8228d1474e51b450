"""Decides for which networks OpenVINO has a node."""

import tensorflow as tf

from tf_rnn_ops.params import Layout
from tf_rnn_ops.params.gates import ONNX_OPS
from tf_rnn_ops.plain import sizes
from tf_rnn_ops.portable import unsupported_parts

# {rnn_mode: node of OpenVINO}.
SEQUENCES = {mode: f"{op}Sequence" for mode, op in ONNX_OPS.items()}
# WHY not hard_sigmoid: a node may have it, but the CPU device raises "Unsupported activation function".
_ACTIVATIONS = ("tanh", "sigmoid", "relu")


def reason_for_loop(network: sizes.Layer | Layout | None, dtype: tf.DType) -> str:
    """The reason why OpenVINO has no node for a network; empty if it has one.

    Args:
        network: The network of a node; None for BlockLSTMV2.
        dtype: The type of its tensors.
    """
    if network is None:
        return "OpenVINO's LSTMSequence has no peepholes"
    node = SEQUENCES.get(network.rnn_mode)
    if node is None:
        return f"OpenVINO has no node for rnn_mode='{network.rnn_mode}'"
    if dtype not in (tf.float32, tf.float16):
        return f"OpenVINO's {node} computes in float32 or float16, not in {dtype.name}"
    if what := unsupported_parts.part(network):
        return f"OpenVINO's {node} has no {what}"
    if isinstance(network, Layout):
        return ""
    attrs = network.attrs()
    if attrs["activation"] not in _ACTIVATIONS:
        return f"OpenVINO's {node} has no activation {attrs['activation']}"
    if attrs["recurrent_activation"] != "sigmoid":
        return f"the gates of OpenVINO's {node} are not {attrs['recurrent_activation']}"
    return ""
