"""LayerRNN: one layer in one direction with Keras's weights and a mask for each gate.

Time-major: x [T, B, I], h [B, S], c [B, H], y [T, B, S]. The blocks of H columns of the weights are in
Keras's order of gates: LSTM i, f, c, o; GRU z, r, n. A row stops at its length.

    x_g = x * input_mask[g]    a_g = x_g W_g + bias_g     h_g = h * recurrent_mask[g]
    u_g = h_g R_g              (GRU: + bias[1]_g)

With layer normalization the biases are not part of a_g, but added after it.

With the reset gate first, the product of the candidate is (r * h)_n R_n.

Zoneout: h' = k h + (1 - k) h~, where h~ is the new h of a step; the same for c. k is the rate, or 0 or 1
as the seed selects.
"""

import dataclasses
import types

import numpy as np

from support.reference import cells, dropout
from support.reference.spec import CELLS, GATES

# Functions and limits.
USUAL = {
    "activation": "tanh",
    "recurrent_activation": "sigmoid",
    "cell_clip": 0.0,
    "proj_clip": 0.0,
    "zoneout_h": 0.0,
    "zoneout_c": 0.0,
    "layer_norm_epsilon": 1e-3,
}


@dataclasses.dataclass
class LayerInputs:
    """The tensors of a call; None where an optional one is not given."""

    x: np.ndarray
    h0: np.ndarray
    c0: np.ndarray
    kernel: np.ndarray
    recurrent_kernel: np.ndarray
    bias: np.ndarray | None = None
    projection: np.ndarray | None = None
    peepholes: np.ndarray | None = None
    layer_norm: np.ndarray | None = None
    lengths: np.ndarray | None = None
    input_mask: np.ndarray | None = None
    recurrent_mask: np.ndarray | None = None
    seed: np.ndarray | None = None


def _blocks(matrix, gates):
    """[K, G*H] as G of [K, H]."""
    return np.split(matrix, gates, axis=1)


def _masked(array, mask, gate, q):
    return array if mask is None else q(array * mask[gate])


def biases(rnn_mode, bias, columns):
    """The biases of x W and of h R."""
    zeros = np.zeros(columns)
    if bias is None:
        return zeros, zeros
    return tuple(bias) if CELLS[rnn_mode].bias_rows == 2 else (bias, zeros)


def _half(array, mask, matrix, bias, rnn_mode, q):
    """[G, B, H], in the order of cells.py: the masked product of every gate plus its bias."""
    gates = GATES[rnn_mode]
    blocks, biases = _blocks(matrix, gates), np.split(bias, gates)
    parts = [q(q(_masked(array, mask, g, q) @ blocks[g]) + biases[g][None]) for g in range(gates)]
    return np.stack([parts[g] for g in CELLS[rnn_mode].order])


def _cell(rnn_mode, inputs, functions, q):
    """The parameters of a cell for the steps of cells.py."""
    cell = types.SimpleNamespace(
        proj=None if inputs.projection is None else inputs.projection.T,
        peepholes=inputs.peepholes,
        layer_norm=inputs.layer_norm,
        **{**USUAL, **functions},
    )
    if inputs.layer_norm is not None:
        units = inputs.layer_norm.shape[1]
        cell.bias = np.zeros((4, units)) if inputs.bias is None else inputs.bias.reshape(4, units)
    if rnn_mode == "gru_reset_before":
        mask, weights = inputs.recurrent_mask, _blocks(inputs.recurrent_kernel, 3)[2]
        cell.second = lambda m: q(_masked(m, mask, 2, q) @ weights)
        cell.second_grad = lambda dn, m: (
            _masked(q(dn @ weights.T), mask, 2, q),
            q(_masked(m, mask, 2, q).T @ dn),
        )
    return cell


def _kind(rnn_mode, cell):
    """The name of the steps in cells.py."""
    if cell.layer_norm is not None:
        return "layer_norm_lstm"
    plain = cell.proj is None and cell.peepholes is None and not cell.cell_clip
    return rnn_mode if plain else "projected_lstm"


def _kept(inputs, functions):
    """k of h and of c: [T, B, H], or a number."""
    steps, batch, _ = inputs.x.shape
    found = []
    for state, name in enumerate(("zoneout_h", "zoneout_c")):
        rate = float(np.float32({**USUAL, **functions}[name]))
        if rate and inputs.seed is not None:
            units = inputs.h0.shape[1]
            drawn = dropout.kept(inputs.seed, rate, state, steps, batch, units)
            found.append(drawn.astype(float))
        else:
            found.append(np.full((steps, 1, 1), rate))
    return found


def _mixed(k, old, made, q):
    with np.errstate(invalid="ignore"):  # 0 times infinity, where the other one is taken
        both = q(q(k * old) + q((1 - k) * made))
    return np.where(k == 0, made, np.where(k == 1, old, both))


def forward(rnn_mode, inputs, q=cells.exact, functions=USUAL):
    """Returns a dict of output, output_h and (LSTM) output_c, and the tape for backward()."""
    cell = _cell(rnn_mode, inputs, functions, q)
    step, _ = cells.STEPS[_kind(rnn_mode, cell)]
    steps, batch, _ = inputs.x.shape
    lengths = np.full(batch, steps) if inputs.lengths is None else inputs.lengths
    bias = None if inputs.layer_norm is not None else inputs.bias
    bias_x, bias_h = biases(rnn_mode, bias, inputs.kernel.shape[1])
    h = inputs.h0
    c = inputs.c0 if CELLS[rnn_mode].has_c else np.zeros_like(h)
    y, tape = np.zeros((steps, *h.shape)), []
    kept_h, kept_c = _kept(inputs, functions)
    for t in range(steps):
        valid = (t < lengths)[:, None]
        a = _half(inputs.x[t], inputs.input_mask, inputs.kernel, bias_x, rnn_mode, q)
        u = _half(h, inputs.recurrent_mask, inputs.recurrent_kernel, bias_h, rnn_mode, q)
        h_new, c_new, cache = step(a, u, h, c, cell, q)
        tape.append((valid, h, cache))
        h_new, c_new = _mixed(kept_h[t], h, h_new, q), _mixed(kept_c[t], c, c_new, q)
        y[t] = np.where(valid, h_new, 0.0)
        h, c = np.where(valid, h_new, h), np.where(valid, c_new, c)
    results = {"output": y, "output_h": h}
    if CELLS[rnn_mode].has_c:
        results["output_c"] = c
    return results, tape


def _half_grad(gradient, array, mask, matrix, matrix_grad, rnn_mode, q):
    """The gradient of `array` from that of _half's result; adds that of `matrix`."""
    gates = GATES[rnn_mode]
    blocks, grads = _blocks(matrix, gates), _blocks(matrix_grad, gates)  # grads are views
    total = 0.0
    for k, g in enumerate(CELLS[rnn_mode].order):
        total = q(total + _masked(q(gradient[k] @ blocks[g].T), mask, g, q))
        grads[g][:] = q(grads[g] + q(_masked(array, mask, g, q).T @ gradient[k]))
    return total


def _bias_grad(sums, rnn_mode):
    """[G, H] in the order of cells.py as [G*H] in Keras's."""
    ordered = [None] * len(sums)
    for k, g in enumerate(CELLS[rnn_mode].order):
        ordered[g] = sums[k]
    return np.concatenate(ordered)


def _given_outputs(kind, own_tape, output):
    """The tape with the rows of `output` in the place of its own states."""
    tape, h = [], own_tape[0][1] if own_tape else None
    for t, (valid, _, cache) in enumerate(own_tape):
        tape.append((valid, h, cells.given_outputs(kind, cache, h, output[t])))
        h = np.where(valid, output[t], h)
    return tape


def backward(rnn_mode, inputs, tape, dy, dh, dc, q=cells.exact, functions=USUAL, output=None):
    """Gradients of sum(dy * output) + sum(dh * output_h) + sum(dc * output_c), as a dict.

    `output` is what a 16-bit op is given, which is rounded; by default that of forward().
    """
    cell = _cell(rnn_mode, inputs, functions, q)
    kind = _kind(rnn_mode, cell)
    _, step_grad = cells.STEPS[kind]
    if output is not None:
        tape = _given_outputs(kind, tape, output)
    has_c = CELLS[rnn_mode].has_c
    dc = dc if has_c else np.zeros_like(dh)
    dx = np.zeros_like(inputs.x)
    dw, dr = np.zeros_like(inputs.kernel), np.zeros_like(inputs.recurrent_kernel)
    kept_h, kept_c = _kept(inputs, functions)
    sum_x = sum_h = np.zeros((GATES[rnn_mode], inputs.kernel.shape[1] // GATES[rnn_mode]))
    own = {
        name: np.zeros_like(array)
        for name in ("projection", "peepholes", "layer_norm")
        if (array := getattr(inputs, name)) is not None
    }
    if kind == "layer_norm_lstm" and inputs.bias is not None:
        own["bias"] = np.zeros_like(inputs.bias)
    for t in reversed(range(len(tape))):
        valid, h_prev, cache = tape[t]
        dh_cell, dc_cell = np.where(valid, q(dh + dy[t]), 0.0), np.where(valid, dc, 0.0)
        made = q((1 - kept_h[t]) * dh_cell), q((1 - kept_c[t]) * dc_cell)
        da, du, direct, dc_prev, dsecond = step_grad(*made, cache, cell, q)
        dx[t] = _half_grad(da, inputs.x[t], inputs.input_mask, inputs.kernel, dw, rnn_mode, q)
        dh_prev = _half_grad(
            du, h_prev, inputs.recurrent_mask, inputs.recurrent_kernel, dr, rnn_mode, q
        )
        if kind in ("projected_lstm", "layer_norm_lstm"):
            own = {name: q(total + dsecond[name]) for name, total in own.items()}
        elif dsecond is not None:
            second = _blocks(dr, 3)[2]
            second[:] = q(second + dsecond)
        sum_x, sum_h = q(sum_x + q(da.sum(axis=1))), q(sum_h + q(du.sum(axis=1)))
        if direct is not None:
            dh_prev = q(dh_prev + direct)
        dh_prev = q(dh_prev + q(kept_h[t] * dh_cell))
        dc_prev = np.where(kept_c[t] == 0, dc_prev, q(dc_prev + q(kept_c[t] * dc_cell)))
        dh, dc = np.where(valid, dh_prev, dh), np.where(valid, dc_prev, dc)
    grads = {"input": dx, "input_h": dh, "kernel": dw, "recurrent_kernel": dr, **own}
    if has_c:
        grads["input_c"] = dc
    if inputs.bias is not None and "bias" not in own:
        bias = _bias_grad(sum_x, rnn_mode)
        if CELLS[rnn_mode].bias_rows == 2:
            bias = np.stack([bias, _bias_grad(sum_h, rnn_mode)])
        grads["bias"] = bias
    return grads
