#!/usr/bin/env python3
"""The GPU core against float64 references, on a GPU, without TensorFlow.

    tests/gpu_core/build.sh build/gpu_core
    python3 tests/gpu_core/checks.py build/gpu_core/libcore.so

Prints a line per case and "N passed, M failed" at the end. It needs PyTorch with CUDA and numpy.
With --pretend, device memory is host memory: for a pretended driver and cuDNN.
"""

import argparse
import itertools
import sys

import core
import numpy as np
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


def run(device_core, spec, arrays, lengths, dtype, *, time_major=True, twice=False, **settings):
    """All seven results as time-major float64 arrays; with `twice` of a second gradient too."""

    def to_device(array):
        if array is None:
            return None
        tensor = torch.from_numpy(array).to(device_core.device, dtype)
        return tensor if time_major or array.ndim < 3 else tensor.transpose(0, 1).contiguous()

    def back(tensor):
        if tensor is None:
            return None
        array = tensor.double().cpu().numpy()
        return array if time_major or array.ndim < 3 else array.swapaxes(0, 1)

    x, h0, c0, params, dy, dh, dc = map(to_device, arrays)
    problem = device_core.problem(spec, x, lengths, time_major=time_major, **settings)
    inputs = (x, h0, c0, params)
    outputs = device_core.forward(spec, problem, *inputs)
    gradients = device_core.backward(spec, problem, inputs, outputs, (dy, dh, dc))
    results = [back(t) for t in (*outputs[:3], *gradients)]
    if twice:
        again = device_core.backward(spec, problem, inputs, outputs, (dy, dh, dc))
        results = results[:3] + [back(t) for t in again]
    return results


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


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def note(self, label, good, text=""):
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        print(f"{'ok  ' if good else 'FAIL'} {label} {text}", flush=True)

    def compare(self, device_core, label, spec, lengths, dtype, steps=None, **settings):
        steps = max(lengths) if steps is None else steps
        arrays = core.random_inputs(spec, steps, len(lengths), dtype)
        try:
            actual = run(device_core, spec, arrays, lengths, dtype, **settings)
        except core.CoreError as error:
            self.note(label, False, str(error))
            return
        errors = [difference(a, e) for a, e in zip(actual, expected(spec, arrays, lengths))]
        text = " ".join(f"{n} {e:.1e}" for n, e in zip(NAMES, errors))
        self.note(label, max(errors) <= BOUNDS[dtype], text)


LENGTHS = {"full": [6, 6, 6], "mixed": [2, 6, 4], "empty rows": [3, 0, 6]}


def sweep(tally, device_core, dtypes):
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
        tally.compare(device_core, label, spec, lengths, dtype, time_major=time_major)


def special(tally, device_core, dtypes):
    for dtype in dtypes:
        projecting = RnnSpec("lstm", 2, 5, 4, "bidirectional", num_proj=3)
        tally.compare(device_core, f"projection {dtype}", projecting, [6, 2, 4], dtype)
        skipping = RnnSpec("gru", 2, 5, 5, input_mode="skip_input")
        tally.compare(device_core, f"skip_input {dtype}", skipping, [6, 2, 4], dtype)
        short = RnnSpec("lstm", 1, 5, 4, "bidirectional")
        tally.compare(device_core, f"longer than any row {dtype}", short, [3, 1, 2], dtype, steps=7)
        tally.compare(device_core, f"no steps {dtype}", short, [0, 0], dtype, steps=3)
        tally.compare(device_core, f"second gradient {dtype}", short, [6, 2, 4], dtype, twice=True)
    wide = RnnSpec("lstm", 2, 128, 64)
    tally.compare(device_core, "H=128", wide, [20] * 16, torch.float32)


def dropout(tally, device_core):
    """The same seed gives the same masks; backward uses forward's, seen along one direction."""
    spec, lengths = RnnSpec("gru", 3, 8, 4), [6, 3, 5]
    arrays = core.random_inputs(spec, 6, 3, torch.float64)
    settings = {"dropout": 0.5}

    def outputs(changed=arrays, seed=11):
        return run(device_core, spec, changed, lengths, torch.float64, seed=seed, **settings)

    first = outputs()
    same = all(np.array_equal(a, b) for a, b in zip(first, outputs()) if a is not None)
    tally.note("dropout: the same seed repeats", same)
    tally.note("dropout: another seed differs", not np.array_equal(first[0], outputs(seed=12)[0]))

    direction = np.random.default_rng(3).standard_normal(arrays[3].shape)
    inside = np.arange(6)[:, None, None] < np.array(lengths)[None, :, None]

    def loss(scale):
        changed = list(arrays)
        changed[3] = arrays[3] + scale * direction
        result = outputs(changed)
        return (result[0] * arrays[4] * inside).sum() + (result[1] * arrays[5]).sum()

    step = 1e-5
    slope = (loss(step) - loss(-step)) / (2 * step)
    error = abs(slope - (first[6] * direction).sum()) / max(1, abs(slope))
    tally.note("dropout: gradient along a direction", error < 1e-7, f"{error:.1e}")


def streams(tally, device_core):
    """Calls that overlap on two streams do not disturb each other."""
    spec, lengths = RnnSpec("lstm", 2, 64, 32), [50] * 8
    arrays = core.random_inputs(spec, 50, 8, torch.float32)
    want = run(device_core, spec, arrays, lengths, torch.float32)
    same = True
    for _ in range(10):
        results = []
        for stream in (torch.cuda.Stream(), torch.cuda.Stream()):
            with torch.cuda.stream(stream):
                results.append(run(device_core, spec, arrays, lengths, torch.float32))
        same &= all(difference(a, b) < 1e-5 for r in results for a, b in zip(r, want))
    tally.note("two streams", same)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--pretend", action="store_true")
    arguments = parser.parse_args()
    if not arguments.pretend:
        if not torch.cuda.is_available():
            sys.exit("no GPU: PyTorch sees none")
        # Makes the context current and loads PyTorch's cuDNN, which the core then takes.
        torch.nn.LSTM(2, 2, device="cuda")(torch.zeros(1, 1, 2, device="cuda"))
    device_core = core.Core(arguments.library, "cpu" if arguments.pretend else "cuda")
    device = "a pretended GPU" if arguments.pretend else torch.cuda.get_device_name()
    print(f"{device}, cuDNN {device_core.cudnn_version()}, torch {torch.__version__}")
    tally = Tally()
    sweep(tally, device_core, tuple(BOUNDS))
    special(tally, device_core, tuple(BOUNDS))
    dropout(tally, device_core)
    if not arguments.pretend:
        streams(tally, device_core)
    print(f"{tally.passed} passed, {tally.failed} failed")
    sys.exit(bool(tally.failed))


if __name__ == "__main__":
    main()
