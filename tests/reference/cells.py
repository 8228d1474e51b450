"""One time step of each cell and its derivative.

Notation: a = W x + bw and u = R h + br are the input and recurrent halves of a gate's
pre-activation, and s is the logistic function. `q` rounds a result to the working precision
(identity in float64); see rounding.py.

    LSTM   i, f, o = s(a + u)   g = tanh(a + u)   c' = f c + i g   m = o tanh(c')
           h' = Proj m, or m without projection
    GRU    r, z = s(a + u)   n = tanh(a_n + r u_n)   h' = (1 - z) n + z h
    RNN    h' = tanh(a + u) or max(a + u, 0)

Every `*_step` returns (h', c', cache), every `*_step_grad` takes dh', dc' and the cache and returns
(da [G, B, H], du [G, B, H], dh directly through the cell or None, dc, dProj or None).
"""

import numpy as np


def exact(array):
    """The q of float64 references."""
    return array


def sigmoid(a):
    # WHY: the plain formula overflows for large negative a.
    e = np.exp(-np.abs(a))
    return np.where(a >= 0, 1.0 / (1.0 + e), e / (1.0 + e))


def lstm_step(a, u, h, c, cell, q=exact):
    i, f, o = (q(sigmoid(q(a[k] + u[k]))) for k in (0, 1, 3))
    g = q(np.tanh(q(a[2] + u[2])))
    c_new = q(q(f * c) + q(i * g))
    tc = q(np.tanh(c_new))
    m = q(o * tc)
    h_new = m if cell.proj is None else q(m @ cell.proj.T)
    return h_new, c_new, (i, f, g, o, c, tc, m)


def lstm_step_grad(dh, dc, cache, cell, q=exact):
    i, f, g, o, c, tc, m = cache
    dproj = None
    dm = dh
    if cell.proj is not None:
        dproj = q(dh.T @ m)
        dm = q(dh @ cell.proj)
    dc = q(dc + q(dm * q(o * q(1 - q(tc * tc)))))
    di = q(q(dc * g) * q(i * q(1 - i)))
    df = q(q(dc * c) * q(f * q(1 - f)))
    dg = q(q(dc * i) * q(1 - q(g * g)))
    do = q(q(dm * tc) * q(o * q(1 - o)))
    da = np.stack([di, df, dg, do])
    return da, da, None, q(dc * f), dproj


def gru_step(a, u, h, c, cell, q=exact):
    r = q(sigmoid(q(a[0] + u[0])))
    z = q(sigmoid(q(a[1] + u[1])))
    n = q(np.tanh(q(a[2] + q(r * u[2]))))
    h_new = q(q(q(1 - z) * n) + q(z * h))
    return h_new, c, (r, z, n, u[2], h)


def gru_step_grad(dh, dc, cache, cell, q=exact):
    r, z, n, un, h = cache
    dz = q(q(dh * q(h - n)) * q(z * q(1 - z)))
    dn = q(q(dh * q(1 - z)) * q(1 - q(n * n)))
    dr = q(q(dn * un) * q(r * q(1 - r)))
    da = np.stack([dr, dz, dn])
    du = np.stack([dr, dz, q(dn * r)])
    return da, du, q(dh * z), dc, None


def tanh_step(a, u, h, c, cell, q=exact):
    h_new = q(np.tanh(q(a[0] + u[0])))
    return h_new, c, (h_new,)


def tanh_step_grad(dh, dc, cache, cell, q=exact):
    da = q(dh * q(1 - q(cache[0] * cache[0])))[None]
    return da, da, None, dc, None


def relu_step(a, u, h, c, cell, q=exact):
    before = q(a[0] + u[0])
    return np.maximum(before, 0.0), c, (before,)


def relu_step_grad(dh, dc, cache, cell, q=exact):
    da = np.where(cache[0] > 0, dh, 0.0)[None]
    return da, da, None, dc, None


def given_outputs(mode, cache, h_prev, h):
    """The cache of a step whose gradient is given h before and after it, rounded, as the ops are."""
    if mode == "gru":
        return (*cache[:-1], h_prev)
    return (h,) if mode in ("rnn_tanh", "rnn_relu") else cache


STEPS = {
    "lstm": (lstm_step, lstm_step_grad),
    "gru": (gru_step, gru_step_grad),
    "rnn_tanh": (tanh_step, tanh_step_grad),
    "rnn_relu": (relu_step, relu_step_grad),
}
