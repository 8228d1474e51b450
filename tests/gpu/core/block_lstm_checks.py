"""The block LSTM of the GPU core against float64, and its times and PyTorch's. Run by run.py."""

import contextlib
import ctypes
import functools
import itertools
import pathlib
import statistics
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from checks import TYPES, verdict  # noqa: E402
from peer import torch_peer  # noqa: E402

from support.reference import block_lstm as reference  # noqa: E402

DTYPES = {torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.bfloat16: 3}
# Largest difference relative to the largest element, or to 1: a few roundings of the outputs.
BOUNDS = {torch.float64: 1e-12, torch.float32: 5e-6, torch.float16: 8e-3, torch.bfloat16: 6e-2}
# Products of TF32 keep 10 bits of each factor, as float16 does.
TF32_BOUND = BOUNDS[torch.float16]
ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)


class Problem(ctypes.Structure):
    """Mirrors CoreBlockLstm of block_lstm_api.cc."""

    _fields_ = [
        *[(name, ctypes.c_int32) for name in ("dtype", "use_peephole", "allow_tf32")],
        ("cell_clip", ctypes.c_float),
        *[(name, ctypes.c_int64) for name in ("max_time", "batch", "input_size", "units")],
        ("seq_len_max", ctypes.c_int64),
        ("stream", ctypes.c_void_p),
    ]


class BlockLstm:
    """The library's two functions, on tensors of one device."""

    def __init__(self, path, device):
        self.library = ctypes.CDLL(str(path))
        self.library.core_block_lstm_message.restype = ctypes.c_char_p
        self.device = device

    def problem(self, x, units, steps=None, **settings):
        problem = Problem(DTYPES[x.dtype], max_time=x.shape[0], batch=x.shape[1], **settings)
        problem.input_size, problem.units = x.shape[2], units
        problem.seq_len_max = x.shape[0] if steps is None else steps
        if self.device == "cuda":
            problem.stream = torch.cuda.current_stream().cuda_stream
        return problem

    def _call(self, name, problem, inputs, shapes):
        results = [self.full(shape, inputs[0].dtype) for shape in shapes]
        scratch = []

        def allocate(size):
            with contextlib.suppress(torch.OutOfMemoryError):
                scratch.append(torch.empty(size, dtype=torch.uint8, device=self.device))
                return scratch[-1].data_ptr()
            return None

        def pointers(tensors):
            addresses = [t.data_ptr() if t.numel() else None for t in tensors]
            return (ctypes.c_void_p * len(addresses))(*addresses)

        callback = ALLOCATE(allocate)
        function = getattr(self.library, name)
        arguments = ctypes.byref(problem), pointers(inputs), pointers(results), callback
        if function(*arguments):
            raise RuntimeError(self.library.core_block_lstm_message().decode())
        return results

    def full(self, shape, dtype):
        return torch.full(tuple(shape), float("nan"), dtype=dtype, device=self.device)

    def forward(self, problem, inputs):
        shape = (problem.max_time, problem.batch, problem.units)
        return self._call("core_block_lstm_forward", problem, inputs, [shape] * 7)

    def backward(self, problem, inputs, outputs, gradients):
        tensors = [*inputs, *outputs, *gradients]
        return self._call("core_block_lstm_backward", problem, tensors, [t.shape for t in inputs])


def draw(shape, steps, dtype, seed=0):
    """Inputs of forward, then cs_grad and h_grad: float64 arrays that `dtype` holds exactly.

    Steps beyond `steps` are NaN, since nobody may read them.
    """
    time, batch, width, units = shape
    rng = np.random.default_rng(seed)
    weight = 1.5 / np.sqrt(width + units)

    def uniform(*dims, size=1.0):
        values = torch.from_numpy(rng.uniform(-size, size, dims))
        return values.to(dtype).double().numpy()

    inputs = [uniform(time, batch, width), uniform(batch, units), uniform(batch, units)]
    inputs += [uniform(width + units, 4 * units, size=weight), *(uniform(units) for _ in range(3))]
    inputs.append(uniform(4 * units, size=weight))
    gradients = [uniform(time, batch, units), uniform(time, batch, units)]
    for array in (inputs[0], *gradients):
        array[steps:] = np.nan
    return inputs, gradients


def difference(actual, expected):
    actual = actual.double().cpu().numpy()
    if actual.shape != expected.shape or not np.isfinite(actual).all():
        return float("inf")
    scale = max(1.0, np.abs(expected).max(initial=0))
    return float(np.abs(actual - expected).max(initial=0)) / scale


def compute(block, shape, steps, dtype, arrays, **settings):
    """Outputs and gradients, on the device."""
    to_device = lambda a: torch.from_numpy(a).to(block.device, dtype)  # noqa: E731
    inputs, gradients = ([*map(to_device, group)] for group in arrays)
    problem = block.problem(inputs[0], shape[3], steps, **settings)
    outputs = block.forward(problem, inputs)
    return outputs, block.backward(problem, inputs, outputs, gradients)


def compare(block, shape, steps, dtype, **settings):
    arrays = draw(shape, steps, dtype)
    outputs, gradients = compute(block, shape, steps, dtype, arrays, **settings)
    peephole = settings.get("use_peephole", 0)
    inputs = reference.BlockLstmInputs(*arrays[0])
    forward = reference.forward(inputs, steps, settings.get("cell_clip", 0.0), peephole)
    backward = reference.backward(inputs, forward, *arrays[1], steps, peephole)
    errors = {n: difference(a, forward[n]) for n, a in zip(reference.FORWARD_NAMES, outputs)}
    for name, actual in zip(reference.GRAD_NAMES, gradients):
        errors[f"d{name}"] = difference(actual, backward[name])
    tf32 = settings.get("allow_tf32", 0) and dtype == torch.float32
    return verdict(errors, TF32_BOUND if tf32 else BOUNDS[dtype])


def sweep(block):
    shapes = (
        (1, 1, 1, 1),
        (3, 2, 5, 7),
        (6, 13, 17, 31),
        (4, 33, 8, 64),
        (0, 3, 4, 5),
        (3, 0, 4, 5),
    )
    cases = [
        (shape, steps, dtype, {"use_peephole": peephole, "cell_clip": clip})
        for shape, dtype, peephole, clip in itertools.product(shapes, DTYPES, (0, 1), (0.0, 0.5))
        for steps in sorted({0, shape[0] // 2, shape[0]})
    ]
    cases += [((5, 3, 16, 16), 5, t, {"use_peephole": 1, "allow_tf32": 1}) for t in DTYPES]
    for shape, steps, dtype, settings in cases:
        label = f"{TYPES[dtype]} {shape} steps={steps} {settings}"
        yield label, functools.partial(compare, block, shape, steps, dtype, **settings)


def repeats(block, dtype):
    """The same call gives the same bits."""
    shape = (20, 64, 128, 256)
    arrays = draw(shape, 20, dtype)
    results = [compute(block, shape, 20, dtype, arrays, use_peephole=1) for _ in range(3)]
    flat = [[*outputs, *gradients] for outputs, gradients in results]
    return all(torch.equal(a, b) for other in flat[1:] for a, b in zip(flat[0], other)), ""


def streams(block):
    """Calls that overlap on two streams do not disturb each other."""
    shape = (50, 16, 64, 128)
    arrays = draw(shape, 50, torch.float32)
    want, _ = compute(block, shape, 50, torch.float32, arrays)
    same = True
    for _ in range(10):
        results = []
        for stream in (torch.cuda.Stream(), torch.cuda.Stream()):
            with torch.cuda.stream(stream):
                results.append(compute(block, shape, 50, torch.float32, arrays)[0])
        torch.cuda.synchronize()
        same &= all(torch.equal(a, b) for result in results for a, b in zip(result, want))
    return same, ""


def block_checks(block):
    checks = list(sweep(block))
    if block.device == "cuda":
        for dtype in DTYPES:
            checks.append((f"{TYPES[dtype]} repeats", functools.partial(repeats, block, dtype)))
        checks.append(("float32 two streams", functools.partial(streams, block)))
    for label, check in checks:
        yield f"block {label}", check


# T, B, I, H
TIMED = ((100, 1, 256, 256), (100, 16, 256, 256), (100, 64, 512, 512), (50, 256, 1024, 1024))
PRETENDED = ((3, 2, 5, 7),)


def block_times(block):
    """A row of the report for each shape and type."""
    for shape, dtype in itertools.product(
        TIMED if block.device == "cuda" else PRETENDED, (torch.float32, torch.float16)
    ):
        label = f"block-times {TYPES[dtype]} {shape}"
        yield label, functools.partial(time_block, block, shape, dtype)


def time_block(block, shape, dtype, runs=10, repeats=5):
    steps, batch, width, units = shape
    inputs, gradients = (
        [torch.from_numpy(a).to(block.device, dtype) for a in group]
        for group in draw(shape, steps, dtype)
    )
    problem = block.problem(inputs[0], units)
    outputs = block.forward(problem, inputs)
    results = [torch.empty_like(t) for t in inputs]
    scratch_bytes = 2**30 if block.device == "cuda" else 2**26
    scratch = torch.empty(scratch_bytes, dtype=torch.uint8, device=block.device)

    def addresses(tensors):
        return (ctypes.c_void_p * len(tensors))(*[t.data_ptr() for t in tensors])

    def ours(training):
        seconds = ctypes.c_double()
        arguments = [ctypes.byref(problem), addresses([*inputs, *outputs, *gradients])]
        arguments += [addresses(results), ctypes.c_void_p(scratch.data_ptr())]
        arguments += [ctypes.c_int64(scratch.numel()), training, runs, ctypes.byref(seconds)]
        if block.library.core_block_lstm_time(*arguments):
            raise RuntimeError(block.library.core_block_lstm_message().decode())
        return seconds.value

    peer = torch_peer("lstm", (steps, batch, width, units, 1), dtype, block.device)
    cells = [TYPES[dtype], ", ".join(map(str, shape))]
    for training in (False, True):
        ours(training)  # the warm-up
        mine = statistics.median(ours(training) for _ in range(repeats))
        cells += [f"{mine * 1e6:.0f}", f"{peer(training, runs, repeats) * 1e6:.0f}"]
    return True, "| " + " | ".join(cells) + " |"
