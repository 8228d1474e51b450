"""The Keras layers and cells of this package.

A public class is in the file of its name: LSTM in lstm.py, LayerNormLSTMCell next to its layer. cudnn.py has the four
stacks, zoneout.py the layers and cells with zoneout, and projected_lstm.py and projected_lstm_cell.py PeepholeLSTM
and PeepholeLSTMCell too.

    op_layer.py         the base of all layers but the stacks, over dispatch/, which runs the op
    op_cell.py          the base of the cells of this package
    arguments.py        the arguments that constructors pass on to Keras, with their types
    cell_layer.py       the base of the layers that make such a cell
    stack_layer.py      the base of the stacks, with stack_options.py and stack_weights.py
    quantization.py     quantize("int8"), with policies.py and quantized_cells.py
"""

from tf_rnn_ops._python import lazy as _lazy
from tf_rnn_ops.keras.layers.cudnn import CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh
from tf_rnn_ops.keras.layers.gru import GRU
from tf_rnn_ops.keras.layers.layer_norm_lstm import LayerNormLSTM, LayerNormLSTMCell
from tf_rnn_ops.keras.layers.lstm import LSTM
from tf_rnn_ops.keras.layers.projected_lstm import PeepholeLSTM, ProjectedLSTM
from tf_rnn_ops.keras.layers.projected_lstm_cell import PeepholeLSTMCell, ProjectedLSTMCell
from tf_rnn_ops.keras.layers.reversed import Reversed
from tf_rnn_ops.keras.layers.rnn import RNN
from tf_rnn_ops.keras.layers.simple_rnn import SimpleRNN
from tf_rnn_ops.keras.layers.zoneout import (
    ZoneoutGRU,
    ZoneoutGRUCell,
    ZoneoutLSTM,
    ZoneoutLSTMCell,
)

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
    "Reversed",
    "SimpleRNN",
    "ZoneoutGRU",
    "ZoneoutGRUCell",
    "ZoneoutLSTM",
    "ZoneoutLSTMCell",
]

__getattr__, __dir__ = _lazy.attach(__name__, __all__)
