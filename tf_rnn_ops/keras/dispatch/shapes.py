"""The tensors of a call that ops cannot run: unusual types and shapes."""

from typing import Any

import keras
import tensorflow as tf


def is_numeric(dtype: Any) -> bool:
    """Whether a cast to the op's type loses only precision."""
    return dtype.is_floating or dtype.is_integer or dtype.is_bool


def reason(
    its_cells: list[keras.layers.Layer],
    sequences: tf.Tensor,
    states: list[list[tf.Tensor]],
    mask: tf.Tensor | None,
) -> str | None:
    """Tells why ops cannot run a call, such as for shapes that Keras broadcasts.

    Args:
        its_cells: The cells of the layer.
        sequences: Its input tensor.
        states: The initial states of each of its cells, a list of lists.
        mask: Its mask, or None.

    Returns:
        A sentence, or None if ops can run the call.

    Raises:
        ValueError: A shape is wrong, or a state is neither a tensor nor an array.
    """
    if not is_numeric(sequences.dtype):
        return f"the op does not accept an input of {sequences.dtype.name}"
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
