#!/usr/bin/env python3
"""The handlers of XLA's FFI on a GPU, called by JAX or TensorFlow, against float64 references.

    python3 tests/gpu/ffi/run.py [--engine jax] [--library OUT/libgpu_ffi.so] [--every N]

Builds the library where --library is not there yet. Prints a line for each group of checks and each
failure, then how many passed. With --pretend, device memory is host memory, for a mock driver, cuDNN and
cuBLAS, and XLA on the CPU.
"""

import argparse
import functools
import importlib.util
import itertools
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[1:1] = [str(ROOT / "tests"), str(HERE.parent / "core")]

import backend  # noqa: E402
import library as libraries  # noqa: E402
import problems  # noqa: E402

from support import layer_cases  # noqa: E402
from support.reference.spec import RnnSpec  # noqa: E402

SHORT = RnnSpec("lstm", 1, 5, 4, "bidirectional")
LAYER_SHAPE = (5, 3, 4, 6)
# kOtherSizes in cc/core/op/shapes.h.
OTHER_SIZES = np.iinfo(np.int32).min


class Checks:
    """Runs groups of checks of problems.py and counts them."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def group(self, title, checks):
        start, passed, failed, worst = time.monotonic(), 0, 0, 0.0
        for label, check in checks:
            try:
                good, text = check()
            except Exception as error:  # noqa: BLE001  (the others shall run)
                good, text = False, f"{type(error).__name__}: {error}"
            passed, failed = passed + good, failed + (not good)
            share, _, rest = text.partition(" of the bound")
            if good and rest:
                worst = max(worst, float(share))
            if not good:
                print(f"FAIL {title}: {label} {text[:600]}", flush=True)
        self.passed += passed
        self.failed += failed
        seconds = time.monotonic() - start
        print(
            f"{title}: {passed} passed, {failed} failed, worst {worst:.2g} of the bound, "
            f"{seconds:.1f} s",
            flush=True,
        )


def every(checks, step):
    return itertools.islice(checks, 0, None, step)


# ---- The CudnnRNN family ----


def compare(ffi, spec, lengths, dtype, **settings):
    # Rows of one length may use a persistent kernel.
    algo = "heuristic" if len(set(lengths)) == 1 else "ragged"
    return problems.compare_stack(ffi, spec, lengths, dtype, algo=algo, **settings)


def sweep(ffi):
    for label, spec, name, time_major in problems.stack_sweep():
        for known, dtype in itertools.product((True, False), libraries.DTYPES):
            settings = {"time_major": time_major, "known": known}
            check = functools.partial(compare, ffi, spec, problems.LENGTHS[name], dtype, **settings)
            yield f"{label} known={known} {dtype}", check


def compiled_elsewhere(ffi, lengths):
    """With the larger reserve space of a program whose compiler asked another cuDNN."""
    size = ffi.library.reserve_size(SHORT, 6, len(lengths), np.dtype(np.float32), True, 0.0)
    return compare(ffi, SHORT, lengths, "float32", steps=6, reserve_size=size + 256)


def inference(ffi, spec, lengths, dtype):
    """In inference, with and without packed weights, the reserve space is empty."""
    arrays = problems.stack_inputs(spec, max(lengths), len(lengths), dtype)
    want, errors = problems.stack_expected(spec, arrays, lengths), {}
    for op in ("CudnnRNNV3", "CudnnRNNV3Packed"):
        outputs = ffi.stack_forward(spec, arrays, lengths, dtype, op=op, is_training=False)
        errors[op] = problems.difference(outputs[0], want[0])
        if op == "CudnnRNNV3":
            errors["reserve_space"] = float(np.abs(outputs[3].astype(np.float64)))
    return problems.verdict(errors, problems.bound_of("stack", dtype, "ragged"))


def special(ffi):
    def check(spec, lengths, **settings):
        return functools.partial(compare, ffi, spec, lengths, "float32", **settings)

    yield from problems.stack_special(check)
    for lengths in ([6, 2, 4], [0, 0]):
        check_size = functools.partial(compiled_elsewhere, ffi, lengths)
        yield f"compiled elsewhere {lengths}", check_size
    yield "inference", functools.partial(inference, ffi, SHORT, [6, 2, 4], "float32")
    # Where the heuristic takes each of its pairs of algorithms, of full and of other rows.
    for units, lengths in itertools.product((128, 160, 320), ([8] * 4, [8, 3, 1, 8])):
        for mode in ("lstm", "rnn_tanh"):
            yield f"{mode} H={units} {lengths}", check(RnnSpec(mode, 2, units, 32), lengths)


def dropout(ffi):
    yield from problems.dropout_checks(ffi)

    def call_sites():
        spec, lengths = RnnSpec("gru", 3, 8, 4), [6, 3, 5]
        arrays = problems.stack_inputs(spec, 6, 3, "float64")
        attrs = {"dropout": 0.5, "seed": 5, "seed2": 0, "call_site": 5}
        first, second = (
            ffi.stack_forward(spec, arrays, lengths, "float64", **attrs)[0] for _ in range(2)
        )
        return not np.array_equal(first, second), ""

    yield "each call of a call site differs", call_sites


# ---- BlockLSTM ----


def block_sweep(ffi):
    for k, (label, shape, steps, dtype, settings) in enumerate(problems.block_sweep()):
        known = bool(k % 2)
        check = functools.partial(
            problems.compare_block, ffi, shape, steps, dtype, known=known, **settings
        )
        yield f"{label} known={known}", check


# ---- LayerRNN ----


def padded(ffi, case, rows, steps):
    """The results of the rows and steps of the case are those of the case, and the padding gives zeros."""
    got = ffi.layer(backend.padded(case, rows, steps))
    steps_of, rows_of = case.inputs.x.shape[:2]
    for name in ("output", "input_backprop"):
        if np.any(got[name][steps_of:]) or np.any(got[name][:, rows_of:]):
            return False, f"{name} is not 0 in the padding"
        got[name] = got[name][:steps_of, :rows_of]
    for name in ("output_h", "output_c", "input_h_backprop", "input_c_backprop"):
        if name in got:
            got[name] = got[name][:rows_of]
    return problems.layer_verdict(case, got)


def other_sizes(ffi, case):
    """Lengths that say that the sizes of the arguments differ: every result is NaN."""
    got = ffi.layer(
        backend.with_inputs(case, lengths=np.full(LAYER_SHAPE[1], OTHER_SIZES, np.int32))
    )
    return all(np.isnan(array).all() for array in got.values()), ""


def layer_inference(ffi, case):
    """The op in inference, with and without packed weights, gives the outputs of training."""
    call = backend.Layer(ffi, case)
    got, packed = (call.named(o) for o in (call.forward(training=False), call.packed()))
    if any(got[name].tobytes() != packed[name].tobytes() for name in packed):
        return False, "packed weights give other bits"
    return problems.layer_verdict(case, got)


def wrong_reserve(ffi, case, of_gradient):
    """A reserve space of a wrong size raises an error with both sizes."""
    call = backend.Layer(ffi, case)
    size = ffi.library.layer_reserve_size(case, call.dtype)

    def run():
        if not of_gradient:
            return call.forward(reserve_size=size - 1)
        outputs = call.forward()
        return call.backward([*outputs[:3], outputs[3][:-1]])

    texts = (f"reserve_space must be the vector of {size} elements", f"[{size - 1}]")
    return raises(run, *texts)


def plain_layer(mode):
    none = {"input_mask": False, "recurrent_mask": False, "lengths": None, "seed": False}
    return layer_cases.layer_case(mode, LAYER_SHAPE, np.random.default_rng(3), "float32", **none)


def layers(ffi, step):
    products = itertools.product(layer_cases.MODES, libraries.DTYPES, (True, False), range(2))
    for mode, dtype, time_major, number in every(products, step):
        case = problems.random_layer(mode, dtype, number)
        check = functools.partial(problems.compare_layer, ffi, case, time_major=time_major)
        yield str(case), check
    for mode in layer_cases.MODES:
        # No seed, because what zoneout draws depends on the size of the batch.
        rng = np.random.default_rng(1)
        case = layer_cases.layer_case(mode, LAYER_SHAPE, rng, "float32", seed=False)
        for rows, steps in ((2, 0), (0, 3), (2, 3)):
            label = f"{mode} padded by {rows} rows and {steps} steps"
            yield label, functools.partial(padded, ffi, case, rows, steps)
        full = plain_layer(mode)
        yield f"{mode} padded, full", functools.partial(padded, ffi, full, 1, 1)
        yield f"{mode} other sizes", functools.partial(other_sizes, ffi, full)
        yield f"{mode} inference", functools.partial(layer_inference, ffi, full)
    for of_gradient in (True, False):
        check = functools.partial(wrong_reserve, ffi, plain_layer("lstm"), of_gradient)
        yield f"reserve_space of_gradient={of_gradient}", check


# ---- Errors ----


def raises(run, *texts):
    """Whether a call raises an error with these texts."""
    try:
        run()
    except Exception as error:  # noqa: BLE001  (each engine has its own)
        return all(text in str(error) for text in texts), f"the error is: {error}"
    return False, "no error"


def errors(ffi):
    spec, lengths = RnnSpec("lstm", 1, 4, 3), [3, 2]
    arrays = problems.stack_inputs(spec, 3, 2, "float32")
    states = (arrays[0], arrays[1][:, :, :3], *arrays[2:])

    def forward(arrays=arrays, lengths=lengths, **settings):
        return ffi.stack_forward(spec, arrays, lengths, "float32", known=False, **settings)

    def backward():
        outputs = forward()
        short = [*outputs[:3], outputs[3][:8], outputs[4]]
        return ffi.stack_backward(spec, arrays, lengths, "float32", short, known=False)

    known = {"sequence_lengths": np.array([3, 2, 1], np.int32)}
    for label, run, text in (
        ("a length", lambda: forward(lengths=[4, 2]), "sequence_lengths"),
        ("lengths known otherwise", lambda: forward(**known), "sequence_lengths must have"),
        ("reserve_space", lambda: forward(reserve_size=8), "reserve_space must have at least"),
        ("no allow_tf32", lambda: forward(without=("allow_tf32",)), "allow_tf32 is missing"),
        ("shape", lambda: forward(arrays=states), "must have shape"),
        ("reserve_space of another size", backward, "reserve_space must be the output"),
    ):
        yield label, functools.partial(raises, run, text)


def headers():
    """A folder with XLA's headers."""
    for package in ("tensorflow", "jaxlib"):
        found = importlib.util.find_spec(package)
        if found is not None and found.origin is not None:
            return pathlib.Path(found.origin).parent / "include"
    raise SystemExit("neither TensorFlow nor jaxlib, which have XLA's headers, is installed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--engine",
        choices=("jax", "tensorflow"),
        default="jax",
        help="the framework whose XLA calls the handlers (default: %(default)s)",
    )
    parser.add_argument(
        "--library",
        type=pathlib.Path,
        default=ROOT / "build/gpu_ffi/libgpu_ffi.so",
        help="the library of the handlers, which is built if the file does not exist (default: %(default)s)",
    )
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="run every Nth check of the sweeps, for an odd N (default: %(default)s)",
    )
    parser.add_argument("--pretend", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.library.exists():
        out = arguments.library.parent
        subprocess.run(["bash", HERE / "build.sh", out, headers()], check=True)
    library = libraries.Library(arguments.library, arguments.pretend)
    engine = {"jax": libraries.Jax, "tensorflow": libraries.TensorFlow}[arguments.engine](library)
    print(engine.name, flush=True)
    checks, ffi = Checks(), backend.Ffi(library, engine)
    checks.group("errors", errors(ffi))
    checks.group("special", special(ffi))
    checks.group("dropout", dropout(ffi))
    os.environ["TF_RNN_OPS_GPU_ALGO"] = "cudnn"  # read at each call
    checks.group("stacks", every(sweep(ffi), arguments.every))
    checks.group("block", every(block_sweep(ffi), arguments.every))
    checks.group("layers", layers(ffi, arguments.every))
    os.environ["TF_RNN_OPS_GPU_ALGO"] = "persistent"
    checks.group("layers in persistent kernels", layers(ffi, arguments.every))
    checks.group("dropout without cuDNN", dropout(ffi))
    checks.group("stacks in persistent kernels", every(sweep(ffi), arguments.every))
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
