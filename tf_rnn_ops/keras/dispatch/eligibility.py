"""Decides whether a layer or a call can run as one op, with the reason if it cannot."""

from typing import Any

import keras
import tensorflow as tf

from tf_rnn_ops.keras.dispatch import cells, changes, environment
from tf_rnn_ops.native import loader, xla
from tf_rnn_ops.native.tf_internals import tracing


def keras_reason(layer: keras.layers.Layer) -> str | None:
    """Tells why the layer's arguments rule out the op.

    Args:
        layer: A keras.layers.RNN of any kind.

    Returns:
        A sentence, or None if the op can run.
    """
    if loader.unavailable() is not None:
        return f"the ops are not loaded: {loader.unavailable()}"
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


def training_reason(layer: keras.layers.Layer) -> str | None:
    """Tells why a layer that can use the op cannot use it in training; None if it can."""
    return next(filter(None, map(_training_reason, cells_of(layer))), None)


def _training_reason(cell: keras.layers.Layer) -> str | None:
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


def call_reason(
    layer: keras.layers.Layer,
    sequences: tf.Tensor,
    states: list[list[tf.Tensor]],
    mask: tf.Tensor | None,
    training: bool | None,
) -> str | None:
    """Tells why this call cannot use the op.

    Args:
        layer: The layer.
        sequences: Its input tensor.
        states: The initial states of each of its cells, a list of lists.
        mask: Its mask, or None.
        training: Whether it is called for training.

    Returns:
        A sentence, or None if the op can run.

    Raises:
        ValueError: A state is neither a tensor nor an array.
    """
    reason = keras_reason(layer)
    if reason is None and training:
        reason = training_reason(layer)
    if reason is not None:
        return reason
    if tracing.in_xla() and layer_xla_reason(layer) is not None:
        return layer_xla_reason(layer)
    if not tf.executing_eagerly():
        reason = single_step_reason(layer, sequences.shape[1])
        if reason is not None:
            return reason
    if not is_numeric(sequences.dtype):
        return f"the op does not accept an input of {sequences.dtype.name}"
    return _shape_reason(cells_of(layer), sequences, states, mask)


def is_numeric(dtype: Any) -> bool:
    """Whether a cast to the op's type loses only precision."""
    return dtype.is_floating or dtype.is_integer or dtype.is_bool


def single_step_reason(layer: keras.layers.Layer, time: int | None) -> str | None:
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


def layer_xla_reason(layer: keras.layers.Layer) -> str | None:
    """Tells why XLA (jit_compile=True) cannot compile the op of a layer; None if it can."""
    if is_quantized(layer):
        return "XLA (jit_compile=True) compiles Keras's implementation of a layer with int8 weights"
    return xla_reason()


def is_quantized(layer: keras.layers.Layer) -> bool:
    """Whether a cell of a layer has int8 weights."""
    return any(map(cells.is_quantized, cells_of(layer)))


def _shape_reason(
    its_cells: list[keras.layers.Layer],
    sequences: tf.Tensor,
    states: list[list[tf.Tensor]],
    mask: tf.Tensor | None,
) -> str | None:
    """The reason of an unusual shape, such as those that Keras broadcasts. Raises ValueError for a wrong one."""
    shape = tuple(sequences.shape)
    if len(shape) != 3:
        return "the input does not have three dimensions"
    if shape[2] == 0:
        return "the input has no features"
    if len(states) != len(its_cells):
        return "the number of initial states does not fit the cells"
    for k, (cell, cell_states) in enumerate(zip(its_cells, states)):
        name = "initial_state" if len(its_cells) == 1 else f"initial_state[{k}]"
        reason = _state_reason(name, cell.state_size, cell_states, shape[0])
        if reason is not None:
            return reason
    return None if mask is None else _mask_reason(tuple(mask.shape), shape[:2])


def _state_reason(
    name: str, state_size: Any, states: list[tf.Tensor], batch: int | None
) -> str | None:
    for state in states:
        if not hasattr(state, "shape"):
            raise ValueError(
                f"Each state in initial_state must be a tensor or an array, but one is of type {type(state).__name__}."
            )
    if isinstance(state_size, int):
        if len(states) != 1:
            return "the number of initial states does not fit the cell"
        state_size = [state_size]
    if len(states) != len(state_size):
        raise ValueError(f"{name} must have {len(state_size)} tensors, but it has {len(states)}.")
    usual = True
    for k, (state, size) in enumerate(zip(states, state_size)):
        shape, wanted = tuple(state.shape), (batch, size)
        if len(shape) == 2 and not _broadcast(shape, wanted):
            raise ValueError(
                f"{name}[{k}] must have shape {_shown(wanted)}, but its shape is {_shown(shape)}."
            )
        usual = usual and _fits(shape, wanted)
    return None if usual else "an initial state does not have the shape [batch, units]"


def _mask_reason(shape: tuple[int | None, ...], sizes: tuple[int | None, ...]) -> str | None:
    """`sizes`: B and T."""
    rows = shape[:-1] if len(shape) == 3 and shape[2] in (None, 1) else shape
    if len(rows) != 2 or not _broadcast(rows, (sizes[0], None)) or not _fits(rows[1:], sizes[1:]):
        raise ValueError(
            f"mask must have the first two sizes of the input, {_shown(sizes)}, but its shape is {_shown(shape)}."
        )
    return None if _fits(rows, sizes) else "the mask does not have the shape [batch, time]"


def _broadcast(shape: tuple[int | None, ...], wanted: tuple[int | None, ...]) -> bool:
    """Whether a shape, as far as it is known, can be broadcast with another one."""
    return all(None in pair or 1 in pair or pair[0] == pair[1] for pair in zip(shape, wanted))


def _shown(shape: tuple[int | None, ...]) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _fits(shape: tuple[int | None, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        size is None or other is None or size == other for size, other in zip(shape, wanted)
    )
