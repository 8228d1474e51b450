"""The Keras layers and cells of this package."""

from tf_rnn_ops.keras.layers.drop_in import GRU, LSTM, RNN, SimpleRNN
from tf_rnn_ops.keras.layers.layer_norm import LayerNormLSTM
from tf_rnn_ops.keras.layers.layer_norm_cell import LayerNormLSTMCell
from tf_rnn_ops.keras.layers.projected import PeepholeLSTM, ProjectedLSTM
from tf_rnn_ops.keras.layers.projected_cell import PeepholeLSTMCell, ProjectedLSTMCell
from tf_rnn_ops.keras.layers.stack import CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh
from tf_rnn_ops.keras.layers.zoneout import ZoneoutGRU, ZoneoutLSTM
from tf_rnn_ops.keras.layers.zoneout_cells import ZoneoutGRUCell, ZoneoutLSTMCell

__all__ = [
    "CudnnGRU",
    "CudnnLSTM",
    "CudnnRNNRelu",
    "CudnnRNNTanh",
    "GRU",
    "LSTM",
    "LayerNormLSTM",
    "LayerNormLSTMCell",
    "PeepholeLSTM",
    "PeepholeLSTMCell",
    "ProjectedLSTM",
    "ProjectedLSTMCell",
    "RNN",
    "SimpleRNN",
    "ZoneoutGRU",
    "ZoneoutGRUCell",
    "ZoneoutLSTM",
    "ZoneoutLSTMCell",
]
