"""ONNX, written by tf2onnx: an LSTM, GRU or RNN node for each recurrent layer."""

from tf_rnn_ops._formats.onnx.running import load
from tf_rnn_ops._formats.onnx.writing import write

__all__ = ["load", "write"]
