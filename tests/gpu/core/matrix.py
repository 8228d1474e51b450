"""Algorithm by math type: values and times of the core and of PyTorch. Run by run.py.

A check is one problem in one type. Its text is two rows of the report: inference and training. Times
are medians in microseconds, of calls in a row without Python between them.
"""

import functools
import itertools
import statistics

import checks
import core
import torch
from peer import torch_peer

from support.reference.spec import RnnSpec

# mode, T, B, I, H, L; the shapes of the benchmark.
SHAPES = (
    ("lstm", 100, 1, 128, 128, 1),
    ("rnn_tanh", 100, 16, 256, 256, 1),
    ("lstm", 100, 8, 256, 256, 1),
    ("lstm", 100, 64, 512, 512, 1),
    ("gru", 100, 1, 256, 256, 1),
    ("gru", 100, 64, 192, 192, 1),
    ("lstm", 100, 1, 512, 512, 1),
    ("lstm", 50, 32, 256, 256, 2),
)
PRETENDED = (("lstm", 3, 2, 5, 7, 1), ("rnn_tanh", 3, 2, 5, 150, 2))
# Name, type, whether TF32 is allowed.
MATH = (
    ("float32", torch.float32, False),
    ("float32, TF32", torch.float32, True),
    ("float16", torch.float16, False),
    ("bfloat16", torch.bfloat16, False),
)
# Name, settings of the core.
WAYS = (
    ("standard", {"algo": "standard"}),
    ("heuristic", {"algo": "heuristic"}),
    ("heuristic, reserve copied", {"algo": "heuristic", "keeps_reserve": True}),
    ("persist_static", {"algo": "persist_static"}),
    ("our steps", {"algo": "steps"}),
    ("our persistent", {"algo": "persistent"}),
)
HEAD = ("cell", "T, B, I, H, L", "type", "pass", "torch", *(name for name, _ in WAYS))
HEAD += ("torch / heuristic", "worst of the bound")
# TF32 keeps 10 bits of each factor, as float16 does.
TF32_BOUND = checks.BOUNDS[torch.float16]
CHECKED_STEPS = 10


def matrix_checks(device_core):
    on_gpu = device_core.device == "cuda"
    for shape, math in itertools.product(SHAPES if on_gpu else PRETENDED, MATH):
        label = f"matrix {math[0].split(',')[0]} {shape} {math[0]}"
        yield label, functools.partial(measure, device_core, shape, math, on_gpu)


def measure(device_core, shape, math, on_gpu):
    """Values, then times. A way that fails has `error` in its cell and fails the check."""
    mode, steps, batch, width, units, layers = shape
    name, dtype, tf32 = math
    spec = RnnSpec(mode, layers, units, width)
    torch.backends.cudnn.allow_tf32 = tf32
    errors = {}
    shares = _shares(device_core, spec, batch, dtype, tf32, errors)
    arrays = core.random_inputs(spec, steps, batch, dtype, weight=checks.weight_of(spec))
    tensors = checks.to_device(device_core, arrays, dtype)
    call = core.TimedCall(device_core, spec, tensors, 2**30 if on_gpu else 2**26)
    peer = torch_peer(mode, shape[1:], dtype, device_core.device)
    runs, repeats = (10, 5) if on_gpu else (2, 1)
    worst = max(shares.values(), default=0.0)
    rows = []
    for training in (False, True):
        settings = {"training": training, "allow_tf32": int(tf32)}
        times = _times(call, runs, repeats, settings, errors)
        theirs = peer(training, runs, repeats)
        cells = [
            mode,
            ", ".join(map(str, shape[1:])),
            name,
            "training" if training else "inference",
        ]
        cells += [f"{theirs * 1e6:.0f}", *(_microseconds(times.get(way)) for way, _ in WAYS)]
        ours = times.get("heuristic")
        cells += [f"{theirs / ours:.2f}" if ours else "-", f"{worst:.2g}"]
        rows.append("| " + " | ".join(cells) + " |")
    text = ", ".join([f"{way} {share:.2g}" for way, share in shares.items()])
    text += "".join(f"; {way}: {error}" for way, error in errors.items())
    return worst <= 1 and not errors, f"{worst:.2g} of the bound; {text} {' '.join(rows)}"


def _microseconds(seconds):
    return "-" if seconds is None else "error" if seconds == 0 else f"{seconds * 1e6:.0f}"


def _times(call, runs, repeats, settings, errors):
    """Seconds by way; 0 for one that fails, whose error is added to `errors`."""
    times = {}
    for way, choice in WAYS:
        if choice.get("keeps_reserve") and not settings["training"]:
            continue
        try:
            call.seconds(1, **settings, **choice)  # makes plans and choices
            found = [call.seconds(runs, **settings, **choice) for _ in range(repeats)]
            times[way] = statistics.median(found)
        except core.CoreError as error:
            errors[way], times[way] = error, 0
    return times


def _shares(device_core, spec, batch, dtype, tf32, errors):
    """The largest error of each way as a share of its bound, over a few steps."""
    lengths = [CHECKED_STEPS] * batch
    weight = checks.weight_of(spec)
    arrays = core.random_inputs(spec, CHECKED_STEPS, batch, dtype, weight=weight)
    want = checks.expected(spec, arrays, lengths)
    bound = TF32_BOUND if tf32 else checks.BOUNDS[dtype]
    found = {}
    for way, choice in WAYS:
        if "keeps_reserve" in choice:
            continue  # checks.run() always keeps it
        try:
            got = checks.run(
                device_core, spec, arrays, lengths, dtype, allow_tf32=int(tf32), **choice
            )
        except core.CoreError as error:
            errors[way] = error
            continue
        found[way] = max(checks.difference(a, e) for a, e in zip(got, want)) / bound
    return found
