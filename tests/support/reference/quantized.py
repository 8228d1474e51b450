"""A layer with int8 weights: the formulas of QuantizedLayerRNN in numpy, one step at a time.

Rows are rounded in float32, as the formulas say, and all else is float64.
"""

import types

import numpy as np

from support.reference import cells
from support.reference import layer as layer_reference
from support.reference.layer import USUAL
from support.reference.spec import CELLS, GATES


def quantized_columns(weight):
    """The integers and the scale of each column of a matrix."""
    integers, scales = np.zeros(weight.shape, int), np.ones(weight.shape[1])
    for k, column in enumerate(np.asarray(weight, np.float64).T):
        if column.any():
            scales[k] = np.abs(column).max() / 127
            integers[:, k] = [round(w / scales[k]) for w in column]
    return integers, scales


def product(x, integers, scales):
    """The product of rows x and a quantized matrix, and a bound on what a rounding error in x can change."""
    out, slack = np.zeros((2, len(x), integers.shape[1]))
    for b, row in enumerate(np.asarray(x, np.float32)):
        largest = np.abs(row).max()
        if not np.isfinite(row).all():
            out[b] = np.nan
        elif largest >= 127 * 2.0**-126:
            scaled = row * (np.float32(127) / largest)
            q = np.rint(scaled).astype(int)  # half to even
            step = float(largest) / 127 * scales
            out[b] = (q @ integers) * step
            unclear = np.abs(np.abs(scaled - np.floor(scaled)) - 0.5) < 1e-3
            slack[b] = (unclear @ np.abs(integers)) * step
    return out, slack


def step(mode, x, states, weights, activation="tanh", recurrent_activation="sigmoid"):
    """One step of a layer.

    Args:
        mode: The rnn_mode.
        x: [B, I].
        states: [h] or [h, c].
        weights: {name: (integers, scales)} for kernel, recurrent_kernel and perhaps projection, and the bias.
        activation, recurrent_activation: As in the op.

    Returns:
        The new states, and a bound on what rounding the other way in a second product changes.
    """
    functions = {"activation": activation, "recurrent_activation": recurrent_activation}
    cell = types.SimpleNamespace(**{**USUAL, **functions}, proj=None, peepholes=None)
    integers, scales = weights["recurrent_kernel"]
    gates, slack = GATES[mode], 0.0

    def second(m):
        """The product of the last gate; its slack is for later."""
        units = len(scales) // gates
        found, cell.slack = product(m, integers[:, -units:], scales[-units:])
        return found

    cell.second = second
    biases = layer_reference.biases(mode, weights.get("bias"), len(scales))
    pairs = (x, weights["kernel"]), (states[0], weights["recurrent_kernel"])
    halves = [product(rows, *matrix)[0] + bias for (rows, matrix), bias in zip(pairs, biases)]
    a, u = (np.stack([np.split(h, gates, axis=1)[g] for g in CELLS[mode].order]) for h in halves)
    h, c, cache = cells.STEPS[mode][0](a, u, states[0], states[-1], cell)
    if hasattr(cell, "slack"):
        z = cache[2]  # of sums, r, z and so on
        slack = np.abs(1 - z) * cell.slack
    if "projection" in weights:
        h, slack = product(h, *weights["projection"])
    return [h, c][: len(states)], slack


def layer(mode, x, states, weights, output, lengths=None, **functions):
    """All steps of a layer, each from the h that another implementation has after the step before.

    Where an element of a row lies between two integers, the last bit of h decides on one of them. So steps from
    values of their own would soon differ by more than rounding errors.

    Args:
        mode: The rnn_mode.
        x: [T, B, I].
        states: [h] or [h, c].
        weights: As in step().
        output: [T, B, S], the other implementation's.
        lengths: [B], or None if all rows have T steps.
        **functions: As in step().

    Returns:
        The results under the names of the op's outputs, and what rounding the other way can change in `output`.
    """
    steps, batch = output.shape[:2]
    lengths = np.full(batch, steps) if lengths is None else np.asarray(lengths)
    want, slack = np.zeros((2, *output.shape))
    states = [np.array(state, np.float64) for state in states]
    last = [state.copy() for state in states]
    for t in range(steps):
        new, slack[t] = step(mode, x[t], states, weights, **functions)
        alive = lengths > t
        want[t, alive] = new[0][alive]
        states = [output[t], *new[1:]]
        for kept, state in zip(last, states):
            kept[alive] = state[alive]
    return {"output": want, **dict(zip(("output_h", "output_c"), last))}, slack
