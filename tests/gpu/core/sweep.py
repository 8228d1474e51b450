"""Times of cuDNN's algorithms over sizes, which cc/gpu/rnn_heuristics.cc is made from. Run by run.py.

A check is one network in one type. Its text has a row of the report for each batch size: median
microseconds of T steps, in inference and in training. An algorithm that cuDNN rejects runs as STANDARD, so
its time is the time of STANDARD.
"""

import functools
import itertools
import statistics

import checks
import core
import torch

from support.reference.spec import RnnSpec

STEPS = 50
ALGOS = ("standard", "small_h", "persist_static")
HEAD = ("cell", "type", "H", "L", "D", "B")
HEAD += tuple(f"{algo}, {name}" for name in ("inference", "training") for algo in ALGOS)
HEAD += ("persist_static - standard",)
TYPES = {torch.float32: "float32", torch.float16: "float16"}
# The largest difference of results between two algorithms: rounding of products apart (float16,
# and TF32 for the times), what cuDNN's persistent kernels compute less accurately.
BOUNDS = {torch.float32: 1e-4, torch.float16: 2e-2}


def networks(on_gpu):
    """cell, H, L, D and the batch sizes."""
    if not on_gpu:
        yield "lstm", 7, 1, 1, (2,)
        return
    batches = (1, 2, 4, 8, 16, 32, 64, 128)
    for mode, units in itertools.product(
        ("lstm", "gru", "rnn_tanh"), (64, 128, 160, 200, 256, 384, 512, 768, 1024)
    ):
        yield mode, units, 1, 1, batches
    # Batches and units that do not fill the tiles of tensor cores.
    for mode, units in itertools.product(("lstm", "gru", "rnn_tanh"), (250, 256, 320)):
        yield mode, units, 1, 1, (12, 20, 50, 100)
    for mode, units, (layers, directions) in itertools.product(
        ("lstm", "gru"), (128, 256, 512), ((2, 1), (1, 2), (3, 2))
    ):
        yield mode, units, layers, directions, (1, 8, 32)


def sweep_checks(device_core):
    for network, dtype in itertools.product(networks(device_core.device == "cuda"), TYPES):
        mode, units, layers, directions, _ = network
        label = f"sweep {TYPES[dtype]} {mode} H={units} L={layers} D={directions}"
        yield label, functools.partial(measure, device_core, network, dtype)


def measure(device_core, network, dtype):
    mode, units, layers, directions, batches = network
    direction = "bidirectional" if directions == 2 else "unidirectional"
    spec = RnnSpec(mode, layers, units, units, direction)
    rows, worst = [], 0.0
    for batch in batches:
        difference = _difference(device_core, spec, batch, dtype)
        worst = max(worst, difference / BOUNDS[dtype])
        cells = [mode, TYPES[dtype], units, layers, directions, batch]
        cells += _times(device_core, spec, batch, dtype)
        cells.append(f"{difference:.1e}")
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return worst <= 1, f"{worst:.2g} of the bound {' '.join(rows)}"


def _times(device_core, spec, batch, dtype):
    arrays = core.random_inputs(spec, STEPS, batch, dtype, weight=checks.weight_of(spec))
    tensors = checks.to_device(device_core, arrays, dtype)
    on_gpu = device_core.device == "cuda"
    call = core.TimedCall(device_core, spec, tensors, 2**31 if on_gpu else 2**24)
    runs, repeats = (4, 3) if on_gpu else (1, 1)
    found = []
    for training, algo in itertools.product((False, True), ALGOS):
        settings = {"training": training, "allow_tf32": 1, "algo": algo}
        call.seconds(1, **settings)  # makes the plan
        seconds = statistics.median(call.seconds(runs, **settings) for _ in range(repeats))
        found.append(f"{seconds * 1e6:.0f}")
    return found


def _difference(device_core, spec, batch, dtype):
    """The difference of all results between PERSIST_STATIC and STANDARD."""
    steps = 6
    arrays = core.random_inputs(spec, steps, batch, dtype, weight=checks.weight_of(spec))
    results = [
        checks.run(device_core, spec, arrays, [steps] * batch, dtype, algo=algo)
        for algo in ("standard", "persist_static")
    ]
    return max(checks.difference(a, b) for a, b in zip(*results) if a is not None)
