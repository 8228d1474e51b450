"""The same problem in torch.nn.LSTM, GRU or RNN, float64 on the CPU. Needs torch."""

import numpy as np
import torch

from support.reference import layout

# These problems are small, and torch's threads spin.
torch.set_num_threads(1)


def _names(spec):
    """Yields (pseudo-layer, torch suffix)."""
    for pseudo in range(spec.state_rows):
        layer, d = divmod(pseudo, spec.directions)
        yield pseudo, f"l{layer}" + ("_reverse" if d else "")


def _module(spec, params, batch_first):
    common = {
        "input_size": spec.input_size,
        "hidden_size": spec.units,
        "num_layers": spec.layers,
        "bidirectional": spec.directions == 2,
        "batch_first": batch_first,
        "dtype": torch.float64,
    }
    if spec.is_lstm:
        proj_size = spec.num_proj if spec.has_projection else 0
        module = torch.nn.LSTM(**common, proj_size=proj_size)
    elif spec.rnn_mode == "gru":
        module = torch.nn.GRU(**common)
    else:
        module = torch.nn.RNN(**common, nonlinearity=spec.rnn_mode.removeprefix("rnn_"))
    cells = layout.unpack(spec, params)
    with torch.no_grad():
        for pseudo, suffix in _names(spec):
            cell = cells[pseudo]
            for name, value in (
                ("weight_ih", cell.w),
                ("weight_hh", cell.r),
                ("bias_ih", cell.bw),
                ("bias_hh", cell.br),
                ("weight_hr", cell.proj),
            ):
                if value is None:
                    continue
                target = getattr(module, f"{name}_{suffix}")
                target.copy_(torch.from_numpy(np.array(value)).reshape(target.shape))
    return module


def _params_grad(spec, module):
    grads = layout.unpack(spec, np.zeros(layout.params_size(spec)))
    for pseudo, suffix in _names(spec):
        cell = grads[pseudo]
        for name, value in (
            ("weight_ih", cell.w),
            ("weight_hh", cell.r),
            ("bias_ih", cell.bw),
            ("bias_hh", cell.br),
            ("weight_hr", cell.proj),
        ):
            if value is not None:
                value[...] = getattr(module, f"{name}_{suffix}").grad.numpy().reshape(value.shape)
    return layout.pack(spec, grads)


def run(case, batch_first=False):
    """Outputs and gradients of a RnnCase under the names of tf_ops.rnn_arrays, time-major.

    Rows must have lengths of at least 1, and layer 0 must have input weights: torch has nothing
    else.
    """
    spec = case.spec
    module = _module(spec, case.params, batch_first)

    def leaf(array):
        return torch.from_numpy(np.ascontiguousarray(array)).requires_grad_()

    x = leaf(np.swapaxes(case.x, 0, 1) if batch_first else case.x)
    h0, c0 = leaf(case.h0), leaf(case.c0)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        x,
        torch.from_numpy(case.lengths.astype(np.int64)),
        batch_first=batch_first,
        enforce_sorted=False,
    )
    output, state = module(packed, (h0, c0) if spec.is_lstm else h0)
    output, _ = torch.nn.utils.rnn.pad_packed_sequence(
        output, batch_first=batch_first, total_length=case.x.shape[0]
    )
    if batch_first:
        output = output.transpose(0, 1)
    h, c = state if spec.is_lstm else (state, None)
    loss = (output * torch.from_numpy(case.dy)).sum() + (h * torch.from_numpy(case.dh)).sum()
    if spec.is_lstm:
        loss = loss + (c * torch.from_numpy(case.dc)).sum()
    loss.backward()
    dx = x.grad.numpy()
    arrays = {
        "output": output.detach().numpy(),
        "output_h": h.detach().numpy(),
        "input_backprop": np.swapaxes(dx, 0, 1) if batch_first else dx,
        "input_h_backprop": h0.grad.numpy(),
        "params_backprop": _params_grad(spec, module),
    }
    if spec.is_lstm:
        arrays["output_c"] = c.detach().numpy()
        arrays["input_c_backprop"] = c0.grad.numpy()
    return arrays


def second_order(case, cotangents):
    """Gradients of the sum of cotangents times the gradients of a case, all rows of full length.

    Args:
        case: A cases.RnnCase.
        cotangents: Arrays under the names of the op's inputs.

    Returns:
        A dict of arrays under the names of the op's inputs, dy, dh and (LSTM) dc.
    """
    spec = case.spec
    module = _module(spec, case.params, batch_first=False)
    names = {"input": case.x, "input_h": case.h0, "input_c": case.c0}
    upstream = {"dy": case.dy, "dh": case.dh, "dc": case.dc}
    if not spec.is_lstm:
        del names["input_c"], upstream["dc"]
    inputs = {n: torch.tensor(a, requires_grad=True) for n, a in names.items()}
    upstream = {n: torch.tensor(a, requires_grad=True) for n, a in upstream.items()}
    x, *states = inputs.values()
    y, last = module(x, tuple(states) if spec.is_lstm else states[0])
    outputs = [y, *(last if spec.is_lstm else [last])]
    weights = list(module.parameters())
    first = torch.autograd.grad(
        outputs, [*inputs.values(), *weights], list(upstream.values()), create_graph=True
    )
    total = sum((g * torch.tensor(cotangents[n])).sum() for n, g in zip(inputs, first))
    # The cotangent of params as those of torch's weights.
    pieces = _module(spec, cotangents["params"], batch_first=False).parameters()
    total += sum((g * p.detach()).sum() for g, p in zip(first[len(inputs) :], pieces))
    sources = {**inputs, **upstream}
    total.backward()
    found = {n: t.grad.numpy() for n, t in sources.items()}
    return {**found, "params": _params_grad(spec, module)}
