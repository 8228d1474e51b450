"""BlockLSTMV2 in numpy, forward and backward.

Columns of w and b: i, f, ci, o. Peepholes: wci and wcf on the previous state, wco on the new one.

    i = s([x h] w_i + b_i + wci c)   f = s([x h] w_f + b_f + wcf c)   ci = tanh([x h] w_ci + b_ci)
    cs = clip(f c + i ci)            o = s([x h] w_o + b_o + wco cs)  co = tanh(cs)   h' = o co

The gradient treats the clip as the identity. Steps at and beyond seq_len_max give zeros everywhere.
"""

import dataclasses

import numpy as np

from support.reference.cells import exact, sigmoid

FORWARD_NAMES = ("i", "cs", "f", "o", "ci", "co", "h")
GRAD_NAMES = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")


@dataclasses.dataclass
class BlockLstmInputs:
    """Inputs in the order of the op, without seq_len_max.

    Attributes:
        x: [T, B, I].
        cs_prev: [B, H].
        h_prev: [B, H].
        w: [I + H, 4 H].
        wci: [H].
        wcf: [H].
        wco: [H].
        b: [4 H].
    """

    x: np.ndarray
    cs_prev: np.ndarray
    h_prev: np.ndarray
    w: np.ndarray
    wci: np.ndarray
    wcf: np.ndarray
    wco: np.ndarray
    b: np.ndarray

    def arrays(self):
        return tuple(getattr(self, name) for name in GRAD_NAMES)


def forward(inputs, seq_len_max=None, cell_clip=0.0, use_peephole=False, q=exact):
    """Returns a dict of the seven outputs, each [T, B, H]."""
    steps, batch, _ = inputs.x.shape
    units = inputs.h_prev.shape[1]
    end = steps if seq_len_max is None else int(seq_len_max)
    out = {name: np.zeros((steps, batch, units)) for name in FORWARD_NAMES}
    c, h = inputs.cs_prev, inputs.h_prev
    for t in range(end):
        a = q(q(np.concatenate([inputs.x[t], h], axis=1) @ inputs.w) + inputs.b)
        a_i, a_f, a_ci, a_o = np.split(a, 4, axis=1)
        if use_peephole:
            a_i = q(a_i + q(c * inputs.wci))
            a_f = q(a_f + q(c * inputs.wcf))
        i, f, ci = q(sigmoid(a_i)), q(sigmoid(a_f)), q(np.tanh(a_ci))
        c = q(q(f * c) + q(i * ci))
        if cell_clip > 0:
            c = q(np.clip(c, -cell_clip, cell_clip))
        if use_peephole:
            a_o = q(a_o + q(c * inputs.wco))
        o, co = q(sigmoid(a_o)), q(np.tanh(c))
        h = q(o * co)
        for name, value in zip(FORWARD_NAMES, (i, c, f, o, ci, co, h)):
            out[name][t] = value
    return out


def backward(inputs, out, cs_grad, h_grad, seq_len_max=None, use_peephole=False, q=exact):
    """Gradients of sum(cs_grad * cs) + sum(h_grad * h).

    Args:
        inputs: BlockLstmInputs.
        out: what forward() returned.
        cs_grad: [T, B, H].
        h_grad: [T, B, H].
        seq_len_max: as in forward().
        use_peephole: as in forward().
        q: rounding of every intermediate result.

    Returns:
        A dict of gradients under the names of the inputs.
    """
    steps, _, input_size = inputs.x.shape
    end = steps if seq_len_max is None else int(seq_len_max)
    grad = {name: np.zeros_like(getattr(inputs, name)) for name in GRAD_NAMES}
    dc = np.zeros_like(inputs.cs_prev)
    dh = np.zeros_like(inputs.h_prev)
    for t in range(end - 1, -1, -1):
        i, cs, f, o, ci, co, _ = (out[name][t] for name in FORWARD_NAMES)
        c_prev = inputs.cs_prev if t == 0 else out["cs"][t - 1]
        h_prev = inputs.h_prev if t == 0 else out["h"][t - 1]
        dh = q(dh + h_grad[t])
        do = q(q(dh * co) * q(o * q(1 - o)))
        dc = q(q(dc + cs_grad[t]) + q(dh * q(o * q(1 - q(co * co)))))
        if use_peephole:
            dc = q(dc + q(do * inputs.wco))
        di = q(q(dc * ci) * q(i * q(1 - i)))
        df = q(q(dc * c_prev) * q(f * q(1 - f)))
        dci = q(q(dc * i) * q(1 - q(ci * ci)))
        da = np.concatenate([di, df, dci, do], axis=1)
        dxh = q(da @ inputs.w.T)
        grad["x"][t] = dxh[:, :input_size]
        dh = dxh[:, input_size:]
        xh = np.concatenate([inputs.x[t], h_prev], axis=1)
        grad["w"] = q(grad["w"] + q(xh.T @ da))
        grad["b"] = q(grad["b"] + q(da.sum(axis=0)))
        dc = q(dc * f)
        if use_peephole:
            grad["wci"] = q(grad["wci"] + q((di * c_prev).sum(axis=0)))
            grad["wcf"] = q(grad["wcf"] + q((df * c_prev).sum(axis=0)))
            grad["wco"] = q(grad["wco"] + q((do * cs).sum(axis=0)))
            dc = q(dc + q(q(di * inputs.wci) + q(df * inputs.wcf)))
    grad["cs_prev"], grad["h_prev"] = dc, dh
    return grad
