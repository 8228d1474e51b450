"""The arguments of ops that come from a cell, and the reasons why no op can run a cell.

A cell of this package has both as attributes:

    op_name             The op that runs it: 'LayerRNN', which has no kernel for GPUs, or 'BlockLSTMV2'.
    op_reason(on_gpu)   Why the op cannot compute the cell, or None. `on_gpu`: whether TensorFlow sees a GPU.
    op_arguments(training)
                        The arguments of the op except kernel, recurrent_kernel, bias and activations: of
                        LayerRNN rnn_mode and what the cell has besides.

This module has both for the cells of Keras, which run on LayerRNN, or on CudnnRNNV3 if TensorFlow sees a
GPU. A subclass may compute anything, so a class has an op only if it defines op_name itself.
"""

import keras

from tf_rnn_ops.keras.path import activations, environment
from tf_rnn_ops.keras.path.params import as_tensor

_DTYPES = ("bfloat16", "float16", "float32", "float64")

# The modes of simple cells that CudnnRNNV3 has too. LayerRNN has other simple cells as 'rnn'.
_SIMPLE_MODES = {"tanh": "rnn_tanh", "relu": "rnn_relu"}

# The arguments of PackLayerRNN.
_PACKED = ("kernel", "recurrent_kernel", "bias", "projection", "rnn_mode")


def _lstm_mode(cell):
    return "lstm"


def _gru_mode(cell):
    return "gru" if cell.reset_after else "gru_reset_before"


def _simple_mode(cell):
    return _SIMPLE_MODES.get(activations.name_of(cell.activation), "rnn")


_STOCK_MODES = {
    keras.layers.LSTMCell: _lstm_mode,
    keras.layers.GRUCell: _gru_mode,
    keras.layers.SimpleRNNCell: _simple_mode,
}


def op_name(cell):
    """The name of the op that runs the cell, or None for a cell without one."""
    if type(cell) in _STOCK_MODES:
        return "CudnnRNNV3" if environment.has_gpu() else "LayerRNN"
    return cell.op_name if "op_name" in vars(type(cell)) else None


def reason(cell):
    """Tells why no op can compute a cell; None if one can."""
    name = op_name(cell)
    if name is None:
        return f"there is no op for a cell of class {type(cell).__name__}"
    if cell.compute_dtype not in _DTYPES:
        return f"the op does not compute in {cell.compute_dtype}"
    on_gpu = environment.has_gpu()
    if type(cell) in _STOCK_MODES:
        found = _stock_reason(cell, on_gpu)
    else:
        found = cell.op_reason(on_gpu)
    return found or _activations_reason(cell, only_usual=on_gpu or name != "LayerRNN")


def _stock_reason(cell, on_gpu):
    if on_gpu and not getattr(cell, "reset_after", True):
        return "reset_after=False; cuDNN applies the reset gate after the recurrent product"
    return None


def _activations_reason(cell, only_usual):
    """`only_usual`: whether the op has only the activations of CudnnRNNV3."""
    simple = not hasattr(cell, "recurrent_activation")
    usual = tuple(_SIMPLE_MODES) if simple else ("tanh",)
    found = activations.reason(cell, "activation", usual if only_usual else activations.COMPUTED)
    if found or simple:
        return found
    usual = ("sigmoid",) if only_usual else activations.COMPUTED
    return activations.reason(cell, "recurrent_activation", usual)


def weights(cell):
    """The kernel, recurrent kernel and bias of a cell as tensors. A missing bias is None."""
    return [
        as_tensor(weight, cell.compute_dtype)
        for weight in (cell.kernel, cell.recurrent_kernel, cell.bias)
    ]


def rnn_mode(cell):
    """The rnn_mode of the ops for a cell of Keras."""
    return _STOCK_MODES[type(cell)](cell)


def layer_arguments(cell, training):
    """The arguments of LayerRNN that come from a cell.

    Args:
        cell: A cell that the op can compute.
        training: Whether it is called for training.

    Returns:
        Two dicts: the arguments that PackLayerRNN also has, and the other arguments.
    """
    kernel, recurrent_kernel, bias = weights(cell)
    given = {"kernel": kernel, "recurrent_kernel": recurrent_kernel, "bias": bias}
    if type(cell) in _STOCK_MODES:
        given["rnn_mode"] = rnn_mode(cell)
    else:
        given.update(cell.op_arguments(training))
    others = {name: value for name, value in given.items() if name not in _PACKED}
    if given["rnn_mode"] not in _SIMPLE_MODES.values():
        others["activation"] = activations.name_of(cell.activation)
        if hasattr(cell, "recurrent_activation"):
            others["recurrent_activation"] = activations.name_of(cell.recurrent_activation)
    return {name: given[name] for name in _PACKED if name in given}, others
