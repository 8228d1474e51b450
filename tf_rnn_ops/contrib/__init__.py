"""The surface of TensorFlow 1's tf.contrib.cudnn_rnn: models, checkpoints and cells of that time.

CudnnLSTM and its siblings here are functions of a buffer; those of `layers` have variables.

docs/migration-contrib.md shows the typical use in TensorFlow 2 and in tf.compat.v1 sessions.
"""

from tf_rnn_ops.contrib import _collection, layers
from tf_rnn_ops.contrib.cells import CudnnCompatibleGRUCell, CudnnCompatibleLSTMCell
from tf_rnn_ops.contrib.constants import (
    CUDNN_GRU,
    CUDNN_GRU_PARAMS_PER_LAYER,
    CUDNN_INPUT_AUTO_MODE,
    CUDNN_INPUT_LINEAR_MODE,
    CUDNN_INPUT_SKIP_MODE,
    CUDNN_LSTM,
    CUDNN_LSTM_PARAMS_PER_LAYER,
    CUDNN_RNN_BIDIRECTION,
    CUDNN_RNN_RELU,
    CUDNN_RNN_RELU_PARAMS_PER_LAYER,
    CUDNN_RNN_TANH,
    CUDNN_RNN_TANH_PARAMS_PER_LAYER,
    CUDNN_RNN_UNIDIRECTION,
)
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
