#!/usr/bin/env python3
"""The GPU core against float64 references, on a GPU, without TensorFlow.

    tests/gpu_core/build.sh build/gpu_core
    python3 tests/gpu_core/checks.py build/gpu_core/libcore.so

Prints a line per case and "N passed, M failed" at the end. It needs PyTorch with CUDA and numpy.
With --pretend, device memory is host memory: for a pretended driver and cuDNN.
"""

import concurrent.futures
import functools
import itertools

import core
import isolation
import numpy as np
import program
import torch

from reference import rnn as reference
from reference.spec import RnnSpec

# Largest difference relative to the largest element, or to 1. cuDNN keeps 16-bit types between
# steps, so they are coarse.
BOUNDS = {torch.float64: 1e-11, torch.float32: 2e-5, torch.float16: 2e-2, torch.bfloat16: 1.5e-1}
NAMES = ("y", "h_n", "c_n", "dx", "dh0", "dc0", "dparams")


def difference(actual, expected):
    if expected is None:
        return 0.0
    if actual.shape != expected.shape or not np.isfinite(actual).all():
        return float("inf")
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    return float(np.abs(actual - expected).max(initial=0)) / scale


def to_device(device_core, arrays, dtype, time_major=True):
    def move(array):
        if array is None:
            return None
        tensor = torch.from_numpy(array).to(device_core.device, dtype)
        return tensor if time_major or array.ndim < 3 else tensor.transpose(0, 1).contiguous()

    return [move(array) for array in arrays]


def from_device(tensors, time_major=True):
    """Time-major float64 arrays."""

    def move(tensor):
        if tensor is None:
            return None
        array = tensor.double().cpu().numpy()
        return array if time_major or array.ndim < 3 else array.swapaxes(0, 1)

    return [move(tensor) for tensor in tensors]


def enqueue(device_core, spec, tensors, lengths, *, time_major=True, twice=False, **settings):
    """All seven results, on the device; with `twice` of a second gradient too."""
    problem = device_core.problem(spec, tensors[0], lengths, time_major=time_major, **settings)
    inputs, gradients = tensors[:4], tensors[4:]
    outputs = device_core.forward(spec, problem, *inputs)
    for _ in range(1 + twice):
        results = device_core.backward(spec, problem, inputs, outputs, gradients)
    return [*outputs[:3], *results]


def run(device_core, spec, arrays, lengths, dtype, *, time_major=True, **settings):
    """All seven results as time-major float64 arrays."""
    tensors = to_device(device_core, arrays, dtype, time_major)
    results = enqueue(device_core, spec, tensors, lengths, time_major=time_major, **settings)
    return from_device(results, time_major)


def expected(spec, arrays, lengths):
    x, h0, c0, params, dy, dh, dc = arrays
    forward = reference.forward(spec, x, h0, c0, params, np.asarray(lengths))
    steps = np.arange(x.shape[0])[:, None, None]
    # Gradients beyond a row's end count for nothing.
    dy = np.where(steps < np.asarray(lengths)[None, :, None], dy, 0.0)
    backward = reference.backward(spec, params, forward.tape, dy, dh, dc)
    return (
        forward.output,
        forward.output_h,
        forward.output_c,
        backward.input,
        backward.input_h,
        backward.input_c,
        backward.params,
    )


def compare(device_core, spec, lengths, dtype, *, steps=None, padding=None, **settings):
    """With `padding` it fills x and dy beyond the rows' ends, where nothing may read it."""
    steps = max(lengths) if steps is None else steps
    arrays = core.random_inputs(spec, steps, len(lengths), dtype)
    want = expected(spec, arrays, lengths)
    if padding is not None:
        beyond = np.arange(steps)[:, None, None] >= np.asarray(lengths)[None, :, None]
        filled = [np.where(beyond, padding, arrays[k]) for k in (0, 4)]
        arrays = (filled[0], *arrays[1:4], filled[1], *arrays[5:])
    actual = run(device_core, spec, arrays, lengths, dtype, **settings)
    errors = [difference(a, e) for a, e in zip(actual, want)]
    text = " ".join(f"{n} {e:.1e}" for n, e in zip(NAMES, errors))
    return max(errors) <= BOUNDS[dtype], text


LENGTHS = {"full": [6, 6, 6], "mixed": [2, 6, 4], "empty rows": [3, 0, 6]}


def sweep(check, dtypes):
    for mode, direction, layers, dtype, (name, lengths), time_major in itertools.product(
        core.MODES,
        ("unidirectional", "bidirectional"),
        (1, 2),
        dtypes,
        LENGTHS.items(),
        (True, False),
    ):
        spec = RnnSpec(mode, layers, 5, 4, direction)
        label = f"{mode} {direction} L={layers} {dtype} {name} time_major={time_major}"
        yield label, check(spec, lengths, dtype, time_major=time_major)


def special(check, dtypes):
    for dtype in dtypes:
        projecting = RnnSpec("lstm", 2, 5, 4, "bidirectional", num_proj=3)
        yield f"projection {dtype}", check(projecting, [6, 2, 4], dtype)
        skipping = RnnSpec("gru", 2, 5, 5, input_mode="skip_input")
        yield f"skip_input {dtype}", check(skipping, [6, 2, 4], dtype)
        short = RnnSpec("lstm", 1, 5, 4, "bidirectional")
        yield f"longer than any row {dtype}", check(short, [3, 1, 2], dtype, steps=7)
        yield f"no steps {dtype}", check(short, [0, 0], dtype, steps=3)
        yield f"second gradient {dtype}", check(short, [6, 2, 4], dtype, twice=True)
        yield f"NaN in the padding {dtype}", check(short, [6, 2, 4], dtype, padding=np.nan)


def dropout(device_core):
    """The same seed gives the same masks; backward uses forward's, seen along one direction."""
    spec, lengths = RnnSpec("gru", 3, 8, 4), [6, 3, 5]
    arrays = core.random_inputs(spec, 6, 3, torch.float64)
    settings = {"dropout": 0.5}

    def outputs(changed=arrays, seed=11):
        return run(device_core, spec, changed, lengths, torch.float64, seed=seed, **settings)

    first = functools.cache(outputs)

    def repeats():
        return all(np.array_equal(a, b) for a, b in zip(first(), outputs()) if a is not None), ""

    def differs():
        return not np.array_equal(first()[0], outputs(seed=12)[0]), ""

    direction = np.random.default_rng(3).standard_normal(arrays[3].shape)
    inside = np.arange(6)[:, None, None] < np.array(lengths)[None, :, None]

    def loss(scale):
        changed = list(arrays)
        changed[3] = arrays[3] + scale * direction
        result = outputs(changed)
        return (result[0] * arrays[4] * inside).sum() + (result[1] * arrays[5]).sum()

    def gradient():
        step = 1e-5
        slope = (loss(step) - loss(-step)) / (2 * step)
        error = abs(slope - (first()[6] * direction).sum()) / max(1, abs(slope))
        return error < 1e-7, f"{error:.1e}"

    yield "dropout: the same seed repeats", repeats
    yield "dropout: another seed differs", differs
    yield "dropout: gradient along a direction", gradient


def streams(device_core):
    """Calls of four threads that overlap on streams of their own do not disturb each other."""
    spec, lengths = RnnSpec("lstm", 2, 64, 32), [50] * 8
    arrays = core.random_inputs(spec, 50, 8, torch.float32)
    want = run(device_core, spec, arrays, lengths, torch.float32)
    tensors = to_device(device_core, arrays, torch.float32)
    torch.cuda.synchronize()

    def repeat(stream):
        with torch.cuda.stream(stream):
            return [enqueue(device_core, spec, tensors, lengths) for _ in range(10)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(repeat, [torch.cuda.Stream() for _ in range(4)]))
    torch.cuda.synchronize()
    found = [from_device(result) for of_stream in results for result in of_stream]
    worst = max(difference(a, b) for result in found for a, b in zip(result, want))
    return worst < 1e-5, f"{worst:.1e}"


def all_checks(device_core, pretend):
    def check(*args, **kwargs):
        return functools.partial(compare, device_core, *args, **kwargs)

    # The usual types first, in case the time runs out.
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        yield from sweep(check, (dtype,))
        yield from special(check, (dtype,))
    yield "H=128", check(RnnSpec("lstm", 2, 128, 64), [20] * 16, torch.float32)
    yield from dropout(device_core)
    if not pretend:
        yield "four streams", functools.partial(streams, device_core)


def main():
    arguments = program.parser(__doc__.splitlines()[0]).parse_args()
    device, name, usable = program.start(arguments)
    if not arguments.pretend:
        # Makes the context current and loads PyTorch's cuDNN, which the core then takes.
        torch.nn.LSTM(2, 2, device="cuda")(torch.zeros(1, 1, 2, device="cuda"))
    device_core = core.Core(arguments.library, device)
    print(f"{name}, cuDNN {device_core.cudnn_version()}, torch {torch.__version__}", flush=True)
    isolation.run(all_checks(device_core, arguments.pretend), arguments.first, usable)


if __name__ == "__main__":
    main()
