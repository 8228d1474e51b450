"""The kinds of cells, and the loop of each over time."""

from typing import Any, NamedTuple

import tensorflow as tf

from tf_rnn_ops.plain._recurrence import clear_padding, run_steps

# The order of the gates here: first those that have the recurrent activation.
GATES = {
    "lstm": "ifoc",
    "gru": "ruh",
    "gru_reset_before": "ruh",
    "rnn": "h",
    "rnn_tanh": "h",
    "rnn_relu": "h",
}

_FUNCTIONS = {
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "hard_sigmoid": lambda x: tf.clip_by_value(x / 6 + 0.5, 0.0, 1.0),
    "hard_sigmoid_keras2": lambda x: tf.clip_by_value(x * 0.2 + 0.5, 0.0, 1.0),
    "relu": tf.nn.relu,
    "linear": tf.identity,
}


class Cell(NamedTuple):
    """One direction of one layer: weights, ready to multiply from the right, and functions."""

    w: Any  # [I, G*H], or None where the input is added as it is
    r: Any  # [S, G*H]
    bw: Any  # [G*H]
    br: Any  # [G*H]
    projection: Any = None  # [H, S]
    peepholes: Any = None  # [3, H], of i, f and o
    input_mask: Any = None  # [G, B, I]
    recurrent_mask: Any = None  # [G, B, S]
    activation: str = "tanh"
    recurrent_activation: str = "sigmoid"
    cell_clip: float = 0.0  # 0: none
    proj_clip: float = 0.0

    def open(self, sums):
        """The gates that open and close."""
        return _FUNCTIONS[self.recurrent_activation](sums)

    def act(self, sums):
        """What flows through them."""
        return _FUNCTIONS[self.activation](sums)


def reorder_gates(tensor, given, rnn_mode, axis=-1):
    """Brings the gates of a tensor from the order `given`, a string, into that of GATES."""
    if tensor is None or given == GATES[rnn_mode]:
        return tensor
    parts = dict(zip(given, tf.split(tensor, len(given), axis=axis)))
    return tf.concat([parts[gate] for gate in GATES[rnn_mode]], axis)


def run_cell(rnn_mode, cell, x, states, lengths=None, own_gradients=False):
    """Runs a cell over x [T, B, I].

    Args:
        rnn_mode: As the attribute of the ops.
        cell: A Cell.
        x: [T, B, I].
        states: List of initial states: h [B, S] and, for 'lstm', c [B, H].
        lengths: See run_steps, as for own_gradients.

    Returns:
        The outputs [T, B, S], 0 beyond the length of a row, and the list of final states.
    """
    # All input products at once; only the recurrent ones wait for each other.
    gates = len(GATES[rnn_mode])
    x = clear_padding(x, lengths)
    if cell.w is None:
        projected = tf.tile(x, [1, 1, gates]) + cell.bw
    else:
        projected = _product(x, cell.input_mask, cell.w, gates) + cell.bw
    if rnn_mode != "gru":
        # The biases of both products are added up, but in a GRU, where a gate is between them.
        projected += cell.br

    names = ("r", "br", "projection", "peepholes", "recurrent_mask")
    weights = [getattr(cell, name) for name in names if getattr(cell, name) is not None]

    def step(inputs, states, weights):
        rest = iter(weights)
        taken = {n: None if getattr(cell, n) is None else next(rest) for n in names}
        return _STEPS[rnn_mode](cell._replace(**taken), *inputs, *states)

    sequences, final = run_steps(step, [projected], states, weights, lengths, own_gradients)
    return sequences[0], final


def _product(x, mask, weights, gates):
    """x [..., B, n] by weights [n, G*H], through the masks [G, B, n] if there are any."""
    if mask is None:
        return matmul(x, weights)
    pairs = zip(tf.unstack(mask, gates), tf.split(weights, gates, axis=-1))
    return tf.concat([matmul(x * m, w) for m, w in pairs], -1)


def matmul(x, weights):
    """x [B, n] or [T, B, n] by weights [n, m] in one product."""
    if x.shape.rank == 2:
        return tf.matmul(x, weights)
    shape = tf.shape(x)
    flat = tf.matmul(tf.reshape(x, [-1, shape[2]]), weights)
    return tf.reshape(flat, [shape[0], shape[1], tf.shape(weights)[1]])


def _lstm(cell, xw, h, c):
    gates, g = _split(xw + _from_state(cell, h, 4), 3)
    if cell.peepholes is None:
        i, f, o = tf.split(cell.open(gates), 3, axis=-1)
        c = _limit(f * c + i * cell.act(g), cell.cell_clip)
    else:
        p_i, p_f, p_o = tf.unstack(cell.peepholes, 3)
        i, f, o = tf.split(gates, 3, axis=-1)
        i, f = cell.open(i + p_i * c), cell.open(f + p_f * c)
        c = _limit(f * c + i * cell.act(g), cell.cell_clip)
        o = cell.open(o + p_o * c)
    h = o * cell.act(c)
    if cell.projection is not None:
        h = _limit(matmul(h, cell.projection), cell.proj_clip)
    return [h, c]


def _limit(x, limit):
    return x if limit == 0 else tf.clip_by_value(x, -limit, limit)


def _gru(cell, xw, h):
    xru, xn = _split(xw, 2)
    hru, hn = _split(_from_state(cell, h, 3) + cell.br, 2)
    r, u = tf.split(cell.open(xru + hru), 2, axis=-1)
    n = cell.act(xn + r * hn)
    return [n + u * (h - n)]


def _gru_reset_before(cell, xw, h):
    xru, xn = _split(xw, 2)
    gates, candidate = _split(cell.r, 2)
    mask = cell.recurrent_mask
    hru = _product(h, None if mask is None else mask[:2], gates, 2)
    r, u = tf.split(cell.open(xru + hru), 2, axis=-1)
    n = cell.act(xn + _product(r * h, None if mask is None else mask[2:], candidate, 1))
    return [n + u * (h - n)]


def _rnn(cell, xw, h):
    return [cell.act(xw + _from_state(cell, h, 1))]


def _tanh(cell, xw, h):
    return [tf.tanh(xw + _from_state(cell, h, 1))]


def _relu(cell, xw, h):
    return [tf.nn.relu(xw + _from_state(cell, h, 1))]


def _from_state(cell, h, gates):
    return _product(h, cell.recurrent_mask, cell.r, gates)


def _split(sums, sigmoids):
    """The first gates together, to which one function applies, and the last one."""
    units = (sums.shape[-1] or tf.shape(sums)[-1]) // (sigmoids + 1)
    return tf.split(sums, [sigmoids * units, units], axis=-1)


_STEPS = {
    "lstm": _lstm,
    "gru": _gru,
    "gru_reset_before": _gru_reset_before,
    "rnn": _rnn,
    "rnn_tanh": _tanh,
    "rnn_relu": _relu,
}
