"""The weights of each layer and direction with stacked gates: the form between buffer and framework."""

from typing import Any, NamedTuple, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tf_rnn_ops.params.layout import DIRECTIONS, GATES, Layout


class Converted(NamedTuple):
    """The result of the functions from_keras, from_torch and so on.

    Attributes:
        layout: The Layout of the buffer.
        params: The buffer, a vector: `params` of CudnnRNNV3.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops import params
        >>> layout, buffer = params.from_keras([np.ones([2, 12]), np.ones([3, 12])])
        >>> layout.size == len(buffer)
        True
    """

    layout: Layout
    params: np.ndarray


class Cell(NamedTuple):
    """One layer and direction; the gates are in the order of the buffer.

    Attributes:
        w: Input weights, [G, H, in].
        r: Recurrent weights, [G, H, H], or [G, H, P] with a projection.
        bw: Input biases, [G, H].
        br: Recurrent biases, [G, H].
        projection: [P, H], or None.
    """

    w: np.ndarray
    r: np.ndarray
    bw: np.ndarray
    br: np.ndarray
    projection: Any = None


def to_cells(layout: Layout, params: ArrayLike) -> list[Cell]:
    """Splits a buffer. Skipped input weights become identity matrices.

    Args:
        layout: A Layout.
        params: The buffer.

    Returns:
        A list of L*D Cells in the order of the layers, in each layer forward before backward.
    """
    weights, biases = layout.unpack(params)
    gates = len(GATES[layout.rnn_mode])
    per_cell = 2 * gates + bool(layout.num_proj)
    cells = []
    for k in range(len(biases) // (2 * gates)):
        matrices = weights[per_cell * k : per_cell * (k + 1)]
        vectors = biases[2 * gates * k : 2 * gates * (k + 1)]
        w = np.stack(matrices[:gates])
        if w.shape[2] == 0:
            w = np.stack([np.eye(layout.num_units, dtype=w.dtype)] * gates)
        cells.append(
            Cell(
                w,
                np.stack(matrices[gates : 2 * gates]),
                np.stack(vectors[:gates]),
                np.stack(vectors[gates:]),
                matrices[2 * gates] if layout.num_proj else None,
            )
        )
    return cells


def converted(rnn_mode: str, cells: Sequence[Cell], num_dirs: int) -> Converted:
    """The Converted of the Cells of all layers, with linear_input."""
    weights, biases = [], []
    for cell in cells:
        weights += [*cell.w, *cell.r]
        if cell.projection is not None:
            weights.append(cell.projection)
        biases += [*cell.bw, *cell.br]
    _, units, width = cells[0].w.shape
    projected = 0 if cells[0].projection is None else len(cells[0].projection)
    direction = DIRECTIONS[num_dirs - 1]
    layout = Layout(
        rnn_mode, len(cells) // num_dirs, units, width, direction=direction, num_proj=projected
    )
    return Converted(layout, layout.pack(weights, biases))


def add_exactly(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Adds two arrays. If one element is 0, the result has the exact bits of the other, also if it is -0."""
    return np.where(second == 0, first, np.where(first == 0, second, first + second))


def check_shape(name: str, array: np.ndarray, wanted: Sequence[int]) -> np.ndarray:
    """Returns the array.

    Raises:
        ValueError: It has another shape. The message names the array.
    """
    if array.shape != tuple(wanted):
        raise ValueError(f"{name} must have shape {tuple(wanted)}, but its shape is {array.shape}.")
    return array


def as_list(source: Any, wanted: str) -> list:
    """Returns `source`, the argument of a converter, as a list.

    Raises:
        TypeError: `source` is not a collection, or is a string such as the path of a file. The message has
            `wanted`, the description of a valid `source`.
    """
    try:
        if not isinstance(source, (str, bytes)):
            return list(source)
    except TypeError:
        pass
    raise not_a_source(source, wanted)


def not_a_source(source: object, wanted: str) -> TypeError:
    """The error of a converter for an argument other than `wanted`."""
    return TypeError(f"source must be {wanted}, but it is of type {type(source).__name__}.")


def as_array(name: str, value: Any, rank: int) -> np.ndarray:
    """Returns the numpy array of a framework's tensor.

    Raises:
        ValueError: The tensor does not hold floating point numbers, or has another rank.
    """
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":  # torch cannot convert this type to numpy
            value = value.float()
    try:
        array = np.asarray(value)
    except Exception as error:
        raise ValueError(f"{name} cannot be converted to a numpy array: {error}.") from error
    # The kind of ml_dtypes' bfloat16 is not 'f'.
    if array.dtype.kind != "f" and array.dtype.name != "bfloat16":
        raise ValueError(f"{name} must hold floating point numbers, but its type is {array.dtype}.")
    if array.ndim != rank:
        raise ValueError(f"{name} must have {rank} dimensions, but its shape is {array.shape}.")
    return array


def gate_count(name: str, rows: int, units: int) -> int:
    """G of weights with `rows` rows or columns for all gates.

    Raises:
        ValueError: G is not 1, 3 or 4.
    """
    if units and rows % units == 0 and rows // units in (1, 3, 4):
        return rows // units
    raise ValueError(
        f"{name} has {rows} rows for {units} units, but it must have 1, 3 or 4 times as many, for a "
        "simple RNN, a GRU or an LSTM."
    )


def mode_of(gates: int, rnn_mode: str | None, needed_for: str) -> str:
    """The rnn_mode of weights with `gates` gates.

    Raises:
        ValueError: `rnn_mode` is missing or has another number of gates.
    """
    fitting = [mode for mode, names in GATES.items() if len(names) == gates]
    if rnn_mode is None and len(fitting) == 1:
        return fitting[0]
    if rnn_mode in fitting:
        return rnn_mode
    listed = " or ".join(repr(mode) for mode in fitting)
    raise ValueError(
        f"rnn_mode must be {listed} for {needed_for}, which has {gates} gate(s) per unit, but it is "
        f"{rnn_mode!r}."
    )
