"""Operation counts for TensorFlow's profiler (tf.compat.v1.profiler, float_operation).

As in TensorFlow's count for a MatMul, each product of an input or a state with a weight counts as two.
Activations and other work on single values are left out. Backward has twice the products of forward. A
count raises ValueError if the graph does not know a shape. The profiler then counts nothing, as for
TensorFlow's own ops.
"""

import functools
import math
from typing import Any

import tensorflow as tf

from tf_rnn_ops.native.tf_internals import registries

_GATES = {"lstm": 4, "gru": 3}
_MATRICES = ("kernel", "recurrent_kernel", "projection")

# TensorFlow's own ops run on our kernels too, and TensorFlow has no counts for them.
_CUDNN = ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3", "TfRnnOps>CudnnRNNV3")
_CUDNN_BACKPROP = (
    "CudnnRNNBackprop",
    "CudnnRNNBackpropV2",
    "CudnnRNNBackpropV3",
    "TfRnnOps>CudnnRNNBackpropV3",
)


def register() -> None:
    """Registers the counts of all ops that multiply matrices. A second call changes nothing."""
    for count, times, names in (
        (_layer, 1, ("TfRnnOps>LayerRNN", "TfRnnOps>LayerRNNPacked", "TfRnnOps>LinearRecurrence")),
        (_layer, 2, ("TfRnnOps>LayerRNNBackprop",)),
        (_cudnn, 1, (*_CUDNN, "TfRnnOps>StatelessCudnnRNNV3", "TfRnnOps>CudnnRNNV3Packed")),
        (_cudnn, 2, _CUDNN_BACKPROP),
        (_block, 1, ("BlockLSTM", "BlockLSTMV2", "TfRnnOps>BlockLSTMV2")),
        (_block, 2, ("BlockLSTMGrad", "BlockLSTMGradV2", "TfRnnOps>BlockLSTMGradV2")),
    ):
        registries.register_flops(names, functools.partial(_flops, count, times))


def _flops(count: Any, times: int, op: tf.Operation) -> Any:
    names = [argument.name for argument in op.op_def.input_arg]
    shapes = {name: tensor.shape for name, tensor in zip(names, op.inputs)}
    steps = shapes["x"] if "x" in shapes else shapes["input"]
    # [T, B, .] or [B, T, .]
    return 2 * times * _known(steps[0]) * _known(steps[1]) * count(op, shapes)


def _layer(op: tf.Operation, shapes: Any) -> Any:
    """The number of weights that each step of each sequence is multiplied by, as in the next two functions."""
    return sum(_size(shapes[name]) for name in _MATRICES if name in shapes)


def _block(op: tf.Operation, shapes: Any) -> Any:
    return _size(shapes["w"])


def _cudnn(op: tf.Operation, shapes: Any) -> Any:
    states = shapes["input_h"].with_rank(3)
    time_major = "time_major" not in op.node_def.attr or op.get_attr("time_major")
    mode = op.get_attr("rnn_mode").decode()
    units = shapes["input_c"].with_rank(3)[2] if mode == "lstm" else states[2]
    biases = _known(states[0 if time_major else 1]) * 2 * _GATES.get(mode, 1) * _known(units)
    return _size(shapes["params"]) - biases


def _size(shape: Any) -> Any:
    shape.assert_is_fully_defined()
    return math.prod(shape.as_list())


def _known(size: Any) -> Any:
    if size is None:
        raise ValueError("The size is not known in the graph.")
    return size
