"""The networks of the ops in TensorFlow's ordinary ops, which every device has.

The gradients of the gradient ops are taken through them, and tf_rnn_ops.portable writes them into
models that are to need no plug-in. They need no library of ours. Letters as in tf_rnn_ops.raw_ops.

The loops over time are tf.while_loop: call them in a tf.function.
"""

from tf_rnn_ops.plain._block_lstm import block_lstm, block_lstm_gates
from tf_rnn_ops.plain._cudnn_rnn import CudnnRNNResult, cudnn_rnn
from tf_rnn_ops.plain._layer_rnn import KERAS_GATES, layer_rnn
from tf_rnn_ops.plain.cells import GATES, reorder_gates
from tf_rnn_ops.plain.dropout import dropout_masks
from tf_rnn_ops.plain.recurrence import Loops, matmul
from tf_rnn_ops.plain.sizes import (
    LAYER_ATTRS,
    Layer,
    UnknownSize,
    block_sizes_of,
    layer_of,
    layout_of,
)

__all__ = [
    "GATES",
    "KERAS_GATES",
    "LAYER_ATTRS",
    "CudnnRNNResult",
    "Layer",
    "Loops",
    "UnknownSize",
    "block_lstm",
    "block_lstm_gates",
    "block_sizes_of",
    "cudnn_rnn",
    "dropout_masks",
    "layer_of",
    "layer_rnn",
    "layout_of",
    "matmul",
    "reorder_gates",
]
