#!/usr/bin/env python3
"""The handlers of XLA's FFI on a GPU, called by JAX or TensorFlow, against float64 references.

    python3 tests/gpu/ffi/run.py [--engine jax] [--library OUT/libgpu_ffi.so] [--every N]

Builds the library where --library is not there yet. Prints a line for each group of checks and each
failure, then how many passed. With --pretend, device memory is host memory, for a mock driver, cuDNN and
cuBLAS, and XLA on the CPU.
"""

import argparse
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
sys.path.insert(0, str(ROOT / "tests"))

import library as libraries  # noqa: E402
from ffi_layers import layer_checks  # noqa: E402

from support.reference import block_lstm, layout  # noqa: E402
from support.reference import rnn as reference  # noqa: E402
from support.reference.spec import RnnSpec  # noqa: E402

# Largest difference relative to the largest element, or to 1.
BOUNDS = {"float64": 1e-11, "float32": 2e-5, "float16": 2e-2, "bfloat16": 1.5e-1}
# The bound for float32 if rows of one length may use a persistent kernel, as in tests/gpu/core. The tanh
# of these kernels is up to 7.2e-6 off, and a step carries the errors of earlier steps.
PERSISTENT_BOUND = 6e-5
MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
NAMES = ("output", "output_h", "output_c", "dx", "dh0", "dc0", "dparams")
LENGTHS = {"full": [6, 6, 6], "mixed": [2, 6, 4], "empty rows": [3, 0, 6]}


def difference(actual, expected):
    actual = actual.astype(np.float64)
    if actual.shape != expected.shape or not np.isfinite(actual).all():
        return float("inf")
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    return float(np.abs(actual - expected).max(initial=0)) / scale


class Checks:
    """The groups of checks; each check gives an error as a share of its bound."""

    bounds = BOUNDS
    difference = staticmethod(difference)

    def __init__(self, library, engine):
        self.library, self.engine = library, engine
        self.passed, self.failed, self.worst = 0, 0, 0.0

    def group(self, title, checks):
        """Runs checks: pairs of a label and a function that returns a share of the bound."""
        start, passed, failed, self.worst = time.monotonic(), 0, 0, 0.0
        for label, check in checks:
            try:
                share = check()
            except Exception as error:  # noqa: BLE001  (the others shall run)
                share, label = float("inf"), f"{label}: {type(error).__name__}: {error}"
            if share <= 1:
                passed += 1
                self.worst = max(self.worst, share)
            else:
                failed += 1
                print(f"FAIL {title}: {label[:600]} ({share:.2g} of the bound)", flush=True)
        self.passed += passed
        self.failed += failed
        seconds = time.monotonic() - start
        print(
            f"{title}: {passed} passed, {failed} failed, worst {self.worst:.2g} of the bound, "
            f"{seconds:.1f} s",
            flush=True,
        )

    # ---- The CudnnRNN family ----

    def stack(self, spec, lengths, dtype, *, time_major=True, steps=None, known=True, **settings):
        """Forward and backward of a problem: all results, and what they should be."""
        problem = Stack(spec, lengths, libraries.DTYPES[dtype], time_major, steps, known)
        problem.attrs.update(settings)
        outputs = problem.forward(self)
        return problem, outputs, problem.backward(self, outputs)

    def compare(self, spec, lengths, dtype, **settings):
        problem, outputs, gradients = self.stack(spec, lengths, dtype, **settings)
        return self.share(problem, outputs, gradients)

    @staticmethod
    def share(problem, outputs, gradients):
        spec, lengths, dtype = problem.spec, problem.lengths, problem.dtype.name
        want = problem.expected()
        errors = [
            difference(problem.time_major_of(a), e)
            for a, e in zip([*outputs[:3], *gradients], want)
            if e is not None
        ]
        if not spec.is_lstm:
            errors += [float(np.abs(outputs[2])), float(np.abs(gradients[2]))]
        persistent = dtype == "float32" and len(set(lengths)) == 1
        return max(errors) / (PERSISTENT_BOUND if persistent else BOUNDS[dtype])

    def compiled_elsewhere(self, lengths):
        """With the larger reserve space of a program whose compiler asked another cuDNN."""
        spec = RnnSpec("lstm", 1, 5, 4, "bidirectional")
        problem = Stack(spec, lengths, libraries.DTYPES["float32"], True, 6, True)
        size = self.library.reserve_size(spec, 6, len(lengths), problem.dtype, True, 0.0)
        problem.reserve_size = size + 256
        outputs = problem.forward(self)
        return self.share(problem, outputs, problem.backward(self, outputs))

    def inference(self, spec, lengths, dtype):
        problem = Stack(spec, lengths, libraries.DTYPES[dtype], True, None, True)
        problem.attrs["is_training"] = False
        outputs = problem.forward(self)
        want = problem.expected()
        errors = [difference(outputs[0], want[0]), float(np.abs(outputs[3].astype(np.float64)))]
        packed = problem.forward(self, "CudnnRNNV3Packed")
        return max(*errors, difference(packed[0], want[0])) / BOUNDS[dtype]

    def sweep(self, every):
        products = itertools.product(
            MODES,
            ("unidirectional", "bidirectional"),
            (1, 2),
            LENGTHS.items(),
            (True, False),
            (True, False),
            libraries.DTYPES,
        )
        for k, (mode, direction, layers, named, time_major, known, dtype) in enumerate(products):
            if k % every:
                continue
            spec = RnnSpec(mode, layers, 5, 4, direction)
            name, lengths = named
            label = f"{mode} {direction} L={layers} {name} time_major={time_major} known={known}"
            yield (
                f"{label} {dtype}",
                lambda s=spec, n=lengths, d=dtype, t=time_major, w=known: self.compare(
                    s, n, d, time_major=t, known=w
                ),
            )

    def special(self):
        projecting = RnnSpec("lstm", 2, 5, 4, "bidirectional", num_proj=3)
        skipping = RnnSpec("gru", 2, 5, 5, input_mode="skip_input")
        short = RnnSpec("lstm", 1, 5, 4, "bidirectional")
        yield "projection", lambda: self.compare(projecting, [6, 2, 4], "float32")
        yield "skip_input", lambda: self.compare(skipping, [6, 2, 4], "float32")
        yield "longer than any row", lambda: self.compare(short, [3, 1, 2], "float64", steps=7)
        yield "no steps", lambda: self.compare(short, [0, 0], "float32", steps=3)
        yield "no time", lambda: self.compare(short, [0, 0], "float32", steps=0)
        yield "no rows", lambda: self.compare(short, [], "float32", steps=3)
        for lengths in ([6, 2, 4], [0, 0]):
            yield (
                f"compiled elsewhere {lengths}",
                lambda n=lengths: self.compiled_elsewhere(n),
            )
        yield "inference", lambda: self.inference(short, [6, 2, 4], "float32")
        # Where the heuristic takes each of its pairs of algorithms, of full and of other rows.
        for units, lengths in itertools.product((128, 160, 320), ([8] * 4, [8, 3, 1, 8])):
            for mode in ("lstm", "rnn_tanh"):
                spec = RnnSpec(mode, 2, units, 32)
                yield (
                    f"{mode} H={units} {lengths}",
                    lambda s=spec, n=lengths: self.compare(s, n, "float32"),
                )

    # ---- Dropout ----

    def dropped(self, op, seed, params=None):
        problem = Stack(RnnSpec("gru", 3, 8, 4), [6, 3, 5], np.dtype(np.float64), True, None, True)
        problem.attrs.update(dropout=0.5)
        if op == "CudnnRNNV3":
            problem.attrs.update(seed=seed, seed2=0, call_site=seed)
        else:
            problem.seed = np.array([seed, 1], np.int64)
        if params is not None:
            problem.inputs[3] = params
        outputs = problem.forward(self, op)
        return problem, outputs, problem.backward(self, outputs)

    def dropout(self):
        def repeats():
            first, second = (self.dropped("StatelessCudnnRNNV3", 11) for _ in range(2))
            same = all(map(np.array_equal, first[1][:3], second[1][:3]))
            return 0 if same and all(map(np.array_equal, first[2], second[2])) else 2

        def differs(op, seeds):
            first, second = (self.dropped(op, seed)[1][0] for seed in seeds)
            return 2 if np.array_equal(first, second) else 0

        def gradient():
            """Along a direction: so the masks of backward are those of forward."""
            op = "StatelessCudnnRNNV3"
            problem, _, gradients = self.dropped(op, 7)
            params = problem.inputs[3]
            direction = np.random.default_rng(3).standard_normal(params.shape)
            inside = np.arange(6)[:, None, None] < np.array(problem.lengths)[None, :, None]

            def loss(scale):
                _, outputs, _ = self.dropped(op, 7, params + scale * direction)
                dy, dh_n, _ = problem.gradients
                return (outputs[0] * dy * inside).sum() + (outputs[1] * dh_n).sum()

            slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
            error = abs(slope - (gradients[3] * direction).sum()) / max(1, abs(slope))
            return error / 1e-7

        yield "the same seed repeats", repeats
        yield "another seed differs", lambda: differs("StatelessCudnnRNNV3", (11, 12))
        yield "each call of a call site differs", lambda: differs("CudnnRNNV3", (5, 5))
        yield "gradient along a direction", gradient

    # ---- BlockLSTM ----

    def block(self, shape, steps, dtype, known, use_peephole, cell_clip):
        time, batch, width, units = shape
        dtype = libraries.DTYPES[dtype]
        rng = np.random.default_rng(0)

        def draw(*dims, size=1.0):
            return rng.uniform(-size, size, dims).astype(dtype).astype(np.float64)

        weight = 1.5 / np.sqrt(width + units)
        inputs = [draw(time, batch, width), draw(batch, units), draw(batch, units)]
        inputs += [draw(width + units, 4 * units, size=weight), *(draw(units) for _ in range(3))]
        inputs.append(draw(4 * units, size=weight))
        gradients = [draw(time, batch, units), draw(time, batch, units)]
        for array in (inputs[0], *gradients):
            array[steps:] = np.nan  # nobody may read it
        attrs = {"use_peephole": use_peephole, "allow_tf32": False}
        if known:
            attrs["seq_len_max"] = np.array([steps], np.int64)
        given = [np.int64(steps), *(a.astype(dtype) for a in inputs)]
        outputs = self.engine.call(
            "BlockLSTMV2",
            given,
            [((time, batch, units), dtype)] * 7,
            {**attrs, "cell_clip": cell_clip},
        )
        found = self.engine.call(
            "BlockLSTMGradV2",
            [*given, *outputs, *(a.astype(dtype) for a in gradients)],
            [(a.shape, dtype) for a in inputs],
            attrs,
        )
        inputs = block_lstm.BlockLstmInputs(*inputs)
        forward = block_lstm.forward(inputs, steps, cell_clip, use_peephole)
        backward = block_lstm.backward(inputs, forward, *gradients, steps, use_peephole)
        errors = [difference(a, forward[n]) for n, a in zip(block_lstm.FORWARD_NAMES, outputs)]
        errors += [difference(a, backward[n]) for n, a in zip(block_lstm.GRAD_NAMES, found)]
        return max(errors) / BOUNDS[dtype.name]

    def block_sweep(self, every):
        shapes = ((1, 1, 1, 1), (3, 2, 5, 7), (6, 13, 17, 31), (0, 3, 4, 5), (3, 0, 4, 5))
        products = itertools.product(shapes, libraries.DTYPES, (True, False), (0.0, 0.5))
        for k, (shape, dtype, peephole, clip) in enumerate(products):
            if k % every:
                continue
            for steps in sorted({0, shape[0] // 2, shape[0]}):
                arguments = (shape, steps, dtype, bool(k % 2), peephole, clip)
                yield str(arguments), lambda a=arguments: self.block(*a)

    # ---- Errors ----

    def refused(self, text, change, op="CudnnRNNV3"):
        """A call that `change` makes wrong raises an error with this text."""
        problem = Stack(RnnSpec("lstm", 1, 4, 3), [3, 2], np.dtype(np.float32), True, None, False)
        if op == "CudnnRNNV3":
            change(problem)
            run = problem.forward
        else:
            outputs = problem.forward(self)
            change(problem)

            def run(checks):
                return problem.backward(checks, outputs)

        try:
            run(self)
        except Exception as error:  # noqa: BLE001  (each engine has its own)
            if text in str(error):
                return 0
            print(f"the error is: {error}")
            return 2
        return 2

    def errors(self):
        def lengths(problem):
            problem.lengths = [4, 2]

        def known(problem):
            problem.attrs["sequence_lengths"] = np.array([3, 2, 1], np.int32)

        def small(problem):
            problem.reserve_size = 8

        def tf32(problem):
            del problem.attrs["allow_tf32"]

        def states(problem):
            problem.inputs[1] = problem.inputs[1][:, :, :3]

        yield "a length", lambda: self.refused("sequence_lengths", lengths)
        yield "lengths known otherwise", lambda: self.refused("sequence_lengths must have", known)
        yield "reserve_space", lambda: self.refused("reserve_space must have at least", small)
        yield "no allow_tf32", lambda: self.refused("allow_tf32 is missing", tf32)
        yield "shape", lambda: self.refused("must have shape", states)
        yield (
            "reserve_space of another size",
            lambda: self.refused("reserve_space must be the output", small, "CudnnRNNBackpropV3"),
        )


class Stack:
    """One problem of the CudnnRNN family."""

    def __init__(self, spec, lengths, dtype, time_major, steps, known):
        self.spec, self.lengths, self.dtype, self.time_major = spec, lengths, dtype, time_major
        self.steps = max(lengths) if steps is None else steps
        self.batch = len(lengths)
        self.seed = self.reserve_size = None
        rng = np.random.default_rng(0)

        def draw(*shape, size=0.8):
            return rng.uniform(-size, size, shape).astype(dtype).astype(np.float64)

        states = (spec.state_rows, self.batch)
        weight = min(0.8, 2.0 / np.sqrt(spec.units + spec.input_size))

        def draw_c():
            return draw(*states, spec.units) if spec.is_lstm else np.zeros(())

        self.inputs = [
            draw(self.steps, self.batch, spec.input_size),
            draw(*states, spec.output_units),
            draw_c(),
            draw(layout.params_size(spec), size=weight),
        ]
        self.gradients = [
            draw(self.steps, self.batch, spec.output_size),
            draw(*states, spec.output_units),
            draw_c(),
        ]
        self.attrs = {
            **spec.attrs(),
            "dropout": 0.0,
            "seed": 0,
            "seed2": 0,
            "call_site": 0,
            "is_training": True,
            "time_major": time_major,
            "allow_tf32": False,
        }
        if known:
            self.attrs["sequence_lengths"] = np.array(lengths, np.int32)

    def time_major_of(self, array):
        return array if self.time_major or array.ndim < 3 else array.swapaxes(0, 1)

    def _given(self, arrays):
        return [self.time_major_of(np.asarray(a)).astype(self.dtype) for a in arrays]

    def _shapes(self, arrays):
        return [(a.shape, self.dtype) for a in self._given(arrays)]

    def _attrs(self, without):
        return {n: v for n, v in self.attrs.items() if n not in without}

    def forward(self, checks, op="CudnnRNNV3"):
        """The results of the op, with reserve_space unchanged."""
        arguments = [*self._given(self.inputs), np.array(self.lengths, np.int32)]
        training = self.attrs["is_training"]
        size = self.reserve_size
        if training and size is None:
            size = checks.library.reserve_size(
                self.spec, self.steps, self.batch, self.dtype, self.time_major,
                self.attrs["dropout"],
            )  # fmt: skip
        y, h, c = self._shapes(self.gradients)
        results = [y, h, c, ((size,) if training else (), self.dtype), ((), np.dtype(np.int8))]
        without = ()
        if op == "StatelessCudnnRNNV3":
            arguments.append(self.seed)
            without = ("seed", "seed2", "is_training", "call_site")
        if op == "CudnnRNNV3Packed":
            arguments.append(np.zeros(0, np.uint8))
            results = results[:3]
            without = ("seed", "seed2", "is_training", "call_site", "dropout")
        return checks.engine.call(op, arguments, results, self._attrs(without))

    def backward(self, checks, outputs):
        reserve_space = outputs[3]
        if self.reserve_size is not None:
            reserve_space = reserve_space[: self.reserve_size]
        arguments = [*self._given(self.inputs), np.array(self.lengths, np.int32), *outputs[:3]]
        arguments += [*self._given(self.gradients), reserve_space, outputs[4]]
        results = self._shapes(self.inputs)
        attrs = self._attrs(("is_training", "call_site"))
        return checks.engine.call("CudnnRNNBackpropV3", arguments, results, attrs)

    def expected(self):
        x, h0, c0, params = self.inputs
        dy, dh, dc = self.gradients
        c0, dc = (c0, dc) if self.spec.is_lstm else (None, None)
        lengths = np.asarray(self.lengths, np.int64)
        if self.batch == 0 or self.steps == 0:
            return self._untouched()
        forward = reference.forward(self.spec, x, h0, c0, params, lengths)
        # Gradients beyond a row's end count for nothing.
        inside = np.arange(self.steps)[:, None, None] < lengths[None, :, None]
        backward = reference.backward(
            self.spec, params, forward.tape, np.where(inside, dy, 0.0), dh, dc
        )
        return (
            forward.output,
            forward.output_h,
            forward.output_c,
            backward.input,
            backward.input_h,
            backward.input_c,
            backward.params,
        )

    def _untouched(self):
        """Without steps: the states pass, and the gradients of x and of the parameters are zero."""
        x, h0, c0, params = self.inputs
        dy, dh, dc = self.gradients
        lstm = self.spec.is_lstm
        return (
            np.zeros_like(dy),
            h0,
            c0 if lstm else None,
            np.zeros_like(x),
            dh,
            dc if lstm else None,
            np.zeros_like(params),
        )


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
    checks = Checks(library, engine)
    checks.group("errors", checks.errors())
    checks.group("special", checks.special())
    checks.group("dropout", checks.dropout())
    os.environ["TF_RNN_OPS_GPU_ALGO"] = "cudnn"  # read at each call
    checks.group("stacks", checks.sweep(arguments.every))
    checks.group("block", checks.block_sweep(arguments.every))
    checks.group("layers", layer_checks(checks, arguments.every))
    os.environ["TF_RNN_OPS_GPU_ALGO"] = "persistent"
    checks.group("layers in persistent kernels", layer_checks(checks, arguments.every))
    checks.group("dropout without cuDNN", checks.dropout())
    checks.group("stacks in persistent kernels", checks.sweep(arguments.every))
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
