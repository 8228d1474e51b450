"""The exact result of a problem: float64 in numpy, step by step."""

import numpy as np


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _lstm(of_x, of_h, _h, c):
    i, f, g, o = np.split(of_x + of_h, 4, -1)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


def _gru(of_x, of_h, h, c):
    x_r, x_z, x_n = np.split(of_x, 3, -1)
    h_r, h_z, h_n = np.split(of_h, 3, -1)
    z = _sigmoid(x_z + h_z)
    n = np.tanh(x_n + _sigmoid(x_r + h_r) * h_n)
    return z * h + (1 - z) * n, c


def _tanh(of_x, of_h, _h, c):
    return np.tanh(of_x + of_h), c


def _relu(of_x, of_h, _h, c):
    return np.maximum(of_x + of_h, 0), c


_STEPS = {"lstm": _lstm, "gru": _gru, "tanh": _tanh, "relu": _relu}


def _direction(problem, x, weights):
    """y [T, B, H] of one direction of one layer."""
    w_ih, w_hh, b_ih, b_hh = (w.astype(np.float64) for w in weights)
    h = c = np.zeros((problem.B, problem.H))
    y = np.empty((problem.T, problem.B, problem.H))
    for t, of_x in enumerate(x @ w_ih.T + b_ih):
        h, c = _STEPS[problem.cell](of_x, h @ w_hh.T + b_hh, h, c)
        y[t] = h
    return y


def run(problem, x, weights):
    """Runs the network without dropout.

    Args:
        problem: A problems.Problem with a cell of PyTorch's.
        x: [T, B, I].
        weights: As problems.make_data() returns them.

    Returns:
        y [T, B, D*H].
    """
    y = x.astype(np.float64)
    for layer in range(problem.L):
        of_layer = weights[layer * problem.D : (layer + 1) * problem.D]
        y = np.concatenate(
            [
                _direction(problem, y[::order], w)[::order]
                for order, w in zip((1, -1), of_layer, strict=False)
            ],
            -1,
        )
    return y
