"""Keras 3 layers on the ops of this package."""

from tf_rnn_ops.keras import _environment

_environment.check()

from tf_rnn_ops.keras import _bidirectional  # noqa: E402
from tf_rnn_ops.keras._accelerate import Acceleration, accelerate, restore  # noqa: E402
from tf_rnn_ops.keras._compare import ModelComparison, Timing, compare  # noqa: E402
from tf_rnn_ops.keras._convert import convert  # noqa: E402
from tf_rnn_ops.keras._explain import Explanation, explain  # noqa: E402
from tf_rnn_ops.keras.activations import hard_sigmoid_keras2  # noqa: E402
from tf_rnn_ops.keras.cudnn_stack import (  # noqa: E402
    CudnnGRU,
    CudnnLSTM,
    CudnnRNNRelu,
    CudnnRNNTanh,
)
from tf_rnn_ops.keras.layer_norm import LayerNormLSTM  # noqa: E402
from tf_rnn_ops.keras.layer_norm_cell import LayerNormLSTMCell  # noqa: E402
from tf_rnn_ops.keras.layers import GRU, LSTM, RNN, SimpleRNN  # noqa: E402
from tf_rnn_ops.keras.onnx_layers import from_onnx  # noqa: E402
from tf_rnn_ops.keras.peephole import PeepholeLSTM  # noqa: E402
from tf_rnn_ops.keras.peephole_cell import PeepholeLSTMCell  # noqa: E402
from tf_rnn_ops.keras.projected import ProjectedLSTM  # noqa: E402
from tf_rnn_ops.keras.projected_cell import ProjectedLSTMCell  # noqa: E402
from tf_rnn_ops.keras.zoneout import ZoneoutGRU, ZoneoutLSTM  # noqa: E402
from tf_rnn_ops.keras.zoneout_cells import ZoneoutGRUCell, ZoneoutLSTMCell  # noqa: E402

_bidirectional.guard()

__all__ = [
    "Acceleration",
    "CudnnGRU",
    "CudnnLSTM",
    "CudnnRNNRelu",
    "CudnnRNNTanh",
    "Explanation",
    "GRU",
    "LSTM",
    "LayerNormLSTM",
    "LayerNormLSTMCell",
    "ModelComparison",
    "PeepholeLSTM",
    "PeepholeLSTMCell",
    "ProjectedLSTM",
    "ProjectedLSTMCell",
    "RNN",
    "SimpleRNN",
    "Timing",
    "ZoneoutGRU",
    "ZoneoutGRUCell",
    "ZoneoutLSTM",
    "ZoneoutLSTMCell",
    "accelerate",
    "compare",
    "convert",
    "explain",
    "from_onnx",
    "hard_sigmoid_keras2",
    "restore",
]
