"""One time step of each cell and its derivative.

Notation: a = W x + bw and u = R h + br are the input and recurrent halves of a gate's
pre-activation, s is the logistic function and t is tanh, or what a LayerRNN has in their places.
`q` rounds a result to the working precision (identity in float64); see rounding.py.

    LSTM   i, f, o = s(a + u)   g = t(a + u)   c' = f c + i g   m = o t(c')
           h' = Proj m, or m without projection
           of a LayerRNN also: p_i c, p_f c and p_o c' inside s; limits of c' and of a projected h'
           normalised: N(a) + N(u) + b in the place of a + u, N(c') in that of c'
    GRU    r, z = s(a + u)   n = t(a_n + r u_n)   h' = (1 - z) n + z h
           with the reset gate first: m = r h   n = t(a_n + R_n m)
    RNN    h' = t(a + u), tanh(a + u) or max(a + u, 0)

Every `*_step` returns (h', c', cache), every `*_step_grad` takes dh', dc' and the cache and returns
(da [G, B, H], du [G, B, H], dh directly through the cell or None, dc, and the gradient of the
weights of a second product, Proj or R_n, or None). The last entry of a cache is how near each
element of the step came to where the slope of an activation jumps.
"""

from typing import Callable, NamedTuple

import numpy as np


def exact(array):
    """The q of float64 references."""
    return array


def sigmoid(a):
    # WHY: the plain formula overflows for large negative a.
    e = np.exp(-np.abs(a))
    return np.where(a >= 0, 1.0 / (1.0 + e), e / (1.0 + e))


def _smooth(a):
    return np.full_like(a, np.inf)


class Function(NamedTuple):
    """An activation."""

    value: Callable  # of a
    slope: Callable  # of a, the value and q
    nearest: Callable = _smooth  # how near a is to where the slope jumps


def _line(slope, offset):
    """slope a + offset, between 0 and 1."""
    edge = 0.5 / slope
    return Function(
        lambda a: np.clip(slope * a + offset, 0.0, 1.0),
        lambda a, y, q: np.where((0 < y) & (y < 1), q(slope), 0.0),
        lambda a: np.abs(np.abs(a) - edge),
    )


FUNCTIONS = {
    "tanh": Function(np.tanh, lambda a, y, q: q(1 - q(y * y))),
    "sigmoid": Function(sigmoid, lambda a, y, q: q(y * q(1 - y))),
    "hard_sigmoid": _line(1 / 6, 0.5),
    "hard_sigmoid_keras2": _line(1 / 5, 0.5),
    "relu": Function(
        lambda a: np.maximum(a, 0.0), lambda a, y, q: np.where(y > 0, 1.0, 0.0), np.abs
    ),
    "linear": Function(lambda a: a, lambda a, y, q: np.ones_like(a)),
}


def _functions(cell):
    """s and t."""
    names = getattr(cell, "recurrent_activation", "sigmoid"), getattr(cell, "activation", "tanh")
    return [FUNCTIONS[name] for name in names]


def _nearest(*pairs):
    return np.minimum.reduce([function.nearest(a) for function, a in pairs])


def lstm_step(a, u, h, c, cell, q=exact):
    s, t = _functions(cell)
    sums = [q(a[k] + u[k]) for k in range(4)]
    i, f, o = (q(s.value(sums[k])) for k in (0, 1, 3))
    g = q(t.value(sums[2]))
    c_new = q(q(f * c) + q(i * g))
    tc = q(t.value(c_new))
    m = q(o * tc)
    h_new = m if cell.proj is None else q(m @ cell.proj.T)
    near = _nearest((s, sums[0]), (s, sums[1]), (s, sums[3]), (t, sums[2]), (t, c_new))
    return h_new, c_new, (sums, i, f, g, o, c, c_new, tc, m, near)


def lstm_step_grad(dh, dc, cache, cell, q=exact):
    s, t = _functions(cell)
    sums, i, f, g, o, c, c_new, tc, m, _ = cache
    dproj = None
    dm = dh
    if cell.proj is not None:
        dproj = q(dh.T @ m)
        dm = q(dh @ cell.proj)
    dc = q(dc + q(dm * q(o * t.slope(c_new, tc, q))))
    di = q(q(dc * g) * s.slope(sums[0], i, q))
    df = q(q(dc * c) * s.slope(sums[1], f, q))
    dg = q(q(dc * i) * t.slope(sums[2], g, q))
    do = q(q(dm * tc) * s.slope(sums[3], o, q))
    da = np.stack([di, df, dg, do])
    return da, da, None, q(dc * f), dproj


def _limited(x, limit):
    return x if limit == 0 else np.clip(x, -limit, limit)


def _distance(x, limit):
    return np.full_like(x, np.inf) if limit == 0 else np.abs(np.abs(x) - limit)


def projected_lstm_step(a, u, h, c, cell, q=exact):
    """cell.proj is [P, H] or None, cell.peepholes [3, H] or None, a limit of 0 none."""
    s, t = _functions(cell)
    p_i, p_f, p_o = np.zeros((3, 1)) if cell.peepholes is None else cell.peepholes
    sums = [q(a[k] + u[k]) for k in range(4)]
    sums[0], sums[1] = q(sums[0] + q(p_i * c)), q(sums[1] + q(p_f * c))
    i, f = (q(s.value(sums[k])) for k in (0, 1))
    g = q(t.value(sums[2]))
    unlimited = q(q(f * c) + q(i * g))
    c_new = _limited(unlimited, cell.cell_clip)
    sums[3] = q(sums[3] + q(p_o * c_new))
    o = q(s.value(sums[3]))
    tc = q(t.value(c_new))
    h_new = m = q(o * tc)
    near = _nearest((s, sums[0]), (s, sums[1]), (s, sums[3]), (t, sums[2]), (t, c_new))
    near = np.minimum(near, _distance(unlimited, cell.cell_clip))
    if cell.proj is not None:
        projected = q(m @ cell.proj.T)
        h_new = _limited(projected, cell.proj_clip)
        nearest = _distance(projected, cell.proj_clip).min(axis=1, keepdims=True)
        near = np.minimum(near, nearest)
    return h_new, c_new, (sums, i, f, g, o, c, unlimited, c_new, tc, m, h_new, near)


def projected_lstm_step_grad(dh, dc, cache, cell, q=exact):
    """The last result is a dict of the gradients of proj, transposed, and of the peepholes."""
    s, t = _functions(cell)
    sums, i, f, g, o, c, unlimited, c_new, tc, m, h_new, _ = cache
    p_i, p_f, p_o = np.zeros((3, 1)) if cell.peepholes is None else cell.peepholes
    own, dm = {}, dh
    if cell.proj is not None:
        if cell.proj_clip:
            dh = np.where(np.abs(h_new) >= cell.proj_clip, 0.0, dh)
        own["projection"] = q(m.T @ dh)
        dm = q(dh @ cell.proj)
    do = q(q(dm * tc) * s.slope(sums[3], o, q))
    dc = q(q(dc + q(dm * q(o * t.slope(c_new, tc, q)))) + q(do * p_o))
    if cell.cell_clip:
        dc = np.where(np.abs(unlimited) > cell.cell_clip, 0.0, dc)
    di = q(q(dc * g) * s.slope(sums[0], i, q))
    df = q(q(dc * c) * s.slope(sums[1], f, q))
    dg = q(q(dc * i) * t.slope(sums[2], g, q))
    if cell.peepholes is not None:
        pairs = ((di, c), (df, c), (do, c_new))
        own["peepholes"] = np.stack([q(q(d * state).sum(axis=0)) for d, state in pairs])
    da = np.stack([di, df, dg, do])
    return da, da, None, q(q(dc * f) + q(q(di * p_i) + q(df * p_f))), own


def _normalized(v, gamma, beta, epsilon, q):
    """The normalized v [G, B, H], over all axes except the rows, and the values for its gradient."""
    centred = q(v - q(v.mean(axis=(0, 2), keepdims=True)))
    variance = q(q(centred * centred).mean(axis=(0, 2), keepdims=True))
    slope = q(1 / np.sqrt(q(variance + epsilon)))
    unit = q(centred * slope)
    return q(q(unit * gamma[:, None]) + beta[:, None]), (unit, slope)


def _normalized_grad(d, gamma, cache, q):
    """The gradients of v, gamma and beta."""
    unit, slope = cache
    scaled = q(d * gamma[:, None])
    mean = q(scaled.mean(axis=(0, 2), keepdims=True))
    along = q(unit * q(q(scaled * unit).mean(axis=(0, 2), keepdims=True)))
    return q(slope * q(q(scaled - mean) - along)), q(q(d * unit).sum(axis=1)), q(d.sum(axis=1))


def layer_norm_lstm_step(a, u, h, c, cell, q=exact):
    """cell.layer_norm is [18, H], as the op has it; a is without the bias, cell.bias [4, H]."""
    s, t = _functions(cell)
    rows, epsilon = cell.layer_norm, np.float64(np.float32(cell.layer_norm_epsilon))
    from_x, norm_x = _normalized(a, rows[0:4], rows[4:8], epsilon, q)
    from_h, norm_h = _normalized(u, rows[8:12], rows[12:16], epsilon, q)
    sums = q(q(from_x + from_h) + cell.bias[:, None])
    i, f, o = (q(s.value(sums[k])) for k in (0, 1, 3))
    g = q(t.value(sums[2]))
    made = q(q(f * c) + q(i * g))
    (c_new,), norm_c = _normalized(made[None], rows[16:17], rows[17:], epsilon, q)
    tc = q(t.value(c_new))
    near = _nearest((s, sums[0]), (s, sums[1]), (s, sums[3]), (t, sums[2]), (t, c_new))
    return q(o * tc), c_new, (sums, i, f, g, o, c, c_new, tc, norm_x, norm_h, norm_c, near)


def layer_norm_lstm_step_grad(dh, dc, cache, cell, q=exact):
    """The last result is a dict of the gradients of layer_norm and of the bias, [4*H]."""
    s, t = _functions(cell)
    sums, i, f, g, o, c, c_new, tc, norm_x, norm_h, norm_c, _ = cache
    rows = cell.layer_norm
    do = q(q(dh * tc) * s.slope(sums[3], o, q))
    dc = q(dc + q(dh * q(o * t.slope(c_new, tc, q))))
    (dc,), *of_c = _normalized_grad(dc[None], rows[16:17], norm_c, q)
    di = q(q(dc * g) * s.slope(sums[0], i, q))
    df = q(q(dc * c) * s.slope(sums[1], f, q))
    dg = q(q(dc * i) * t.slope(sums[2], g, q))
    d = np.stack([di, df, dg, do])
    da, *of_x = _normalized_grad(d, rows[0:4], norm_x, q)
    du, *of_h = _normalized_grad(d, rows[8:12], norm_h, q)
    own = {
        "layer_norm": np.concatenate([*of_x, *of_h, *of_c]),
        "bias": q(d.sum(axis=1)).reshape(-1),
    }
    return da, du, None, q(dc * f), own


def gru_step(a, u, h, c, cell, q=exact):
    s, t = _functions(cell)
    sums = [q(a[0] + u[0]), q(a[1] + u[1])]
    r, z = (q(s.value(x)) for x in sums)
    sums.append(q(a[2] + q(r * u[2])))
    n = q(t.value(sums[2]))
    h_new = q(q(q(1 - z) * n) + q(z * h))
    near = _nearest((s, sums[0]), (s, sums[1]), (t, sums[2]))
    return h_new, c, (sums, r, z, n, u[2], h, near)


def gru_step_grad(dh, dc, cache, cell, q=exact):
    s, t = _functions(cell)
    sums, r, z, n, un, h, _ = cache
    dz = q(q(dh * q(h - n)) * s.slope(sums[1], z, q))
    dn = q(q(dh * q(1 - z)) * t.slope(sums[2], n, q))
    dr = q(q(dn * un) * s.slope(sums[0], r, q))
    da = np.stack([dr, dz, dn])
    du = np.stack([dr, dz, q(dn * r)])
    return da, du, q(dh * z), dc, None


def gru_reset_before_step(a, u, h, c, cell, q=exact):
    """cell.second(m) is R_n m; u[2] does not count."""
    s, t = _functions(cell)
    sums = [q(a[0] + u[0]), q(a[1] + u[1])]
    r, z = (q(s.value(x)) for x in sums)
    m = q(r * h)
    sums.append(q(a[2] + cell.second(m)))
    n = q(t.value(sums[2]))
    h_new = q(q(q(1 - z) * n) + q(z * h))
    near = _nearest((s, sums[0]), (s, sums[1]), (t, sums[2]))
    return h_new, c, (sums, r, z, n, m, h, near)


def gru_reset_before_step_grad(dh, dc, cache, cell, q=exact):
    """cell.second_grad(dn, m) is the gradient of m and that of R_n."""
    s, t = _functions(cell)
    sums, r, z, n, m, h, _ = cache
    dz = q(q(dh * q(h - n)) * s.slope(sums[1], z, q))
    dn = q(q(dh * q(1 - z)) * t.slope(sums[2], n, q))
    dm, dsecond = cell.second_grad(dn, m)
    dr = q(q(dm * h) * s.slope(sums[0], r, q))
    da = np.stack([dr, dz, dn])
    du = np.stack([dr, dz, np.zeros_like(dn)])
    return da, du, q(q(dh * z) + q(dm * r)), dc, dsecond


def rnn_step(a, u, h, c, cell, q=exact):
    _, t = _functions(cell)
    before = q(a[0] + u[0])
    h_new = q(t.value(before))
    return h_new, c, (h_new, t.nearest(before))


def rnn_step_grad(dh, dc, cache, cell, q=exact):
    _, t = _functions(cell)
    da = q(dh * t.slope(None, cache[0], q))[None]
    return da, da, None, dc, None


def tanh_step(a, u, h, c, cell, q=exact):
    h_new = q(np.tanh(q(a[0] + u[0])))
    return h_new, c, (h_new, _smooth(h_new))


def tanh_step_grad(dh, dc, cache, cell, q=exact):
    da = q(dh * q(1 - q(cache[0] * cache[0])))[None]
    return da, da, None, dc, None


def relu_step(a, u, h, c, cell, q=exact):
    before = q(a[0] + u[0])
    return np.maximum(before, 0.0), c, (before, np.abs(before))


def relu_step_grad(dh, dc, cache, cell, q=exact):
    da = np.where(cache[0] > 0, dh, 0.0)[None]
    return da, da, None, dc, None


def given_outputs(mode, cache, h_prev, h):
    """The cache of a step whose gradient is given h before and after it, rounded, as the ops are."""
    *kept, near = cache
    if mode == "projected_lstm":
        return (*kept[:-1], h, near)
    if mode == "gru":
        return (*kept[:-1], h_prev, near)
    if mode == "gru_reset_before":
        sums, r, z, n, _, _ = kept
        return (sums, r, z, n, r * h_prev, h_prev, near)
    return (h, near) if mode in ("rnn", "rnn_tanh", "rnn_relu") else cache


STEPS = {
    "lstm": (lstm_step, lstm_step_grad),
    "projected_lstm": (projected_lstm_step, projected_lstm_step_grad),
    "layer_norm_lstm": (layer_norm_lstm_step, layer_norm_lstm_step_grad),
    "gru": (gru_step, gru_step_grad),
    "gru_reset_before": (gru_reset_before_step, gru_reset_before_step_grad),
    "rnn": (rnn_step, rnn_step_grad),
    "rnn_tanh": (tanh_step, tanh_step_grad),
    "rnn_relu": (relu_step, relu_step_grad),
}
