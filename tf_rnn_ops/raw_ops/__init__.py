"""The ops under the names of tf.raw_ops, with the same signatures, defaults and order of results.

tf.raw_ops does not have these ops: LayerRNN and LayerRNNBackprop (one layer with weights in Keras's
format), the four ops whose names begin with Pack or end in Packed (inference with weights that are packed
once), PackQuantizedLayerRNN and QuantizedLayerRNN (inference with int8 weights), and StatelessCudnnRNNV3 (CudnnRNNV3 with the seed of its dropout as a tensor).

Each function accepts only keyword arguments, as in tf.raw_ops: tensors, tf.Variable, numpy arrays, Python
numbers and lists. None stands for an optional tensor that is absent, and for the cell state of a network
without a cell state. Bad values raise tf.errors.InvalidArgumentError in eager mode and ValueError while a
graph is built.

Letters in shapes: T time steps, B batch, I input size, H units, L layers, D directions (1 or 2),
S the size of a hidden state: num_proj if it is set, otherwise H.
"""

from tf_rnn_ops._python import lazy as _lazy
from tf_rnn_ops.raw_ops.block_lstm import BlockLSTMGradV2, BlockLSTMV2
from tf_rnn_ops.raw_ops.cudnn_rnn import CudnnRNNBackpropV3, CudnnRNNV3
from tf_rnn_ops.raw_ops.cudnn_rnn_params import (
    CudnnRNNCanonicalToParamsV2,
    CudnnRNNParamsSize,
    CudnnRNNParamsToCanonicalV2,
)
from tf_rnn_ops.raw_ops.layer_rnn import LayerRNN, LayerRNNBackprop
from tf_rnn_ops.raw_ops.packed import (
    CudnnRNNV3Packed,
    LayerRNNPacked,
    PackCudnnRNNParams,
    PackLayerRNN,
)
from tf_rnn_ops.raw_ops.quantized import PackQuantizedLayerRNN, QuantizedLayerRNN
from tf_rnn_ops.raw_ops.stateless import StatelessCudnnRNNV3

__all__ = [
    "BlockLSTMGradV2",
    "BlockLSTMV2",
    "CudnnRNNBackpropV3",
    "CudnnRNNCanonicalToParamsV2",
    "CudnnRNNParamsSize",
    "CudnnRNNParamsToCanonicalV2",
    "CudnnRNNV3",
    "CudnnRNNV3Packed",
    "LayerRNN",
    "LayerRNNBackprop",
    "LayerRNNPacked",
    "PackCudnnRNNParams",
    "PackLayerRNN",
    "PackQuantizedLayerRNN",
    "QuantizedLayerRNN",
    "StatelessCudnnRNNV3",
]

__getattr__, __dir__ = _lazy.attach(__name__, __all__)
