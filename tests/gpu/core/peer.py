"""PyTorch's layers on the same cuDNN, timed as the core is: many calls between two events."""

import statistics
import time

import torch

KINDS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN}


def torch_peer(mode, shape, dtype, device):
    """A function (training, runs, repeats) that returns the seconds of one call.

    Args:
        mode: of RnnSpec.
        shape: T, B, I, H, L.
        dtype: of the tensors.
        device: "cuda", or "cpu" for a rehearsal.
    """
    steps, batch, width, units, layers = shape
    layer = KINDS[mode](width, units, layers, device=device, dtype=dtype)
    x = torch.randn(steps, batch, width, device=device, dtype=dtype, requires_grad=True)
    dy = torch.randn(steps, batch, units, device=device, dtype=dtype)
    leaves = (x, *layer.parameters())

    def inference():
        with torch.inference_mode():
            layer(x)

    def training_step():
        torch.autograd.grad(layer(x)[0], leaves, dy)

    def seconds(training, runs, repeats):
        step = training_step if training else inference
        for _ in range(3):
            step()
        return statistics.median(time_calls(step, runs, device) for _ in range(repeats))

    return seconds


def time_calls(step, runs, device):
    if device != "cuda":
        start = time.perf_counter()
        for _ in range(runs):
            step()
        return (time.perf_counter() - start) / runs
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(runs):
        step()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / runs
