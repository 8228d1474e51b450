"""The stacks without cuDNN: the engine of LayerRNN in steps and in persistent kernels. Run by run.py.

matrix.py times them next to cuDNN.
"""

import functools
import itertools

import checks
import launches
import numpy as np
import torch
from checks import TYPES

from support.reference.spec import RnnSpec

ALGORITHMS = ("steps", "persistent")
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
# B, H of stacks of two layers in both directions.
LARGE = ((16, 256), (64, 512), (70, 256), (64, 1024))
PRETENDED = ((3, 12), (70, 5))


def compare(device_core, found, spec, lengths, dtype, **settings):
    """The results against float64, and which persistent kernels ran."""
    found.forget()
    good, text = checks.compare(device_core, spec, lengths, dtype, **settings)
    persistent = settings["algo"] == "persistent" and any(lengths) and not spec.has_projection
    want = set()
    if persistent:
        want = launches.kernels_of(spec.rnn_mode, dtype, len(lengths), spec.units)
        want = {n for n in want if launches.blocks(n, spec.units) <= found.multiprocessors()}
    right, names = found.judge(want, persistent)
    return good and right, f"{text}; {names}"


def repeats(device_core, spec, lengths, dtype, algo):
    """The same call gives the same bits, and so does a second gradient."""
    arrays = checks.inputs(spec, max(lengths), len(lengths), dtype)
    settings = {"algo": algo, "dropout": 0.5, "seed": 3}
    runs = [
        checks.run(device_core, spec, arrays, lengths, dtype, twice=twice, **settings)
        for twice in (False, True)
    ]
    return all(np.array_equal(a, b) for a, b in zip(*runs) if a is not None), ""


def engine_checks(device_core):
    """Every configuration in every type and both algorithms."""
    found = launches.Launches(device_core.library, device_core.device)
    on_gpu = device_core.device == "cuda"
    for dtype, algo in itertools.product(DTYPES, ALGORITHMS):

        def check(spec, lengths, dtype=dtype, algo=algo, **settings):
            settings["algo"] = algo
            return functools.partial(compare, device_core, found, spec, lengths, dtype, **settings)

        made = [
            *checks.sweep(check, dict.fromkeys(checks.LENGTHS, (algo,))),
            *checks.special(check),
        ]
        for batch, units in LARGE if on_gpu else PRETENDED:
            spec = RnnSpec("gru" if batch > 64 else "lstm", 2, units, 32, "bidirectional")
            made.append((f"B={batch} H={units}", check(spec, [5] * batch)))
            again = functools.partial(repeats, device_core, spec, [5] * batch, dtype, algo)
            made.append((f"B={batch} H={units} repeats", again))
        if dtype == torch.float64:
            made += checks.dropout(device_core, algo=algo)
        for label, run in made:
            yield f"engine {TYPES[dtype]} {algo} {label}", run
