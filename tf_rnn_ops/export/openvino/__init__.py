"""OpenVINO: recurrent layers as LSTMSequence, GRUSequence and RNNSequence."""

from tf_rnn_ops.export.openvino.converting import extensions
from tf_rnn_ops.export.openvino.running import load
from tf_rnn_ops.export.openvino.writing import write

__all__ = ["extensions", "load", "write"]
