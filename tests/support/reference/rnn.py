"""Stacks of recurrent layers with per-row lengths, forward and by back-propagation through time.

Everything is time-major here: x [T, B, I], states [L * D, B, .], y [T, B, D * O]. A row stops at
its length: later steps give output zero and do not change its state, so the backward direction begins at
the last valid step.
"""

import dataclasses

import numpy as np

from support.reference import cells, layout


@dataclasses.dataclass
class Forward:
    """Result of forward(); `tape` is for backward() only."""

    output: np.ndarray
    output_h: np.ndarray
    output_c: np.ndarray | None
    tape: list


@dataclasses.dataclass
class Backward:
    """Result of backward()."""

    input: np.ndarray
    input_h: np.ndarray
    input_c: np.ndarray | None
    params: np.ndarray


def _input_half(x, cell, q):
    """[G, B, H]: W x + bw, or x + bw where the input is skipped."""
    if cell.w is None:
        return q(x[None] + cell.bw[:, None, :])
    return q(q(np.stack([x @ w.T for w in cell.w])) + cell.bw[:, None, :])


def _run(mode, cell, x, h, c, lengths, reverse, q):
    """One pseudo-layer over the whole sequence; returns (y, h, c, tape)."""
    step, _ = cells.STEPS[mode]
    steps = x.shape[0]
    y = np.zeros((steps,) + h.shape)
    tape = []
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        valid = (t < lengths)[:, None]
        a = _input_half(x[t], cell, q)
        u = q(q(np.stack([h @ r.T for r in cell.r])) + cell.br[:, None, :])
        h_new, c_new, cache = step(a, u, h, c, cell, q)
        tape.append((t, valid, h, cache))
        y[t] = np.where(valid, h_new, 0.0)
        h = np.where(valid, h_new, h)
        c = np.where(valid, c_new, c)
    return y, h, c, tape


def _run_grad(mode, cell, x, tape, dy, dh, dc, q):
    """The reverse of _run; returns (dx, dh0, dc0, gradient as CellWeights)."""
    _, step_grad = cells.STEPS[mode]
    grad = cell.zeros_like()
    dx = np.zeros_like(x)
    for t, valid, h_prev, cache in reversed(tape):
        # Invalid rows pass the state gradient through and contribute nothing.
        dh_cell = np.where(valid, q(dh + dy[t]), 0.0)
        dc_cell = np.where(valid, dc, 0.0)
        da, du, dh_direct, dc_prev, dproj = step_grad(dh_cell, dc_cell, cache, cell, q)
        if cell.w is None:
            dx[t] = q(da.sum(axis=0))
        else:
            dx[t] = q((da @ cell.w).sum(axis=0))
            grad.w = q(grad.w + q(np.swapaxes(da, 1, 2) @ x[t]))
        grad.r = q(grad.r + q(np.swapaxes(du, 1, 2) @ h_prev))
        grad.bw = q(grad.bw + q(da.sum(axis=1)))
        grad.br = q(grad.br + q(du.sum(axis=1)))
        if dproj is not None:
            grad.proj = q(grad.proj + dproj)
        dh_prev = q((du @ cell.r).sum(axis=0))
        if dh_direct is not None:
            dh_prev = q(dh_prev + dh_direct)
        dh = np.where(valid, dh_prev, dh)
        dc = np.where(valid, dc_prev, dc)
    return dx, dh, dc, grad


def forward(spec, x, h0, c0, params, lengths=None, masks=None, q=cells.exact):
    """Runs the stack.

    Args:
        spec: RnnSpec.
        x: [T, B, I].
        h0: [L * D, B, O].
        c0: [L * D, B, H]; ignored unless the cell is an LSTM.
        params: the flat buffer of layout.py.
        lengths: [B], all T if None.
        masks: for layer l > 0, masks[l - 1] of shape [T, B, D * O] multiplies its input (dropout).
        q: rounding of every intermediate result.

    Returns:
        A Forward; output_c is None unless the cell is an LSTM.
    """
    weights = layout.unpack(spec, params)
    steps, batch, _ = x.shape
    lengths = np.full(batch, steps) if lengths is None else np.asarray(lengths)
    layer_input, tape, h_out, c_out = x, [], [], []
    for layer in range(spec.layers):
        if layer > 0 and masks is not None:
            layer_input = q(layer_input * masks[layer - 1])
        outputs = []
        for d in range(spec.directions):
            p = layer * spec.directions + d
            c_init = c0[p] if spec.is_lstm else np.zeros((batch, spec.units))
            y, h, c, steps_tape = _run(
                spec.rnn_mode, weights[p], layer_input, h0[p], c_init, lengths, d == 1, q
            )
            outputs.append(y)
            h_out.append(h)
            c_out.append(c)
            tape.append((layer_input, steps_tape))
        layer_input = np.concatenate(outputs, axis=2)
    return Forward(
        output=layer_input,
        output_h=np.stack(h_out),
        output_c=np.stack(c_out) if spec.is_lstm else None,
        tape=tape,
    )


def _given_outputs(mode, steps_tape, output):
    """The tape of _run with the rows of `output` in the place of its own states h."""
    tape, h = [], steps_tape[0][2] if steps_tape else None
    for t, valid, _, cache in steps_tape:
        tape.append((t, valid, h, cells.given_outputs(mode, cache, h, output[t])))
        h = np.where(valid, output[t], h)
    return tape


def backward(spec, params, tape, dy, dh, dc, masks=None, q=cells.exact, output=None):
    """Gradients of sum(dy * output) + sum(dh * output_h) + sum(dc * output_c).

    Args:
        spec: RnnSpec.
        params: as given to forward().
        tape: the tape of forward().
        dy: [T, B, D * O].
        dh: [L * D, B, O].
        dc: [L * D, B, H], ignored unless the cell is an LSTM.
        masks: as given to forward().
        q: rounding of every intermediate result.
        output: what a 16-bit op is given as the output of the last layer, which is rounded; by
            default that of forward().

    Returns:
        A Backward; input_c is None unless the cell is an LSTM.
    """
    weights = layout.unpack(spec, params)
    grads = [None] * spec.state_rows
    dh0 = [None] * spec.state_rows
    dc0 = [None] * spec.state_rows
    for layer in reversed(range(spec.layers)):
        dx = 0.0
        for d in range(spec.directions):
            p = layer * spec.directions + d
            x, steps_tape = tape[p]
            out = spec.output_units
            if output is not None and layer == spec.layers - 1:
                given = output[:, :, d * out : (d + 1) * out]
                steps_tape = _given_outputs(spec.rnn_mode, steps_tape, given)
            dc_in = dc[p] if spec.is_lstm else np.zeros((x.shape[1], spec.units))
            dx_d, dh0[p], dc0[p], grads[p] = _run_grad(
                spec.rnn_mode,
                weights[p],
                x,
                steps_tape,
                dy[:, :, d * out : (d + 1) * out],
                dh[p],
                dc_in,
                q,
            )
            dx = q(dx + dx_d)
        if layer > 0 and masks is not None:
            dx = q(dx * masks[layer - 1])
        dy = dx
    return Backward(
        input=dy,
        input_h=np.stack(dh0),
        input_c=np.stack(dc0) if spec.is_lstm else None,
        params=layout.pack(spec, grads),
    )
