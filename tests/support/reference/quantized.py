"""A layer with int8 weights: the formulas of QuantizedLayerRNN in numpy, one step at a time.

Rows are rounded in float32, as the formulas say, and all else is float64.
"""

import numpy as np

ACTIVATIONS = {
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "linear": lambda x: x,
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard_sigmoid_keras2": lambda x: np.clip(x / 5 + 0.5, 0, 1),
}


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
    act = ACTIVATIONS["relu" if mode == "rnn_relu" else activation]
    gate = ACTIVATIONS[recurrent_activation]
    h = states[0]
    bias = weights.get("bias")
    bias = np.zeros(weights["kernel"][0].shape[1]) if bias is None else np.asarray(bias, np.float64)
    xs, _ = product(x, *weights["kernel"])
    integers, scales = weights["recurrent_kernel"]
    units, slack = len(scales) // {"lstm": 4, "gru": 3, "gru_reset_before": 3}.get(mode, 1), 0.0
    part = [slice(k * units, (k + 1) * units) for k in range(4)]
    if mode == "gru_reset_before":
        hs, _ = product(h, integers[:, : 2 * units], scales[: 2 * units])
        z, r = (gate((xs + bias)[:, p] + hs[:, p]) for p in part[:2])
        both, slack = product(r * h, integers[:, part[2]], scales[part[2]])
        n = act((xs + bias)[:, part[2]] + both)
        return [z * h + (1 - z) * n], np.abs(1 - z) * slack
    hs, _ = product(h, integers, scales)
    if mode == "gru":
        of_x, of_h = bias if bias.ndim == 2 else (bias, bias)
        xs, hs = xs + of_x, hs + of_h
        z, r = (gate(xs[:, p] + hs[:, p]) for p in part[:2])
        n = act(xs[:, part[2]] + r * hs[:, part[2]])
        return [z * h + (1 - z) * n], slack
    sums = xs + hs + bias
    if mode != "lstm":
        return [act(sums)], slack
    i, f, o = (gate(sums[:, part[k]]) for k in (0, 1, 3))
    c = f * states[1] + i * act(sums[:, part[2]])
    h = o * act(c)
    if "projection" in weights:
        h, slack = product(h, *weights["projection"])
    return [h, c], slack


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
