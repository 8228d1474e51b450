"""The decision which ops run a layer, or why Keras's implementation does. Calls run it, and explain() prints it."""

from typing import Any, NamedTuple

import keras

from tf_rnn_ops.keras.dispatch import cells, changes, environment
from tf_rnn_ops.native import loader, xla


class Decision(NamedTuple):
    """How a layer runs.

    Attributes:
        ops: The op of each cell in turn, or the op of a stack; empty for Keras's implementation.
        reason: Why no op runs; empty if ops do.
    """

    ops: tuple[str, ...]
    reason: str


def decide(
    layer: keras.layers.Layer, time: int | None, training: bool | None, xla: bool
) -> Decision:
    """Decides how a layer runs, as far as its arguments and weights tell; see shapes.reason for those of a call.

    Args:
        layer: A stack of this package, or a keras.layers.RNN of any kind whose loop runs here.
        time: The number of time steps that a graph knows; None if it does not, or if the call is eager.
        training: Whether it is called for training.
        xla: Whether XLA (jit_compile=True) compiles the call.
    """
    if loader.unavailable() is not None:
        return Decision((), f"the ops are not loaded: {loader.unavailable()}")
    if hasattr(layer, "op_of_call"):
        return Decision((layer.op_of_call(training),), "")
    reason = _layer_reason(layer) or _single_step_reason(layer, time)
    if reason is None and xla:
        reason = _layer_xla_reason(layer)
    if reason is None and training:
        reason = _training_reason(layer)
    if reason is not None:
        return Decision((), reason)
    ops = [cells.op_of_call(cell, time, training, xla) for cell in cells_of(layer)]
    return Decision(tuple(ops), "")


def _layer_reason(layer: keras.layers.Layer) -> str | None:
    """Tells why the arguments or the weights of a layer rule out the op in every call; None if they do not."""
    if reason := wish_for_keras(layer):
        return reason
    its_cells = cells_of(layer)
    reason = changes.loop_reason(layer) or next(filter(None, map(cells.reason, its_cells)), None)
    if reason is None and layer.cell is not its_cells[0]:
        reason = changes.step_reason(layer.cell)
    if reason is not None:
        return reason
    # Keras casts weights to the type of the cell, but the op gets them in the type of the layer.
    if len({each.compute_dtype for each in (layer, layer.cell, *its_cells)}) > 1:
        return "the layer and its cells compute in different types"
    return None


def wish_for_keras(layer: keras.layers.Layer) -> str | None:
    """The sentence on an argument that asks for Keras's implementation; None if there is none."""
    if layer.unroll:
        return "unroll=True asks for Keras's unrolled steps"
    if getattr(layer, "use_cudnn", "auto") is False:
        return "use_cudnn=False asks for Keras's implementation"
    return None


def cells_of(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    """The cells of a layer in the order in which they run."""
    cell: Any = getattr(layer, "cell", None)
    return list(cell.cells) if type(cell) is keras.layers.StackedRNNCells else [cell]


def has_op_cells(layer: keras.layers.Layer) -> bool:
    """Whether all cells are of classes that run on an op if their arguments allow it."""
    return all(cells.op_name(cell) is not None for cell in cells_of(layer))


def _training_reason(layer: keras.layers.Layer) -> str | None:
    """Tells why a layer that can use the op cannot use it in training; None if it can."""
    return next(filter(None, map(_cell_training_reason, cells_of(layer))), None)


def _cell_training_reason(cell: keras.layers.Layer) -> str | None:
    if cell.dropout >= 1 or cell.recurrent_dropout >= 1:
        return "dropout=1 drops all elements"
    if reason := changes.dropout_reason(cell):
        return reason
    if cells.may_run_layer_rnn(cell):
        return None
    if cell.recurrent_dropout > 0:
        return "recurrent_dropout multiplies the state at every step, which the op cannot"
    if getattr(cell, "implementation", 2) == 1 and cell.dropout > 0:
        return "implementation=1 drops other inputs for every gate, which the op cannot"
    return None


def _single_step_reason(layer: keras.layers.Layer, time: int | None) -> str | None:
    """Tells why a graph for a known number of time steps does not use the op; None if it does.

    BlockLSTMV2 needs the weights in one buffer. Filling the buffer takes a pass over all weights, as a step
    with batch size 1 does.
    """
    if time != 1 or all(map(cells.may_run_layer_rnn, cells_of(layer))):
        return None
    return "for one time step the op would spend its time on arranging weights"


def xla_reason() -> str | None:
    """Tells why XLA (jit_compile=True) cannot compile the op; None if it can."""
    if xla.unavailable() is not None:
        return f"the op cannot be compiled by XLA: {xla.unavailable()}"
    if environment.has_tpu():
        return "if TensorFlow sees a TPU, XLA (jit_compile=True) compiles Keras's implementation"
    return None


def _layer_xla_reason(layer: keras.layers.Layer) -> str | None:
    """Tells why XLA (jit_compile=True) cannot compile the op of a layer; None if it can."""
    if is_quantized(layer):
        return "XLA (jit_compile=True) compiles Keras's implementation of a layer with int8 weights"
    return xla_reason()


def is_quantized(layer: keras.layers.Layer) -> bool:
    """Whether a cell of a layer has int8 weights."""
    return any(map(cells.is_quantized, cells_of(layer)))
