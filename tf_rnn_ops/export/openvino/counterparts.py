"""Which networks OpenVINO has a node for."""

import tensorflow as tf

from tf_rnn_ops.params import Layout
from tf_rnn_ops.plain import sizes

# By rnn_mode.
SEQUENCES = {
    "lstm": "LSTMSequence",
    "gru": "GRUSequence",
    "gru_reset_before": "GRUSequence",
    "rnn": "RNNSequence",
    "rnn_tanh": "RNNSequence",
    "rnn_relu": "RNNSequence",
}
# WHY not hard_sigmoid: a node may have it, but the CPU device raises "Unsupported activation function".
_ACTIVATIONS = ("tanh", "sigmoid", "relu")
# What a Layer must be without, and how to call it.
_EXTRAS = {
    "projection": "a projection",
    "peepholes": "peepholes",
    "layer_norm": "layer normalization",
    "input_mask": "dropout of inputs",
    "recurrent_mask": "dropout of states",
}
_NUMBERS = {"cell_clip": "a limit of c", "zoneout_h": "zoneout", "zoneout_c": "zoneout"}


def reason_against(network: sizes.Layer | Layout | None, dtype: tf.DType) -> str:
    """Why OpenVINO has no node for a network; empty if it has.

    Args:
        network: What a node computes; None for BlockLSTMV2.
        dtype: Of its tensors.
    """
    if network is None:
        return "OpenVINO's LSTMSequence has no peepholes"
    node = SEQUENCES[network.rnn_mode]
    if dtype not in (tf.float32, tf.float16):
        return f"OpenVINO's {node} computes in float32 or float16, not in {dtype.name}"
    if isinstance(network, Layout):
        return f"OpenVINO's {node} has no projection" if network.num_proj else ""
    for name, what in _EXTRAS.items():
        if name not in network.absent:
            return f"OpenVINO's {node} has no {what.removeprefix('a ')}"
    attrs = network.attrs()
    for name, what in _NUMBERS.items():
        if float(attrs[name]) > 0:
            return f"OpenVINO's {node} has no {what.removeprefix('a ')}"
    if attrs["activation"] not in _ACTIVATIONS:
        return f"OpenVINO's {node} has no activation {attrs['activation']}"
    if attrs["recurrent_activation"] != "sigmoid":
        return f"the gates of OpenVINO's {node} are not {attrs['recurrent_activation']}"
    return ""
