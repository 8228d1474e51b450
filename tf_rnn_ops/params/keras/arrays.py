"""Converts the lists of arrays of get_weights() of Keras's recurrent layers to Cells."""

from typing import Any, Callable, Iterable, Sequence

from tf_rnn_ops.params.cells import Cell, as_array, as_list, gate_count
from tf_rnn_ops.params.keras import objects


def layers_of(
    source: Any,
    stack: Callable[[Any], tuple[list, str | None]],
    wanted: str,
    per_cell: Sequence[int],
) -> tuple[list, str | None]:
    """The arrays of each layer in `source`, and the rnn_mode if the layers determine it.

    Args:
        source: A layer, a sequential model, a list of layers, or a list of arrays or of such lists.
        stack: A function that returns both for layers.
        wanted: The description of a valid `source` for error messages.
        per_cell: The numbers of arrays that one layer and direction may have.

    Raises:
        TypeError: `source` is something else.
        ValueError: The number of arrays is wrong, or the layers are not a stack.
    """
    if objects.is_layer(source):
        return stack(source)
    source = as_list(source, wanted)
    if source and objects.is_layer(source[0]):
        return stack(source)
    if source and not isinstance(source[0], (list, tuple)):
        source = [source]
    both = [2 * count for count in per_cell]
    if not source or len(source[0]) not in (*per_cell, *both):
        actual = f"layer 0 has {len(source[0])}" if source else "there is no layer"
        raise ValueError(
            f"There must be {_either(per_cell)} arrays for each layer, or {_either(both)} for a "
            f"Bidirectional one, but {actual}."
        )
    for k, layer in enumerate(source):
        if not isinstance(layer, (list, tuple)):
            raise ValueError(f"The weights of layer {k} must be a list of arrays, not {layer!r}.")
    return source, None


def cells_of(
    layers: Sequence[Sequence], per_cell: Sequence[int], make: Callable[..., Cell]
) -> tuple[list[Cell], int]:
    """The Cells of layers in the order of the layers, in each layer forward before backward; and D.

    Args:
        layers: A list of arrays for each layer.
        per_cell: The numbers of arrays that one layer and direction may have.
        make: A function that makes a Cell from the description of its place, its arrays, and the sizes of
            its input, units and gates.
    """
    num_dirs = 1 if len(layers[0]) in per_cell else 2
    ways = (", forward", ", backward") if num_dirs == 2 else ("",)
    label = f"kernel of layer 0{ways[0]}"
    recurrent = as_array(f"recurrent_{label}", layers[0][1], rank=2)
    width, units = as_array(label, layers[0][0], rank=2).shape[0], recurrent.shape[0]
    gates = gate_count(f"recurrent_{label}", recurrent.shape[1], units)
    cells = []
    for k, layer in enumerate(layers):
        counts = [num_dirs * count for count in per_cell]
        if len(layer) not in counts:
            raise ValueError(
                f"Layer {k} must have {_either(counts)} arrays, since layer 0 has {len(layers[0])}, but "
                f"it has {len(layer)}."
            )
        half = len(layer) // num_dirs
        for d, way in enumerate(ways):
            arrays = layer[half * d : half * (d + 1)]
            cells.append(make(f"layer {k}{way}", arrays, width, units, gates))
        width = num_dirs * units
    return cells, num_dirs


def _either(counts: Iterable[int]) -> str:
    return " or ".join(map(str, counts))
