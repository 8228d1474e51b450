"""The stacks of the GPU core against float64 references. Run by run.py.

A check is a label and a function that returns whether the result is good and a text. The text of
a comparison begins with its error as a share of its bound, which the report collects.
"""

import concurrent.futures
import ctypes
import functools
import itertools
import os

import core
import numpy as np
import torch

from support.reference import layout
from support.reference import rnn as reference
from support.reference.spec import RnnSpec

# Largest difference relative to the largest element, or to 1. cuDNN keeps 16-bit types between
# steps, so they are coarse. float32 is what persistent kernels reach, whose tanh is up to 7.2e-6 off
# (`stack activations`); a step carries the errors of those before it.
BOUNDS = {torch.float64: 1e-11, torch.float32: 6e-5, torch.float16: 2e-2, torch.bfloat16: 1.5e-1}
EXACT_BOUNDS = {"standard": 5e-6, "steps": 1e-5, "persistent": 1e-5}  # of float32, by algorithm
TYPES = {torch.float32: "float32", torch.float16: "float16"}
TYPES.update({torch.bfloat16: "bfloat16", torch.float64: "float64"})
# The errors of tanh and sigmoid in float32. cuDNN's persistent kernels compute them less accurately than
# STANDARD.
ACTIVATION_BOUND = 1e-5
NAMES = ("y", "h_n", "c_n", "dx", "dh0", "dc0", "dparams")


def difference(actual, expected):
    if expected is None:
        return 0.0
    if actual.shape != expected.shape or not np.isfinite(actual).all():
        return float("inf")
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    return float(np.abs(actual - expected).max(initial=0)) / scale


def verdict(errors, bound):
    """Whether the largest of the errors, by name, is within the bound, and the text that says so."""
    worst = max(errors, key=errors.get)
    text = " ".join(f"{name} {error:.1e}" for name, error in errors.items())
    return errors[worst] <= bound, f"{errors[worst] / bound:.2g} of the bound; {text}"


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
    arrays = inputs(spec, steps, len(lengths), dtype)
    want = expected(spec, arrays, lengths)
    if padding is not None:
        beyond = np.arange(steps)[:, None, None] >= np.asarray(lengths)[None, :, None]
        filled = [np.where(beyond, padding, arrays[k]) for k in (0, 4)]
        arrays = (filled[0], *arrays[1:4], filled[1], *arrays[5:])
    actual = run(device_core, spec, arrays, lengths, dtype, **settings)
    errors = {n: difference(a, e) for n, a, e in zip(NAMES, actual, want)}
    exact = EXACT_BOUNDS.get(settings.get("algo")) if dtype == torch.float32 else None
    return verdict(errors, exact or BOUNDS[dtype])


def inputs(spec, steps, batch, dtype):
    """As core.random_inputs(). For ReLU in 16 bits no gate is near 0: rounding would turn slopes."""
    if spec.rnn_mode != "rnn_relu" or dtype not in (torch.float16, torch.bfloat16):
        return core.random_inputs(spec, steps, batch, dtype, weight=weight_of(spec))
    # Sums have a standard deviation of about 0.1, biases are 1 or -1.
    weight = 0.2 / np.sqrt(2 * spec.units + spec.input_size)
    arrays = list(core.random_inputs(spec, steps, batch, dtype, weight=weight))
    weights = layout.unpack(spec, arrays[3])
    for cell in weights:
        cell.bw[:] = np.where(cell.bw < 0, -1.0, 1.0)
    arrays[3] = layout.pack(spec, weights)
    return tuple(arrays)


def weight_of(spec):
    """The size of weights that keeps gates and gradients of order 1."""
    return min(0.8, 2.0 / np.sqrt(spec.units + spec.input_size))


LENGTHS = {"full": [6, 6, 6], "mixed": [2, 6, 4], "empty rows": [3, 0, 6]}
# Rows of one length may take a persistent kernel; any others always run as STANDARD.
ALGOS = {"full": ("heuristic", "standard"), "mixed": ("standard",), "empty rows": ("standard",)}


def sweep(check, algos=ALGOS):
    for mode, direction, layers, (name, lengths), time_major in itertools.product(
        core.MODES,
        ("unidirectional", "bidirectional"),
        (1, 2),
        LENGTHS.items(),
        (True, False),
    ):
        spec = RnnSpec(mode, layers, 5, 4, direction)
        for algo in algos[name]:
            label = f"{mode} {direction} L={layers} {name} time_major={time_major} {algo}"
            yield label, check(spec, lengths, time_major=time_major, algo=algo)


def special(check):
    projecting = RnnSpec("lstm", 2, 5, 4, "bidirectional", num_proj=3)
    yield "projection", check(projecting, [6, 2, 4])
    skipping = RnnSpec("gru", 2, 5, 5, input_mode="skip_input")
    yield "skip_input", check(skipping, [6, 2, 4])
    short = RnnSpec("lstm", 1, 5, 4, "bidirectional")
    yield "longer than any row", check(short, [3, 1, 2], steps=7)
    for time_major in (True, False):
        label = f"rows shorter than T, time_major={time_major}"
        yield label, check(short, [4, 4, 4], steps=7, time_major=time_major, padding=np.nan)
    yield "no steps", check(short, [0, 0], steps=3)
    yield "second gradient", check(short, [6, 2, 4], twice=True)
    yield "NaN in the padding", check(short, [6, 2, 4], padding=np.nan)


def algorithms(check):
    """Sizes at which the heuristic takes each of its pairs of algorithms."""
    sizes = (("lstm", 128), ("lstm", 160), ("gru", 160), ("rnn_tanh", 320))
    for (mode, units), layers, algo in itertools.product(sizes, (1, 2), ("small_h", "heuristic")):
        spec = RnnSpec(mode, layers, units, 32)
        yield f"{algo} {mode} H={units} L={layers}", check(spec, [8] * 4, algo=algo)
    for mode in ("lstm", "gru", "rnn_relu"):
        for rows in (8, 20):
            spec = RnnSpec(mode, 1, 256, 128)
            for algo in ("persist_static", "small_h", "heuristic"):
                yield f"{algo} {mode} H=256 B={rows}", check(spec, [5] * rows, algo=algo)


def activations(device_core, algo):
    """The largest error of tanh and sigmoid over [-12, 12], each in its own float32 network.

    An LSTM of one step whose cell input is 1 and whose forget gate is 0 has c = sigmoid(i).
    """
    units, batch = 128, 64
    grid = np.linspace(-12, 12, units * batch).astype(np.float32).astype(np.float64)
    x = grid.reshape(1, batch, units)

    def results(mode):
        spec = RnnSpec(mode, 1, units, units)
        gates = spec.gates
        w = np.zeros((gates, units, units))
        w[0] = np.eye(units)  # the input gate, or the only one
        bias = np.zeros((gates, units))
        if spec.is_lstm:
            bias[1:3] = np.array([[-200.0], [20.0]])  # forget gate, cell input
        weights = layout.CellWeights(w, np.zeros((gates, units, units)), bias, bias * 0, None)
        arrays = list(core.random_inputs(spec, 1, batch, torch.float32))
        arrays[0], arrays[3] = x, layout.pack(spec, [weights])
        arrays[1] = arrays[1] * 0
        return run(device_core, spec, arrays, [1] * batch, torch.float32, algo=algo)

    errors = {
        "tanh": np.abs(results("rnn_tanh")[0] - np.tanh(x)).max(),
        "sigmoid": np.abs(results("lstm")[2] - 1 / (1 + np.exp(-x))).max(),
    }
    return verdict(errors, ACTIVATION_BOUND)


def dropout(device_core, **more):
    """The same seed gives the same masks; backward uses forward's, seen along one direction."""
    spec, lengths = RnnSpec("gru", 3, 8, 4), [6, 3, 5]
    arrays = core.random_inputs(spec, 6, 3, torch.float64)
    settings = {"dropout": 0.5, **more}

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


def streams(device_core, algo, units, layers, batch):
    """Calls of four threads that overlap on streams of their own do not disturb each other."""
    spec, lengths = RnnSpec("lstm", layers, units, 32), [50] * batch
    arrays = core.random_inputs(spec, 50, batch, torch.float32, weight=weight_of(spec))
    want = run(device_core, spec, arrays, lengths, torch.float32, algo=algo)
    tensors = to_device(device_core, arrays, torch.float32)
    torch.cuda.synchronize()

    def repeat(stream):
        with torch.cuda.stream(stream):
            return [enqueue(device_core, spec, tensors, lengths, algo=algo) for _ in range(10)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(repeat, [torch.cuda.Stream() for _ in range(4)]))
    torch.cuda.synchronize()
    found = [from_device(result) for of_stream in results for result in of_stream]
    worst = max(difference(a, b) for result in found for a, b in zip(result, want))
    return worst < 1e-5, f"{worst:.1e}"


def most_steps(path):
    """Whether the cuDNN of this process still rejects 65536 steps, as CheckSizes() assumes."""
    cudnn = ctypes.CDLL(path)
    lengths = (ctypes.c_int * 1)(1)

    def status(steps):
        descriptor = ctypes.c_void_p()
        cudnn.cudnnCreateRNNDataDescriptor(ctypes.byref(descriptor))
        # float32, time-major, one row of one element.
        found = cudnn.cudnnSetRNNDataDescriptor(descriptor, 0, 0, steps, 1, 1, lengths, None)
        cudnn.cudnnDestroyRNNDataDescriptor(descriptor)
        return found

    found = status(65535), status(65536)
    return found[0] == 0 and found[1] != 0, f"65535 steps: status {found[0]}, 65536: {found[1]}"


def stack_checks(device_core):
    """Every configuration in every type, the usual types first in case the time runs out."""

    def of(dtype, checks):
        for label, check in checks:
            yield f"stack {TYPES[dtype]} {label}", check

    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):

        def check(spec, lengths, dtype=dtype, **settings):
            return functools.partial(compare, device_core, spec, lengths, dtype, **settings)

        yield from of(dtype, sweep(check))
        yield from of(dtype, special(check))
        if dtype != torch.float64:
            yield from of(dtype, algorithms(check))
    for algo in ("standard", "small_h", "persist_static"):
        check = functools.partial(activations, device_core, algo)
        yield f"stack activations {algo}", check
    yield from of(torch.float64, dropout(device_core))
    path = os.environ.get("TF_RNN_OPS_CUDNN", "libcudnn.so.9")
    yield "stack limits of cuDNN", functools.partial(most_steps, path)


def stream_checks(device_core):
    """Last of all: persistent kernels of several streams may wait for each other for ever."""
    problems = [(algo, 64, 2, 8) for algo in ("standard", "heuristic")]
    problems += [("persist_static", units, 1, 1) for units in (256, 512, 1024)]
    problems += [("heuristic", units, 2, 4) for units in (128, 512, 1024)]
    for algo, units, layers, batch in problems if device_core.device == "cuda" else ():
        label = f"streams four, {algo} H={units} L={layers} B={batch}"
        yield label, functools.partial(streams, device_core, algo, units, layers, batch)
