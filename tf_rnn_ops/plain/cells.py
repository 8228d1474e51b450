"""The kinds of cells, and the loop of each over time."""

import functools
from typing import Any, Callable, NamedTuple

import tensorflow as tf

from tf_rnn_ops.params.gates import of_modes
from tf_rnn_ops.plain.recurrence import Step, clear_padding, matmul, run_steps

# The order of the gates in this module, and Keras's order.
GATES, KERAS_GATES = of_modes("plain"), of_modes("keras")

_FUNCTIONS = {
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "hard_sigmoid": lambda x: tf.clip_by_value(x / 6 + 0.5, 0.0, 1.0),
    "hard_sigmoid_keras2": lambda x: tf.clip_by_value(x * 0.2 + 0.5, 0.0, 1.0),
    "relu": tf.nn.relu,
    "linear": tf.identity,
}


class Cell(NamedTuple):
    """One direction of one layer: weights, in the shape for products from the right, and functions."""

    w: Any  # [I, G*H], or None for skip_input
    r: Any  # [S, G*H]
    bw: Any  # [G*H]
    br: Any  # [G*H]
    projection: Any = None  # [H, S]
    peepholes: Any = None  # [3, H], of i, f and o
    # Gamma and beta of x * w and of h * r, 4*H each, and of c, one after another: [18*H].
    norms: Any = None
    input_mask: Any = None  # [G, B, I]
    recurrent_mask: Any = None  # [G, B, S]
    activation: str = "tanh"
    recurrent_activation: str = "sigmoid"
    cell_clip: float = 0.0  # 0: none
    proj_clip: float = 0.0
    norm_epsilon: float = 1e-3

    def open(self, sums: tf.Tensor) -> tf.Tensor:
        """Applies the recurrent activation, for the gates."""
        return _FUNCTIONS[self.recurrent_activation](sums)

    def act(self, sums: tf.Tensor) -> tf.Tensor:
        """Applies the activation, for the values that the gates multiply."""
        return _FUNCTIONS[self.activation](sums)

    def is_simple(self) -> bool:
        """Whether a step has one product, and a new c is linear in the previous c."""
        parts = (self.projection, self.peepholes, self.norms, self.recurrent_mask)
        return all(tensor is None for tensor in parts) and self.cell_clip == 0


def reorder_gates(
    tensor: tf.Tensor | None, order: str, wanted: str, axis: int = -1
) -> tf.Tensor | None:
    """Reorders the gates of a tensor. Orders are strings, such as the values of GATES."""
    if tensor is None or order == wanted:
        return tensor
    parts = dict(zip(order, tf.split(tensor, len(order), axis=axis)))
    return tf.concat([parts[gate] for gate in wanted], axis)


def run_cell(
    rnn_mode: str,
    cell: Cell,
    x: tf.Tensor,
    states: list[tf.Tensor],
    lengths: tf.Tensor | None = None,
    loops: Any = None,
    zoneout: Any = (),
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Runs a cell over x [T, B, I].

    Args:
        rnn_mode: The attribute of the ops.
        cell: A Cell.
        x: [T, B, I].
        states: List of initial states: h [B, S] and, for 'lstm', c [B, H].
        lengths: See run_steps; the same holds for `loops`.
        zoneout: Zoneout for each state: a rate, or a bool [T, B, H] that tells which units keep their value
            at each step. Empty for no zoneout.

    Returns:
        The outputs [T, B, S], 0 beyond the length of a sequence, and the list of final states.
    """
    # All input products at once. Only the recurrent products depend on each other.
    gates = len(GATES[rnn_mode])
    x = clear_padding(x, lengths)
    if cell.w is None:
        projected = tf.tile(x, [1, 1, gates]) + cell.bw
    else:
        projected = _product(x, cell.input_mask, cell.w, gates)
        if cell.norms is not None:
            projected = _normalized(cell, projected, *_norms_of(cell)[:2])
        projected += cell.bw
    if rnn_mode != "gru":
        # The biases of both products are added, except in a GRU, where a gate is between the two.
        projected += cell.br

    weights = [getattr(cell, n) for n in _STEP_WEIGHTS if getattr(cell, n) is not None]
    inputs, step, hidden = [projected], Step(functools.partial(_step, rnn_mode, cell)), None
    if any(not isinstance(k, float) or k > 0 for k in zoneout):
        inputs += [tf.cast(k, x.dtype) for k in zoneout if not isinstance(k, float)]
        step = Step(functools.partial(_zoneout_step, step, zoneout))
    elif rnn_mode in UNITS and cell.is_simple():
        step = Step(units=functools.partial(_units, rnn_mode, cell))
        hidden = None if loops is None else loops.hidden(rnn_mode, cell, x, states, lengths)
    results = run_steps(step, inputs, states, weights, lengths, loops, hidden)
    sequences, final = results
    return sequences[0], final


_STEP_WEIGHTS = ("r", "br", "projection", "peepholes", "norms", "recurrent_mask")


def _step(
    rnn_mode: str,
    cell: Cell,
    inputs: list[tf.Tensor],
    states: list[tf.Tensor],
    weights: list[tf.Tensor],
) -> list[tf.Tensor]:
    tensors = iter(weights)
    names = [n for n in _STEP_WEIGHTS if getattr(cell, n) is not None]
    cell = cell._replace(**{n: next(tensors) for n in names})
    if rnn_mode not in UNITS:
        return _gru_reset_before(cell, *inputs, *states)
    sums = _product(states[0], cell.recurrent_mask, cell.r, len(GATES[rnn_mode]))
    if cell.norms is not None:
        sums = _normalized(cell, sums, *_norms_of(cell)[2:4])
    h, *c = UNITS[rnn_mode](cell, sums, *inputs, *states)
    if cell.projection is not None:
        h = _limit(matmul(h, cell.projection), cell.proj_clip)
    return [h, *c]


def _zoneout_step(
    step: Step,
    zoneout: Any,
    inputs: list[tf.Tensor],
    states: list[tf.Tensor],
    weights: list[tf.Tensor],
) -> list[tf.Tensor]:
    masks = iter(inputs[1:])
    new_states = step(inputs[:1], states, weights)
    return [
        _between(k, old, new_state)
        if isinstance(k, float)
        else tf.where(next(masks) > 0, old, new_state)
        for k, old, new_state in zip(zoneout, states, new_states)
    ]


def _between(rate: Any, old: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
    if rate in (0.0, 1.0):  # 0 times an infinite value would be NaN
        return tf.where(rate > 0, old, new)
    return rate * old + (1 - rate) * new


def _units(
    rnn_mode: str,
    cell: Cell,
    sums: tf.Tensor,
    inputs: list[tf.Tensor],
    states: list[tf.Tensor],
    weights: list[tf.Tensor],
) -> list[tf.Tensor]:
    (br,) = weights
    return UNITS[rnn_mode](cell._replace(br=br), sums, *inputs, *states)


def _product(x: tf.Tensor, mask: tf.Tensor | None, weights: tf.Tensor, gates: int) -> tf.Tensor:
    """The product of x [..., B, n] and weights [n, G*H]. Masks [G, B, n] multiply x for each gate."""
    if mask is None:
        return matmul(x, weights)
    pairs = zip(tf.unstack(mask, gates), tf.split(weights, gates, axis=-1))
    return tf.concat([matmul(x * m, w) for m, w in pairs], -1)


# ---- The functions of the units ----


def _lstm(
    cell: Cell, sums: tf.Tensor, xw: tf.Tensor, h: tf.Tensor, c: tf.Tensor
) -> list[tf.Tensor]:
    del h
    i, f, o, g = tf.split(xw + sums, 4, axis=-1)
    if cell.peepholes is not None:
        p_i, p_f, p_o = tf.unstack(cell.peepholes, 3)
        i, f = i + p_i * c, f + p_f * c
    c = _limit(cell.open(f) * c + cell.open(i) * cell.act(g), cell.cell_clip)
    if cell.norms is not None:
        c = _normalized(cell, c, *_norms_of(cell)[4:])
    if cell.peepholes is not None:
        o += p_o * c
    return [cell.open(o) * cell.act(c), c]


def _norms_of(cell: Cell) -> list[tf.Tensor]:
    parts = tf.split(cell.norms, 18)
    return [*(tf.concat(parts[4 * k : 4 * k + 4], 0) for k in range(4)), *parts[16:]]


def _normalized(cell: Cell, x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor) -> tf.Tensor:
    centred = x - tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(centred * centred, -1, keepdims=True)
    return centred * tf.math.rsqrt(variance + cell.norm_epsilon) * gamma + beta


def _limit(x: tf.Tensor, limit: float) -> tf.Tensor:
    return x if limit == 0 else tf.clip_by_value(x, -limit, limit)


def _gru(cell: Cell, sums: tf.Tensor, xw: tf.Tensor, h: tf.Tensor) -> list[tf.Tensor]:
    xr, xu, xn = tf.split(xw, 3, axis=-1)
    hr, hu, hn = tf.split(sums + cell.br, 3, axis=-1)
    u = cell.open(xu + hu)
    n = cell.act(xn + cell.open(xr + hr) * hn)
    return [u * h + (1 - u) * n]


def _rnn(cell: Cell, sums: tf.Tensor, xw: tf.Tensor, h: tf.Tensor) -> list[tf.Tensor]:
    del h
    return [cell.act(xw + sums)]


def _tanh(cell: Cell, sums: tf.Tensor, xw: tf.Tensor, h: tf.Tensor) -> list[tf.Tensor]:
    del cell, h
    return [tf.tanh(xw + sums)]


def _relu(cell: Cell, sums: tf.Tensor, xw: tf.Tensor, h: tf.Tensor) -> list[tf.Tensor]:
    del cell, h
    return [tf.nn.relu(xw + sums)]


# {rnn_mode: function of a cell, the product of h, the part of the gates that the input determines, and the
# states; returns the new states}.
UNITS: dict[str, Callable[..., list[tf.Tensor]]] = {
    "lstm": _lstm,
    "gru": _gru,
    "rnn": _rnn,
    "rnn_tanh": _tanh,
    "rnn_relu": _relu,
}


def _gru_reset_before(cell: Cell, xw: tf.Tensor, h: tf.Tensor) -> list[tf.Tensor]:
    xru, xn = split_candidate(xw, 2)
    gates, candidate = split_candidate(cell.r, 2)
    mask = cell.recurrent_mask
    hru = _product(h, None if mask is None else mask[:2], gates, 2)
    r, u = tf.split(cell.open(xru + hru), 2, axis=-1)
    n = cell.act(xn + _product(r * h, None if mask is None else mask[2:], candidate, 1))
    return [u * h + (1 - u) * n]


def split_candidate(sums: tf.Tensor, sigmoids: int) -> list[tf.Tensor]:
    """The first gates, to which one function applies, in one tensor, and the last gate."""
    units = (sums.shape[-1] or tf.shape(sums)[-1]) // (sigmoids + 1)
    return tf.split(sums, [sigmoids * units, units], axis=-1)
