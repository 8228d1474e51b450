"""Times of cuDNN and of this package's steps for CudnnRNNV3, which cc/gpu/engine_choice.cc is made from.

Run by run.py. A check is one cell, type and number of units. Its text has a row of the report for each
batch size: median microseconds of a call in inference and in training. cuDNN runs the algorithm of its
own table.
"""

import functools
import itertools
import statistics

import core
import torch
from checks import TYPES

from support.reference import layout
from support.reference.spec import RnnSpec

WAYS = (("cuDNN", "heuristic"), ("persistent", "persistent"), ("steps", "steps"))
HEAD = ("cell", "type", "T, L, D", "H", "B")
HEAD += tuple(f"{way}, {name}" for name in ("inference", "training") for way, _ in WAYS)
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
PLAIN, SHORT, STACKS = (50, 1, 1), ((1, 1, 1), (5, 1, 1), (15, 1, 1)), ((50, 2, 1), (50, 1, 2))


def networks(on_gpu):
    """cell, (T, L, D), H and the batch sizes."""
    if not on_gpu:
        yield "lstm", (3, 1, 1), 7, (2,)
        return
    for mode, units in itertools.product(("lstm", "gru", "rnn_tanh"), (128, 192, 256, 512, 1024)):
        yield mode, PLAIN, units, (1, 4, 8, 16, 64, 128)
    for sizes, units in itertools.product((*SHORT, *STACKS), (256, 512)):
        yield "lstm", sizes, units, (1, 16, 64)


def choice_checks(device_core):
    for dtype, network in itertools.product(DTYPES, networks(device_core.device == "cuda")):
        mode, sizes, units, _ = network
        label = f"choices {TYPES[dtype]} {mode} {sizes} H={units}"
        yield label, functools.partial(measure, device_core, network, dtype)


def measure(device_core, network, dtype):
    mode, (steps, layers, directions), units, batches = network
    direction = "bidirectional" if directions == 2 else "unidirectional"
    spec = RnnSpec(mode, layers, units, units, direction)
    rows = []
    for batch in batches:
        cells = [mode, TYPES[dtype], f"{steps}, {layers}, {directions}", units, batch]
        cells += _times(device_core, spec, steps, batch, dtype)
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return True, " ".join(rows)


def _tensors(spec, steps, batch, dtype, device):
    """x, h0, c0, params, dy, dh_n, dc_n."""

    def draw(*shape, size=0.8):
        return (torch.rand(shape, device=device) * (2 * size) - size).to(dtype)

    states = (spec.state_rows, batch, spec.units)
    c = (lambda: draw(*states)) if spec.is_lstm else (lambda: None)
    params = draw(layout.params_size(spec), size=spec.units**-0.5)
    dy = draw(steps, batch, spec.output_size)
    return draw(steps, batch, spec.input_size), draw(*states), c(), params, dy, draw(*states), c()


def _times(device_core, spec, steps, batch, dtype):
    on_gpu = device_core.device == "cuda"
    tensors = _tensors(spec, steps, batch, dtype, device_core.device)
    call = core.TimedCall(device_core, spec, tensors, 2**30 if on_gpu else 2**26)
    runs, repeats = (4, 3) if on_gpu else (1, 1)
    found = []
    for training, (_, algo) in itertools.product((False, True), WAYS):
        settings = {"training": training, "allow_tf32": 1, "algo": algo}
        call.seconds(1, **settings)  # makes plans, loads kernels
        seconds = statistics.median(call.seconds(runs, **settings) for _ in range(repeats))
        found.append(f"{seconds * 1e6:.0f}")
    return found
