"""The orders in which the formats of weights have the gates of a cell.

Letters: i, f, c and o are the input gate, forget gate, candidate and output gate of an LSTM; r, u and h the reset
gate, update gate (z in Keras and ONNX) and candidate of a GRU. A simple RNN has h only.
"""

import numpy as np

# {format: {number of gates: the gates in their order}}.
_ORDERS = {
    "buffer": {4: "ifco", 3: "ruh", 1: "h"},  # of the CudnnRNN ops
    "keras": {4: "ifco", 3: "urh", 1: "h"},  # and LayerRNN, BlockLSTMV2, CuDNNLSTM and CuDNNGRU
    "onnx": {4: "iofc", 3: "urh", 1: "h"},
    "openvino": {4: "fico", 3: "urh", 1: "h"},
    "tensorflow_1": {4: "icfo", 3: "ruh", 1: "h"},  # LSTMCell and BlockLSTM
    # The gates with the recurrent activation come first.
    "plain": {4: "ifoc", 3: "ruh", 1: "h"},
}
# {rnn_mode: number of gates}.
COUNTS = {"lstm": 4, "gru": 3, "gru_reset_before": 3, "rnn": 1, "rnn_tanh": 1, "rnn_relu": 1}
# {rnn_mode: its op in ONNX}.
ONNX_OPS = {mode: {4: "LSTM", 3: "GRU", 1: "RNN"}[count] for mode, count in COUNTS.items()}


def order(source: str, target: str, gates: int) -> tuple[int, ...]:
    """For each gate of a format its number in another one.

    Args:
        source: The format that has the gates, one of _ORDERS.
        target: The format that gets them.
        gates: The number of gates of the cell.
    """
    return tuple(map(_ORDERS[source][gates].index, _ORDERS[target][gates]))


def reorder(stacked: np.ndarray, source: str, target: str) -> np.ndarray:
    """Puts the gates, along the first axis, from the order of one format into that of another one."""
    return stacked[list(order(source, target, len(stacked)))]


def of_modes(form: str) -> dict[str, str]:
    """{rnn_mode: its gates in the order of a format}."""
    return {mode: _ORDERS[form][count] for mode, count in COUNTS.items()}
