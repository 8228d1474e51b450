"""The persistent kernels of LayerRNN: values, equal bits, streams, NaN. Run by run.py.

Each problem of `layers` runs with them, then each kernel at a size that no other kernel runs. The text of
a check names the kernels that were launched.
"""

import contextlib
import functools
import itertools

import launches
import numpy as np
import torch
from checks import compare_layer, random_checks
from core import LayerCall
from problems import BOUNDS, TYPES

from support import layer_cases

PERSISTENT = ("persistent", "persistent")
STEPS = ("steps", "steps")
NARROW = {"BFloat16": "bfloat16", "Half": "float16"}
MODES = {"Lstm": "lstm", "Gru": "gru", "Vanilla": "rnn_tanh"}
MODES["GruResetBefore"] = "gru_reset_before"
INTEGERS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
REPETITIONS = 500
# mode, type, (T, B, I, H) and whether h has masks: for equal bits and for calls next to other work.
REPEATED = (
    ("lstm", "bfloat16", (20, 16, 64, 512), False),
    ("lstm", "float32", (20, 64, 64, 1024), False),
    ("lstm", "float16", (20, 128, 64, 256), True),
    ("gru", "bfloat16", (20, 64, 64, 1024), True),
    ("gru", "float32", (20, 16, 64, 256), False),
    ("rnn_tanh", "bfloat16", (20, 64, 64, 512), False),
    ("gru_reset_before", "float32", (20, 64, 64, 512), False),
    ("gru_reset_before", "bfloat16", (20, 16, 64, 1024), False),
)
PRETENDED = (
    ("lstm", "bfloat16", (2, 3, 5, 20), False),
    ("gru", "float32", (2, 3, 5, 9), True),
    ("gru_reset_before", "float32", (2, 3, 5, 9), False),
)
LARGE = ((16, 256), (64, 512), (64, 1024), (70, 256), (128, 1000))  # B, H


def draw(mode, dtype, shape, masked, seed=0, **options):
    rng = np.random.default_rng(seed)
    return layer_cases.layer_case(
        mode, shape, rng, dtype, input_mask=False, recurrent_mask=masked, **options
    )


def bits(tensor):
    return tensor.view(INTEGERS[tensor.dtype])


def differing(results, want):
    """Whether any bit differs, as a tensor on the device."""
    found = [(bits(results[name]) != bits(want[name])).any() for name in want]
    return torch.stack(found).any()


def copies(results):
    return {name: tensor.clone() for name, tensor in results.items()}


def new_stream(core):
    return torch.cuda.Stream() if core.on_gpu else None


def on(stream):
    return contextlib.nullcontext() if stream is None else torch.cuda.stream(stream)


def wait(core):
    if core.on_gpu:
        torch.cuda.synchronize()


def each_kernel(core, name):
    """The kernel and its backward pass, at a size that no smaller kernel runs."""
    _, cell, operand, width, tile, general = name.split("_")
    dtype, width, tile = NARROW.get(operand, "float32"), int(width), int(tile)
    on_gpu = core.on_gpu
    shape = (3, tile - 3, 24, width - 3) if on_gpu else (2, 5 if tile == 16 else 17, 3, 19)
    any_function = general == "true" or cell == "GruResetBefore"
    options = {"functions": ("tanh", "hard_sigmoid")} if any_function else {}
    case = draw(MODES[cell], dtype, shape, general == "true", **options)
    needed, most = launches.blocks(name, shape[3]), core.launches.multiprocessors()
    if needed > most:
        return True, f"needs {needed} multiprocessors, and the GPU has {most}"
    names, old = sorted(core.launches.expected(case)), core.launches.old_gpu()
    # Loaded here, so that the text has the time.
    loads = [] if old else [core.launches.load(n) for n in names]
    good, text = compare_layer(core, case, algorithms=PERSISTENT)
    times = ", ".join(f"{milliseconds:.0f} ms" for milliseconds in loads)
    return good and name in names, f"{text}, loaded in {times}" if loads else text


def mixed(core, mode, dtype, algorithms):
    """The gradient reads the reserve space of the other algorithm."""
    shape = (9, 17, 24, 300) if core.on_gpu else (3, 3, 5, 12)
    return compare_layer(core, draw(mode, dtype, shape, True), algorithms=algorithms)


def same_bits(core, mode, dtype, shape, masked):
    """Repetitions have the bits of the first call, which is near to that of the steps."""
    case = draw(mode, dtype, shape, masked)
    call = LayerCall(core, case, algorithms=PERSISTENT)
    core.launches.forget()
    want = copies(call.enqueue())
    right, names = core.launches.verdict(case, PERSISTENT)
    steps = LayerCall(core, case).enqueue()
    count = REPETITIONS if core.on_gpu else 2
    differ = torch.zeros((), dtype=torch.int32, device=core.device)
    for _ in range(count):
        differ += differing(call.enqueue(), want)
    error = distance(want, steps) / BOUNDS["layer"][dtype]
    text = f"{error:.2g} of the bound from steps; {int(differ)} of {count} differ; {names}"
    return right and error <= 1 and int(differ) == 0, text


def distance(results, want):
    """The largest difference, relative to the largest element of the tensor, or to 1."""
    found = []
    for name in want:
        a, b = results[name].double(), want[name].double()
        found.append((a - b).abs().max() / b.abs().max().clamp(min=1))
    worst = torch.stack(found).max()
    return float(worst) if torch.isfinite(torch.stack(found)).all() else float("inf")


def two_streams(core, mode, dtype, shape, masked):
    """Calls that are enqueued on two streams at once have the bits of calls on one."""
    streams = [new_stream(core), new_stream(core)]
    calls = []
    for seed, stream in enumerate(streams):
        with on(stream):
            case = draw(mode, dtype, shape, masked, seed)
            calls.append(LayerCall(core, case, algorithms=PERSISTENT))
    return next_to(core, calls, streams, lambda: None)


def next_to_products(core, mode, dtype, shape, masked):
    """Calls next to products of PyTorch on another stream."""
    streams = [new_stream(core)]
    with on(streams[0]):
        case = draw(mode, dtype, shape, masked)
        calls = [LayerCall(core, case, algorithms=PERSISTENT)]
    size = 4096 if core.on_gpu else 8
    other = torch.randn(size, size, device=core.device, dtype=torch.bfloat16)
    products = new_stream(core)

    def multiply():
        with on(products):
            for _ in range(4):
                torch.mm(other, other)

    return next_to(core, calls, streams, multiply)


def next_to(core, calls, streams, work):
    """Whether calls on their streams, next to `work`, have the bits of calls without it."""
    want = []
    wait(core)
    for call, stream in zip(calls, streams):
        with on(stream):
            want.append(copies(call.enqueue()))
        wait(core)
    core.launches.forget()
    count, different = 50 if core.on_gpu else 2, 0
    for _ in range(count):
        work()
        found = []
        for call, stream in zip(calls, streams):
            with on(stream):
                found.append(call.enqueue())
        wait(core)
        different += sum(bool(differing(a, b)) for a, b in zip(found, want))
    case = calls[0].case
    right, names = core.launches.verdict(case, PERSISTENT)
    return right and different == 0, f"{different} of {count * len(calls)} differ; {names}"


def captured(core, mode, dtype, shape, masked):
    """A CUDA graph of a call runs the steps one by one, and has their bits."""
    stream = new_stream(core)
    with on(stream):
        case = draw(mode, dtype, shape, masked)
        call = LayerCall(core, case, algorithms=PERSISTENT if core.on_gpu else STEPS)
        results = call.enqueue()  # loads the modules
        want = copies(LayerCall(core, case).enqueue())
    wait(core)
    core.launches.forget()
    replay = call.enqueue
    if core.on_gpu:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            call.enqueue()
        replay = graph.replay
    differ = 0
    for _ in range(3):
        for tensor in results.values():
            tensor.fill_(float("nan"))
        wait(core)
        replay()
        wait(core)
        differ += bool(differing(results, want))
    right, names = core.launches.verdict(case, STEPS)
    return right and differ == 0, f"{differ} of 3 differ; {names}"


def bad_rows(core, mode, dtype, field, value):
    """NaN, or a length that is not one, makes its row NaN and leaves the bits of all others."""
    steps, batch, units = (9, 17, 300) if core.on_gpu else (3, 3, 12)
    lengths = np.full(batch, steps, np.int32)
    case = draw(mode, dtype, (steps, batch, 5, units), False, lengths=lengths)
    want = copies(LayerCall(core, case, algorithms=PERSISTENT).enqueue())
    getattr(case.inputs, field)[1] = value
    core.launches.forget()
    got = LayerCall(core, case, algorithms=PERSISTENT).enqueue()
    right, names = core.launches.verdict(case, PERSISTENT)
    others = [k for k in range(batch) if k != 1]
    for name, dim in (
        ("output", 1),
        ("output_h", 0),
        ("input_backprop", 1),
        ("input_h_backprop", 0),
    ):
        rest = torch.tensor(others, device=core.device)
        a, b = (results[name].index_select(dim, rest) for results in (got, want))
        right &= torch.equal(bits(a), bits(b))
        right &= bool(got[name].select(dim, 1).isnan().all())
    return right, names


def large_sizes(core):
    sizes = LARGE if core.on_gpu else ((70, 9), (128, 5))
    for (batch, units), dtype in itertools.product(sizes, ("bfloat16", "float32")):
        mode = "gru" if batch > 64 else "lstm"
        case = functools.partial(draw, mode, dtype, (6, batch, 32, units), False)
        yield (
            f"persistent {dtype} {mode} B={batch} H={units}",
            lambda c=case: compare_layer(core, c(), algorithms=PERSISTENT),
        )


def kernels_to_run(core):
    """The forward kernels, which backward kernels follow, and the backward kernels without one."""
    names = core.launches.names()
    backward = [n for n in names if n.startswith("B") and n.replace("Back", "For") not in names]
    found = [n for n in names if n.startswith("F")] + backward
    found.sort(key=lambda name: int(name.split("_")[3]))  # a run that is cut off has all cells
    return found if core.on_gpu else [n for n in found if "_256_" in n]


def persistent_checks(core):
    on_gpu = core.on_gpu
    for name in kernels_to_run(core):
        operand = NARROW.get(name.split("_")[2], "float32")
        yield f"persistent {operand} {name}", functools.partial(each_kernel, core, name)
    for arguments in REPEATED if on_gpu else PRETENDED:
        mode, dtype, shape, masked = arguments
        label = f"{mode} {shape} masked={masked}"
        for title, check in (
            ("repeats", same_bits),
            ("two streams", two_streams),
            ("next to products", next_to_products),
            ("captured", captured),
        ):
            yield (
                f"persistent {dtype} {label} {title}",
                functools.partial(check, core, *arguments),
            )
    for mode, dtype in itertools.product(("lstm", "gru"), TYPES):
        if dtype == "float64":
            continue
        for algorithms in (("persistent", "steps"), ("steps", "persistent")):
            yield (
                f"persistent {dtype} {mode} {' then '.join(algorithms)}",
                functools.partial(mixed, core, mode, dtype, algorithms),
            )
        for field, value in (("h0", np.nan), ("lengths", 99)):
            yield (
                f"persistent {dtype} {mode} {field}={value}",
                functools.partial(bad_rows, core, mode, dtype, field, value),
            )
    yield from large_sizes(core)
    yield from random_checks(
        core,
        "persistent",
        **({} if on_gpu else {"largest": (3, 4, 5, 17)}),
        algorithms=PERSISTENT,
    )
