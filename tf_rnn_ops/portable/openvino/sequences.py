"""Nodes of OpenVINO for one layer, from tensors in the formats of Keras and of CudnnRNN.

    Keras         kernel [I, G*H], recurrent kernel [S, G*H]     LSTM i f c o     GRU z r h
    CudnnRNN      a matrix [H, I] for each gate                  LSTM i f c o     GRU r u h (u is z)
    OpenVINO      W [D, G*H, I], R [D, G*H, H], B [D, G*H]       LSTM f i c o     GRU z r h
                  GRU with linear_before_reset: B [D, 4*H], of z, r, and of both products of h

Note [Lengths in OpenVINO]
The nodes have lengths as an input, but the CPU device ignores them if the shapes are not known, and
otherwise replaces the node by a loop. So a node runs all steps of each row. Beyond the length of a row, y
is then set to 0. The final h is the output of the last valid step. No node returns c of that step, so c
must not change in the padding: an additional feature of x, which is 1 in the padding, opens the forget
gate and closes the input gate.
"""

from typing import Any, Callable, NamedTuple, Sequence

import numpy as np
from openvino import opset14 as ops

from tf_rnn_ops.params.gates import of_modes

_GATES = of_modes("openvino")

# Added to the sum of a gate, it makes the sigmoid 1. Its negative makes the sigmoid 0. It fits into float16.
_LARGE = 3e4


class Direction(NamedTuple):
    """The weights of one direction: for each gate a matrix [H, I], a matrix [H, H] and two biases [H]."""

    w: dict[str, Any]
    r: dict[str, Any]
    bw: dict[str, Any]
    br: dict[str, Any]


class Cell(NamedTuple):
    """The function of a layer.

    Attributes:
        rnn_mode: The attribute of the ops.
        units: H.
        activation: The attribute of LayerRNN.
    """

    rnn_mode: str
    units: int
    activation: str = "tanh"


def constant(values: Any, dtype: Any = np.int64) -> Any:
    """A constant; shapes and axes are int64."""
    return ops.constant(np.asarray(values, dtype))


def transposed(x: Any, order: list[int]) -> Any:
    """The tensor with its dimensions in another order."""
    return ops.transpose(x, constant(order))


def size(x: Any, axis: int) -> Any:
    """The size of an axis, a vector of one element."""
    return ops.gather(ops.shape_of(x), constant([axis]), constant(0))


def cut(x: Any, begin: int, end: int, axis: int) -> Any:
    """A slice of a tensor."""
    numbers = (constant([n]) for n in (begin, end, 1, axis))
    return ops.slice(x, *numbers)


def gathered(x: Any, indices: Any, axis: int, batch_dims: int) -> Any:
    """Gather.

    WHY not always the node: with known batch sizes of 1, OpenVINO 2026.4 reads out of bounds.
    """
    rank = _shape(indices).rank
    if batch_dims < 0 and rank.is_static:
        batch_dims += rank.get_length()
    if batch_dims < 1 or not (_is_one(x, batch_dims) and _is_one(indices, batch_dims)):
        return ops.gather(x, indices, axis, batch_dims)
    first = constant(list(range(batch_dims)))
    one, zero = (ops.convert_like(constant(n), axis) for n in (batch_dims, 0))
    rest = ops.select(ops.less(axis, zero), axis, ops.subtract(axis, one))
    found = ops.gather(ops.squeeze(x, first), ops.squeeze(indices, first), rest)
    return ops.unsqueeze(found, first)


def _shape(tensor: Any) -> Any:
    return (tensor.output(0) if hasattr(tensor, "output") else tensor).get_partial_shape()


def _is_one(tensor: Any, batch_dims: int) -> bool:
    """Whether the first sizes of a tensor are known to be 1."""
    shape = _shape(tensor)
    return shape.rank.is_static and all(shape[k] == 1 for k in range(batch_dims))


def run(
    cell: Cell, directions: list[Direction], x: Any, states: list[Any], lengths: Any
) -> tuple[Any, list[Any]]:
    """Adds the nodes of one layer.

    Args:
        cell: A Cell.
        directions: One or both directions, forward first.
        x: [B, T, I].
        states: h and, for an LSTM, c, [B, D, H].
        lengths: [B], or None if all rows have T steps.

    Returns:
        The output [B, T, D*H] and the final states [B, D, H].
    """
    if lengths is None:
        return _node(cell, directions, x, states)
    lengths = ops.convert(lengths, "i64")
    step = ops.range(constant(0), ops.squeeze(size(x, 1), constant(0)), constant(1), "i64")
    valid = ops.unsqueeze(ops.less(step, ops.unsqueeze(lengths, constant(1))), constant(2))
    found = []
    for k, direction in enumerate(directions):
        own = [cut(state, k, k + 1, 1) for state in states]
        steps = _turned(x, lengths) if k else x
        output, final = _padded(cell, direction, steps, own, lengths, valid)
        found.append((_turned(output, lengths) if k else output, *final))
    output, *final = zip(*found)
    return ops.concat(list(output), 2).output(0), [ops.concat(list(f), 1).output(0) for f in final]


def _turned(x: Any, lengths: Any) -> Any:
    """The tensor with the valid steps of each row reversed."""
    return ops.reverse_sequence(x, lengths, 0, 1)


def _padded(
    cell: Cell, direction: Direction, x: Any, states: list[Any], lengths: Any, valid: Any
) -> Any:
    """One direction, forwards; see Note [Lengths in OpenVINO]."""
    zero = ops.convert_like(constant(0), x)
    x = ops.select(valid, x, zero)
    if cell.rnn_mode == "lstm":
        padding = ops.convert_like(ops.logical_not(valid), x)
        x = ops.concat([x, padding], 2)
        sign = {"f": _LARGE, "i": -_LARGE}
        columns = {
            gate: ops.convert_like(constant([[sign.get(gate, 0)]] * cell.units), w)
            for gate, w in direction.w.items()
        }
        w = {gate: ops.concat([w, columns[gate]], 1) for gate, w in direction.w.items()}
        direction = direction._replace(w=w)
    output, final = _node(cell, [direction], x, states)
    last = ops.maximum(ops.subtract(lengths, constant(1)), constant(0))
    h = gathered(output, ops.unsqueeze(last, constant(1)), constant(1), batch_dims=1)
    some = ops.greater(ops.reshape(lengths, constant([-1, 1, 1]), special_zero=False), constant(0))
    h = ops.select(some, h, states[0])
    return ops.select(valid, output, zero), [h, *final[1:]]


def _node(
    cell: Cell, directions: list[Direction], x: Any, states: list[Any]
) -> tuple[Any, list[Any]]:
    """The node that runs all steps."""
    order = _GATES[cell.rnn_mode]
    w, r = (_stacked([_rows(d[k], order) for d in directions]) for k in (0, 1))
    b = _stacked([_bias(cell, d, order) for d in directions])
    tensors = [x, *states, ops.broadcast(size(x, 1), size(x, 0)), w, r, b]
    add: Callable[..., Any] = _NODES.get(cell.rnn_mode, _simple)
    result = add(*tensors, cell, "bidirectional" if len(directions) > 1 else "forward")
    output, *final = result.outputs()
    output = transposed(output, [0, 2, 1, 3])  # [B, D, T, H]
    width = cell.units * len(directions)
    return ops.reshape(output, constant([0, 0, width]), special_zero=True).output(0), final


def _stacked(tensors: list[Any]) -> Any:
    return ops.concat([ops.unsqueeze(t, constant(0)) for t in tensors], 0)


def _rows(gates: dict[str, Any], order: Sequence[str]) -> Any:
    return ops.concat([gates[gate] for gate in order], 0)


def _bias(cell: Cell, direction: Direction, order: Sequence[str]) -> Any:
    sums = {gate: ops.add(direction.bw[gate], direction.br[gate]) for gate in order}
    if cell.rnn_mode != "gru":
        return _rows(sums, order)
    return ops.concat([sums["u"], sums["r"], direction.bw["h"], direction.br["h"]], 0)


def _lstm(
    x: Any, h: Any, c: Any, lengths: Any, w: Any, r: Any, b: Any, cell: Cell, direction: Direction
) -> Any:
    tensors = (x, h, c, lengths, w, r, b)
    functions = ["sigmoid", cell.activation, cell.activation]
    return ops.lstm_sequence(*tensors, cell.units, direction, functions)


def _gru(
    x: Any, h: Any, lengths: Any, w: Any, r: Any, b: Any, cell: Cell, direction: Direction
) -> Any:
    tensors = (x, h, lengths, w, r, b)
    return ops.gru_sequence(
        *tensors,
        cell.units,
        direction,
        ["sigmoid", cell.activation],
        linear_before_reset=cell.rnn_mode == "gru",
    )


def _simple(
    x: Any, h: Any, lengths: Any, w: Any, r: Any, b: Any, cell: Cell, direction: Direction
) -> Any:
    tensors = (x, h, lengths, w, r, b)
    return ops.rnn_sequence(*tensors, cell.units, direction, [cell.activation])


_NODES: dict[str, Callable[..., Any]] = {"lstm": _lstm, "gru": _gru, "gru_reset_before": _gru}
