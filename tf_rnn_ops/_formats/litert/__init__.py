"""LiteRT (TensorFlow Lite): LSTM layers as its fused op, everything else as builtin ops."""

from tf_rnn_ops._formats.litert.running import load
from tf_rnn_ops._formats.litert.writing import write

__all__ = ["load", "write"]
