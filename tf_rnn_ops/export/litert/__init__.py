"""LiteRT (TensorFlow Lite): LSTM layers as its fused op, everything else as builtin ops; see formats."""

from tf_rnn_ops.export.litert.running import load, run
from tf_rnn_ops.export.litert.writing import write

__all__ = ["load", "run", "write"]
