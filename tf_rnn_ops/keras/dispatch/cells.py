"""The arguments of ops that come from a cell, and the reasons why no op can run a cell.

A cell of this package has both as attributes:

    op_name             The op that runs it: 'LayerRNN' or 'BlockLSTMV2'.
    op_reason()         Why the op cannot compute the cell, or None.
    op_arguments(training)
                        The arguments of the op except kernel, recurrent_kernel, bias and activations: of
                        LayerRNN rnn_mode and what the cell has besides.

This module has both for the cells of Keras, which run on LayerRNN, or, if TensorFlow sees a GPU, on
CudnnRNNV3 where it can compute the cell. A subclass may compute anything, so a class has an op only if it
defines op_name itself.

A cell whose class defines float_class has int8 weights: it computes what a cell of float_class does.
"""

from typing import Any

import keras
import tensorflow as tf

from tf_rnn_ops.keras.dispatch import activations, changes, environment
from tf_rnn_ops.keras.dispatch.params import as_tensor, weight_of

_DTYPES = ("bfloat16", "float16", "float32", "float64")

# The modes of simple cells that CudnnRNNV3 has too. LayerRNN has other simple cells as 'rnn'.
_SIMPLE_MODES = {"tanh": "rnn_tanh", "relu": "rnn_relu"}

# The arguments of PackLayerRNN.
_PACKED = ("kernel", "recurrent_kernel", "bias", "projection", "rnn_mode")

MATRICES = ("kernel", "recurrent_kernel", "projection")
"""The weights of cells that can be int8."""


def _lstm_mode(cell: keras.layers.Layer) -> str:
    return "lstm"


def _gru_mode(cell: keras.layers.Layer) -> str:
    return "gru" if cell.reset_after else "gru_reset_before"


def _simple_mode(cell: keras.layers.Layer) -> str:
    return _SIMPLE_MODES.get(activations.name_of(cell.activation) or "", "rnn")


_STOCK_MODES = {
    keras.layers.LSTMCell: _lstm_mode,
    keras.layers.GRUCell: _gru_mode,
    keras.layers.SimpleRNNCell: _simple_mode,
}


def class_of(cell: keras.layers.Layer) -> type:
    """The class of a cell, or the class with float weights that computes the same."""
    return vars(type(cell)).get("float_class", type(cell))


def is_quantized(cell: keras.layers.Layer) -> bool:
    """Whether a cell has int8 weights."""
    return class_of(cell) is not type(cell) and cell.quantization_mode == "int8"


def op_name(cell: keras.layers.Layer) -> str | None:
    """The name of the op that runs the cell, or None for a cell without one."""
    cls = class_of(cell)
    if cls not in _STOCK_MODES:
        return cell.op_name if "op_name" in vars(cls) else None
    if not environment.has_gpu():
        return "LayerRNN"
    return "CudnnRNNV3" if _cudnn_can_run(cell) else "LayerRNN"


def may_run_layer_rnn(cell: keras.layers.Layer) -> bool:
    """Whether LayerRNN runs those calls of a cell that CudnnRNNV3 cannot run."""
    return op_name(cell) in ("LayerRNN", "CudnnRNNV3")


def op_of_call(cell: keras.layers.Layer, time: int | None, training: bool | None, xla: bool) -> str:
    """The name of the op that runs a call of a cell.

    Args:
        cell: A cell that an op can compute.
        time: The number of time steps that a graph knows, or None.
        training: Whether it is called for training.
        xla: Whether XLA compiles the call.
    """
    name = op_name(cell)
    assert name is not None, "reason() excludes cells without an op"
    if name == "CudnnRNNV3":
        # It takes longer for one step, and lacks dropout masks of gates and a kernel for XLA.
        if not (time == 1 or xla or (training and _needs_gate_masks(cell))):
            return name
        name = "LayerRNN"
    if name != "LayerRNN" or training:
        return name
    if is_quantized(cell):
        return "QuantizedLayerRNN"
    return "LayerRNNPacked" if can_keep_packed(cell) else name


def can_keep_packed(layer: keras.layers.Layer) -> bool:
    """Whether the packed weights of a cell or stack can be kept between calls.

    They can if the op gets the value of the variables. A cast makes a new tensor at each call. The
    weights of a quantized cell are not cast.
    """
    return is_quantized(layer) or layer.variable_dtype == layer.compute_dtype


def _needs_gate_masks(cell: keras.layers.Layer) -> bool:
    """Whether dropout in training multiplies the state, or other inputs for every gate."""
    return cell.recurrent_dropout > 0 or (
        getattr(cell, "implementation", 2) == 1 and cell.dropout > 0
    )


def reason(cell: keras.layers.Layer) -> str | None:
    """Tells why no op can compute a cell; None if one can."""
    name = op_name(cell)
    if name is None:
        return f"there is no op for a cell of class {type(cell).__name__}"
    if cell.compute_dtype not in _DTYPES:
        return f"the op does not compute in {cell.compute_dtype}"
    reason = changes.reason(cell)
    if reason is None and class_of(cell) not in _STOCK_MODES:
        reason = cell.op_reason()
    return reason or _activations_reason(cell, only_usual=name != "LayerRNN")


def _cudnn_can_run(cell: keras.layers.Layer) -> bool:
    """cuDNN applies the reset gate of a GRU after the recurrent product."""
    return getattr(cell, "reset_after", True) and _activations_reason(cell, True) is None


def _activations_reason(cell: keras.layers.Layer, only_usual: bool) -> str | None:
    """`only_usual`: whether the op has only the activations of CudnnRNNV3."""
    simple = not hasattr(cell, "recurrent_activation")
    usual = tuple(_SIMPLE_MODES) if simple else ("tanh",)
    computed = tuple(activations.COMPUTED)
    reason = activations.reason(cell, "activation", usual if only_usual else computed)
    if reason or simple:
        return reason
    return activations.reason(
        cell, "recurrent_activation", ("sigmoid",) if only_usual else computed
    )


def weights(cell: keras.layers.Layer) -> list[Any]:
    """The kernel, recurrent kernel and bias of a cell as tensors. A missing or unused bias is None."""
    bias = weight_of(cell, "bias") if changes.uses_bias(cell) else None
    return [weight_of(cell, "kernel"), weight_of(cell, "recurrent_kernel"), bias]


def rnn_mode(cell: keras.layers.Layer) -> str:
    """The rnn_mode of the ops for a cell of Keras."""
    return _STOCK_MODES[class_of(cell)](cell)


def layer_arguments(
    cell: keras.layers.Layer, training: bool | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of LayerRNN that come from a cell.

    Args:
        cell: A cell that the op can compute.
        training: Whether it is called for training.

    Returns:
        Two dicts: the arguments that PackLayerRNN also has, and the other arguments.
    """
    kernel, recurrent_kernel, bias = weights(cell)
    arguments: dict[str, Any] = {
        "kernel": kernel,
        "recurrent_kernel": recurrent_kernel,
        "bias": bias,
    }
    if class_of(cell) in _STOCK_MODES:
        arguments["rnn_mode"] = rnn_mode(cell)
    else:
        arguments.update(cell.op_arguments(training))
    other_arguments = {name: value for name, value in arguments.items() if name not in _PACKED}
    other_arguments.update(_functions(cell, arguments["rnn_mode"]))
    return {name: arguments[name] for name in _PACKED if name in arguments}, other_arguments


def quantized_arguments(cell: keras.layers.Layer) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of QuantizedLayerRNN that come from a cell with int8 weights.

    Returns:
        Two dicts: the arguments that PackQuantizedLayerRNN also has, and the other arguments. The bias has the
        type of its variable; without a bias it is empty, of the compute dtype.
    """
    # ProjectedLSTMCell is the only other cell with int8 weights.
    mode = rnn_mode(cell) if class_of(cell) in _STOCK_MODES else "lstm"
    bias = as_tensor(cell.bias, cell.variable_dtype) if changes.uses_bias(cell) else None
    # WHY an empty tensor rather than None: the op for packing has no other input of this type.
    arguments = {
        "rnn_mode": mode,
        "bias": tf.zeros([0], cell.compute_dtype) if bias is None else bias,
    }
    for name in MATRICES:
        if getattr(cell, name, None) is not None:
            arguments[name] = as_tensor(getattr(cell, name), "int8")
            arguments[f"{name}_scale"] = as_tensor(getattr(cell, f"{name}_scale"), "float32")
    return arguments, _functions(cell, mode)


def _functions(cell: keras.layers.Layer, mode: str) -> dict[str, str | None]:
    """The activations, as arguments of LayerRNN."""
    if mode in _SIMPLE_MODES.values():
        return {}
    names = [n for n in ("activation", "recurrent_activation") if hasattr(cell, n)]
    return {name: activations.name_of(getattr(cell, name)) for name in names}
