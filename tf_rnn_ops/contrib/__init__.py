"""The API of TensorFlow 1's tf.contrib.cudnn_rnn: models, checkpoints and cells.

CudnnLSTM and its siblings in this module are functions of a buffer. The classes in `layers` have
variables.

docs/contrib.md shows the typical use in TensorFlow 2 and in tf.compat.v1 sessions.
"""

from tf_rnn_ops.native import tensorflow_first as _tensorflow_first  # noqa: F401

# isort: split
from tf_rnn_ops._python import lazy as _lazy
from tf_rnn_ops.contrib import _collection, layers
from tf_rnn_ops.contrib.cells import CudnnCompatibleGRUCell, CudnnCompatibleLSTMCell
from tf_rnn_ops.contrib.format_converters import (
    CudnnParamsFormatConverterGRU,
    CudnnParamsFormatConverterLSTM,
    CudnnParamsFormatConverterRelu,
    CudnnParamsFormatConverterTanh,
)
from tf_rnn_ops.contrib.models import CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh
from tf_rnn_ops.contrib.rnn_params_saveable import RNNParamsSaveable
from tf_rnn_ops.contrib.saveables import (
    CudnnGRUSaveable,
    CudnnLSTMSaveable,
    CudnnRNNReluSaveable,
    CudnnRNNTanhSaveable,
)

_collection.register()

# The constants of tf.contrib.cudnn_rnn.
CUDNN_RNN_UNIDIRECTION = "unidirectional"
CUDNN_RNN_BIDIRECTION = "bidirectional"

CUDNN_LSTM = "lstm"
CUDNN_GRU = "gru"
CUDNN_RNN_RELU = "rnn_relu"
CUDNN_RNN_TANH = "rnn_tanh"

# The number of weights of one layer and direction, and of biases: half for the input, half for the state.
CUDNN_LSTM_PARAMS_PER_LAYER = 8
CUDNN_GRU_PARAMS_PER_LAYER = 6
CUDNN_RNN_TANH_PARAMS_PER_LAYER = 2
CUDNN_RNN_RELU_PARAMS_PER_LAYER = 2

CUDNN_INPUT_LINEAR_MODE = "linear_input"
CUDNN_INPUT_SKIP_MODE = "skip_input"
CUDNN_INPUT_AUTO_MODE = "auto_select"

__all__ = [
    "CUDNN_GRU",
    "CUDNN_GRU_PARAMS_PER_LAYER",
    "CUDNN_INPUT_AUTO_MODE",
    "CUDNN_INPUT_LINEAR_MODE",
    "CUDNN_INPUT_SKIP_MODE",
    "CUDNN_LSTM",
    "CUDNN_LSTM_PARAMS_PER_LAYER",
    "CUDNN_RNN_BIDIRECTION",
    "CUDNN_RNN_RELU",
    "CUDNN_RNN_RELU_PARAMS_PER_LAYER",
    "CUDNN_RNN_TANH",
    "CUDNN_RNN_TANH_PARAMS_PER_LAYER",
    "CUDNN_RNN_UNIDIRECTION",
    "CudnnCompatibleGRUCell",
    "CudnnCompatibleLSTMCell",
    "CudnnGRU",
    "CudnnGRUSaveable",
    "CudnnLSTM",
    "CudnnLSTMSaveable",
    "CudnnParamsFormatConverterGRU",
    "CudnnParamsFormatConverterLSTM",
    "CudnnParamsFormatConverterRelu",
    "CudnnParamsFormatConverterTanh",
    "CudnnRNNRelu",
    "CudnnRNNReluSaveable",
    "CudnnRNNTanh",
    "CudnnRNNTanhSaveable",
    "RNNParamsSaveable",
    "layers",
]

__getattr__, __dir__ = _lazy.attach(__name__, __all__)
