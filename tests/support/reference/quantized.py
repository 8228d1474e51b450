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
        elif largest >= 7.5e-37:
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
    act, gate = ACTIVATIONS[activation], ACTIVATIONS[recurrent_activation]
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
        return [z * h + (1 - z) * n], slack
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
