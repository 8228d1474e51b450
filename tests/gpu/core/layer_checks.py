"""LayerRNN of the GPU core against float64, and its times. Run by run.py.

persistent_checks.py runs the same problems with the other algorithm, and more.
"""

import contextlib
import ctypes
import dataclasses
import functools
import itertools
import pathlib
import statistics
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import launches  # noqa: E402
from checks import TYPES, difference, verdict  # noqa: E402

from support import layer_cases  # noqa: E402
from support.reference.spec import CELLS, GATES  # noqa: E402

MODES = tuple(CELLS)
ACTIVATIONS = ("tanh", "sigmoid", "hard_sigmoid", "hard_sigmoid_keras2", "relu", "linear")
ALGORITHMS = ("steps", "persistent")
FORWARD, BACKWARD = 1, 2  # CorePasses of layer_api.cc
DTYPES = {torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.bfloat16: 3}
# Largest difference relative to the largest element, or to 1. 16-bit types round h, and the gradients of
# gates, at each step.
BOUNDS = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 2e-2, torch.bfloat16: 1.5e-1}
TF32_BOUND = BOUNDS[torch.float16]
ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)
INPUTS = ("x", "h0", "c0", "kernel", "recurrent_kernel", "bias", "projection", "peepholes")
INPUTS += ("layer_norm", "lengths", "input_mask", "recurrent_mask", "seed")
OUTPUTS = ("output", "output_h", "output_c")
GRADIENTS = ("input", "input_h", "input_c", *INPUTS[3:9])


class Problem(ctypes.Structure):
    """Mirrors CoreLayer of layer_api.cc."""

    _fields_ = [
        *[(name, ctypes.c_int32) for name in ("mode", "activation", "recurrent_activation")],
        *[(name, ctypes.c_int32) for name in ("dtype", "training", "time_major", "allow_tf32")],
        ("algorithm", ctypes.c_int32),
        *[(name, ctypes.c_float) for name in ("cell_clip", "proj_clip", "zoneout_h", "zoneout_c")],
        ("layer_norm_epsilon", ctypes.c_float),
        *[(name, ctypes.c_int64) for name in ("max_time", "batch", "input_size", "units", "proj")],
        ("stream", ctypes.c_void_p),
    ]


def addresses(tensors):
    found = [t.data_ptr() if t is not None and t.numel() else None for t in tensors]
    return (ctypes.c_void_p * len(found))(*found)


class Layer:
    """The library's functions, on tensors of one device."""

    def __init__(self, path, device):
        self.library = ctypes.CDLL(str(path))
        self.library.core_layer_message.restype = ctypes.c_char_p
        self.device = device
        self.launches = launches.Launches(self.library, device)

    def check(self, code):
        if code:
            raise RuntimeError(self.library.core_layer_message().decode())

    def empty(self, shape, dtype):
        return torch.full(tuple(shape), float("nan"), dtype=dtype, device=self.device)


class Call:
    """One case with its tensors on the device; `tensors` are INPUTS.

    `algorithms`: of forward and backward.
    """

    def __init__(
        self,
        layer,
        case,
        dtype,
        time_major=True,
        training=True,
        allow_tf32=False,
        algorithms=("steps", "steps"),
    ):
        self.layer, self.case, self.dtype, self.time_major = layer, case, dtype, time_major
        self.algorithms = [ALGORITHMS.index(name) for name in algorithms]
        i = case.inputs
        steps, batch, width = i.x.shape
        units = i.recurrent_kernel.shape[1] // GATES[case.rnn_mode]
        self.problem = Problem(
            MODES.index(case.rnn_mode),
            ACTIVATIONS.index(case.activation),
            ACTIVATIONS.index(case.recurrent_activation),
            DTYPES[dtype],
            training=training,
            time_major=time_major,
            allow_tf32=allow_tf32,
            max_time=steps,
            batch=batch,
            input_size=width,
            units=units,
            proj=0 if i.projection is None else i.projection.shape[1],
        )
        for name in ("cell_clip", "proj_clip", "zoneout_h", "zoneout_c", "layer_norm_epsilon"):
            setattr(self.problem, name, getattr(case, name))
        if layer.device == "cuda":
            self.problem.stream = torch.cuda.current_stream().cuda_stream
        self.tensors = [self._move(name, getattr(i, name)) for name in INPUTS]
        if not case.is_lstm:
            self.tensors[2] = None
        self.upstream = [self.move_sequence(case.dy), self.move(case.dh)]
        self.upstream.append(self.move(case.dc) if case.is_lstm else None)
        bytes_of_reserve = ctypes.c_int64()
        layer.check(
            layer.library.core_layer_reserve(
                ctypes.byref(self.problem), addresses(self.tensors), ctypes.byref(bytes_of_reserve)
            )
        )
        size = bytes_of_reserve.value if training else 1
        self.reserve = torch.full((size,), 255, dtype=torch.uint8, device=layer.device)
        self.outputs = [None if t is None else torch.full_like(t, np.nan) for t in self.upstream]
        self.gradients = [
            None if t is None else torch.full_like(t, np.nan) for t in self.tensors[:9]
        ]

    def move(self, array):
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.layer.device, self.dtype)

    def move_sequence(self, array):
        return self.move(array if self.time_major else array.swapaxes(0, 1))

    def _move(self, name, array):
        if array is None:
            return None
        if name in ("lengths", "seed"):
            number = torch.int32 if name == "lengths" else torch.int64
            return torch.from_numpy(np.asarray(array)).to(self.layer.device, number)
        return self.move_sequence(array) if name == "x" else self.move(array)

    def enqueue(self):
        """Forward and backward. The results are on the device, under the names of LayerCase.reference()."""
        scratch = []

        def allocate(size):
            with contextlib.suppress(torch.OutOfMemoryError):
                scratch.append(torch.empty(size, dtype=torch.uint8, device=self.layer.device))
                return scratch[-1].data_ptr()
            return None

        callback = ALLOCATE(allocate)
        library, problem = self.layer.library, ctypes.byref(self.problem)
        inputs, gradients = addresses(self.tensors), addresses(self.gradients)
        outputs, reserve = addresses(self.outputs), ctypes.c_void_p(self.reserve.data_ptr())
        self.problem.algorithm = self.algorithms[0]
        self.layer.check(library.core_layer_forward(problem, inputs, outputs, reserve, callback))
        self.problem.algorithm = self.algorithms[1]
        self.layer.check(
            library.core_layer_backward(problem, inputs, self.given(), reserve, gradients, callback)
        )
        results = dict(zip(OUTPUTS, self.outputs))
        results.update({f"{n}_backprop": t for n, t in zip(GRADIENTS, self.gradients)})
        return {name: tensor for name, tensor in results.items() if tensor is not None}

    def run(self):
        """The results as float64 arrays, time-major."""
        swapped = () if self.time_major else ("output", "input_backprop")
        arrays = {n: t.double().cpu().numpy() for n, t in self.enqueue().items()}
        return {n: a.swapaxes(0, 1) if n in swapped else a for n, a in arrays.items()}

    def given(self):
        return addresses([self.outputs[0], *self.upstream])

    def seconds(self, scratch, passes, runs):
        """The time of one call. `passes`: FORWARD, BACKWARD or their sum."""
        found = ctypes.c_double()
        self.problem.algorithm = self.algorithms[passes == BACKWARD]
        self.layer.check(
            self.layer.library.core_layer_time(
                ctypes.byref(self.problem),
                addresses(self.tensors),
                addresses(self.outputs),
                self.given(),
                addresses(self.gradients),
                ctypes.c_void_p(self.reserve.data_ptr()),
                ctypes.c_void_p(scratch.data_ptr()),
                ctypes.c_int64(scratch.numel()),
                passes,
                runs,
                ctypes.byref(found),
            )
        )
        return found.value


def compare(layer, case, dtype, **settings):
    """The results against float64, and which persistent kernels ran."""
    layer.launches.forget()
    got = Call(layer, case, dtype, **settings).run()
    right, names = layer.launches.verdict(case, dtype, settings.get("algorithms", ()))
    # Whether an output has reached its limit depends on its rounding.
    narrow = dtype in (torch.float16, torch.bfloat16)
    want = case.reference(output=got["output"] if narrow else None)
    errors = {name: difference(got[name], want[name]) for name in want if name in got}
    tf32 = settings.get("allow_tf32") and dtype == torch.float32
    good, text = verdict(errors, TF32_BOUND if tf32 else BOUNDS[dtype])
    return good and right, f"{text}; {names}"


def avoid_the_limit(case, dtype):
    """Moves the limit of c to where no c is near it.

    The gradients jump where rounding moves a c across the limit.
    """
    first, nearness = case.cell_clip, torch.finfo(dtype).eps / 2
    jumps = {}
    for k in range(20):
        limit = first * (1 + 0.02 * k)
        below, above = (_gradients(case, limit * (1 + s * nearness)) for s in (-1, 1))
        jumps[limit] = max(difference(below[n], above[n]) for n in below)
        if jumps[limit] <= BOUNDS[dtype] / 10:
            break
    case.cell_clip = min(jumps, key=jumps.get)


def _gradients(case, cell_clip):
    return dataclasses.replace(case, cell_clip=cell_clip).reference()


def compare_random(layer, mode, dtype, number, largest, **settings):
    rng = np.random.default_rng(number)
    case = layer_cases.random_layer_case(mode, rng, TYPES[dtype], largest=largest)
    if case.cell_clip > 0 and dtype in (torch.float16, torch.bfloat16):
        avoid_the_limit(case, dtype)
    return compare(layer, case, dtype, **settings)


LARGEST = (9, 33, 40, 70)  # T, B, I, H


def wide_rows(layer, dtype):
    """Layer normalization of more units than a block has threads."""
    rng = np.random.default_rng(0)
    case = layer_cases.layer_case("lstm_layer_norm", (5, 7, 16, 600), rng, TYPES[dtype])
    return compare(layer, case, dtype)


def repeats(layer, mode, dtype):
    """The same call gives the same bits."""
    shape = (20, 32, 64, 256) if layer.device == "cuda" else (3, 4, 5, 6)
    case = layer_cases.layer_case(mode, shape, np.random.default_rng(0), TYPES[dtype])
    first, second = (Call(layer, case, dtype).run() for _ in range(2))
    return all(np.array_equal(first[n], second[n]) for n in first), ""


def random_checks(layer, section, largest=LARGEST, **settings):
    numbers = range(4 if layer.device == "cuda" else 1)
    for mode, dtype, time_major, k in itertools.product(
        layer_cases.MODES, DTYPES, (True, False), numbers
    ):
        yield (
            f"{section} {TYPES[dtype]} {mode} time_major={time_major} {k}",
            functools.partial(
                compare_random, layer, mode, dtype, k, largest, time_major=time_major, **settings
            ),
        )


def layer_checks(layer):
    yield from random_checks(layer, "layers")
    for dtype in (torch.float32, torch.float64):
        yield f"layers {TYPES[dtype]} wide rows", functools.partial(wide_rows, layer, dtype)
    on_gpu = layer.device == "cuda"
    for mode in layer_cases.MODES if on_gpu else ("lstm",):
        arguments = (layer, mode, torch.float32, 9, LARGEST)
        yield (
            f"layers float32 {mode} tf32",
            functools.partial(compare_random, *arguments, allow_tf32=True),
        )
        for dtype in DTYPES:
            yield (
                f"layers {TYPES[dtype]} {mode} repeats",
                functools.partial(repeats, layer, mode, dtype),
            )


# T, B, I, H
TIMED = ((100, 32, 256, 256), (100, 64, 512, 512))
PRETENDED = ((3, 2, 5, 7),)
# The name of a layer, and the arguments of layer_case.
OPTIONS = (
    ("lstm", {}),
    ("lstm recurrent_dropout", {"recurrent_mask": True}),
    ("gru", {}),
    ("gru_reset_before", {}),
    ("rnn", {}),
    ("lstmp", {}),
    ("lstm_layer_norm", {}),
    ("lstm_zoneout", {}),
)


def layer_times(layer):
    """A row of the report for each shape, type and kind of layer."""
    shapes = TIMED if layer.device == "cuda" else PRETENDED
    for shape, dtype, option in itertools.product(shapes, (torch.bfloat16, torch.float32), OPTIONS):
        label = f"layer-times {TYPES[dtype]} {shape} {option[0]}"
        yield label, functools.partial(time_layer, layer, shape, dtype, option)


def time_layer(layer, shape, dtype, option, runs=5, repeats=5):
    name, arguments = option
    given = {"input_mask": False, "recurrent_mask": False, "lengths": None, **arguments}
    case = layer_cases.layer_case(
        name.split()[0], shape, np.random.default_rng(0), TYPES[dtype], **given
    )
    size = 2**30 if layer.device == "cuda" else 2**26
    scratch = torch.empty(size, dtype=torch.uint8, device=layer.device)
    cells = [TYPES[dtype], ", ".join(map(str, shape)), name]
    for training in (False, True):
        call = Call(layer, case, dtype, training=training)
        passes = FORWARD + BACKWARD * training
        call.seconds(scratch, passes, 1)  # the warm-up
        found = statistics.median(call.seconds(scratch, passes, runs) for _ in range(repeats))
        cells.append(f"{found * 1e6 / shape[0]:.2f}")
    return True, "| " + " | ".join(cells) + " |"
