"""Converts weights of Keras, PyTorch, ONNX and TensorFlow 1 for stacks and the CudnnRNN ops, with numpy only."""

from tf_rnn_ops._python import lazy as _lazy
from tf_rnn_ops.params.cells import Converted
from tf_rnn_ops.params.keras.cudnn_layers import from_cudnn_layer
from tf_rnn_ops.params.keras.weights import from_keras, to_keras
from tf_rnn_ops.params.layout import Layout
from tf_rnn_ops.params.lstm_cell_weights import from_lstm_cell
from tf_rnn_ops.params.onnx.nodes import OnnxNode
from tf_rnn_ops.params.onnx.weights import from_onnx, to_onnx
from tf_rnn_ops.params.torch_weights import from_torch, to_torch

__all__ = [
    "Converted",
    "Layout",
    "OnnxNode",
    "from_cudnn_layer",
    "from_keras",
    "from_lstm_cell",
    "from_onnx",
    "from_torch",
    "to_keras",
    "to_onnx",
    "to_torch",
]

__getattr__, __dir__ = _lazy.attach(__name__, __all__)
