"""The checks of the GPU core but those of persistent kernels: stacks, block LSTM, LayerRNN. Run by run.py."""

import concurrent.futures
import ctypes
import functools
import itertools
import os

import launches
import numpy as np
import problems
import torch
from core import LayerCall
from problems import LENGTHS, TYPES, verdict

from support import layer_cases
from support.reference import layout
from support.reference.spec import RnnSpec

# The errors of tanh and sigmoid in float32. cuDNN's persistent kernels compute them less accurately than
# STANDARD.
ACTIVATION_BOUND = 1e-5
# Rows of one length may take a persistent kernel; any others always run as STANDARD.
ALGOS = {"full": ("heuristic", "standard"), "mixed": ("standard",), "empty rows": ("standard",)}

# ---- Stacks on cuDNN ----


def sweep(check, algos):
    """`algos`: by name in LENGTHS."""
    for label, spec, name, time_major in problems.stack_sweep():
        for algo in algos[name]:
            yield f"{label} {algo}", check(spec, LENGTHS[name], time_major=time_major, algo=algo)


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


def activations(core, algo):
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
        arrays = list(problems.stack_inputs(spec, 1, batch, "float32"))
        arrays[0], arrays[3] = x, layout.pack(spec, [weights])
        arrays[1] = arrays[1] * 0
        return core.stack(spec, arrays, [1] * batch, "float32", algo=algo)

    errors = {
        "tanh": np.abs(results("rnn_tanh")[0] - np.tanh(x)).max(),
        "sigmoid": np.abs(results("lstm")[2] - 1 / (1 + np.exp(-x))).max(),
    }
    return verdict(errors, ACTIVATION_BOUND)


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


def stack_checks(core):
    """Every configuration in every type, the usual types first in case the time runs out."""

    def of(dtype, checks):
        for label, check in checks:
            yield f"stack {dtype} {label}", check

    for dtype in TYPES:

        def check(spec, lengths, dtype=dtype, **settings):
            return functools.partial(problems.compare_stack, core, spec, lengths, dtype, **settings)

        yield from of(dtype, sweep(check, ALGOS))
        yield from of(dtype, problems.stack_special(check))
        if dtype != "float64":
            yield from of(dtype, algorithms(check))
    for algo in ("standard", "small_h", "persist_static"):
        yield f"stack activations {algo}", functools.partial(activations, core, algo)
    yield from of("float64", problems.dropout_checks(core))
    path = os.environ.get("TF_RNN_OPS_CUDNN", "libcudnn.so.9")
    yield "stack limits of cuDNN", functools.partial(most_steps, path)


def streams(core, algo, units, layers, batch):
    """Calls of four threads that overlap on streams of their own do not disturb each other."""
    spec, lengths = RnnSpec("lstm", layers, units, 32), [50] * batch
    arrays = problems.stack_inputs(spec, 50, batch, "float32")
    want = core.stack(spec, arrays, lengths, "float32", algo=algo)
    tensors = core.to_device(arrays, "float32")
    torch.cuda.synchronize()

    def repeat(stream):
        with torch.cuda.stream(stream):
            return [core.enqueue(spec, tensors, lengths, algo=algo) for _ in range(10)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(repeat, [torch.cuda.Stream() for _ in range(4)]))
    torch.cuda.synchronize()
    found = [core.from_device(result) for of_stream in results for result in of_stream]
    worst = max(problems.difference(a, b) for result in found for a, b in zip(result, want))
    return worst < 1e-5, f"{worst:.1e}"


def stream_checks(core):
    """Last of all: persistent kernels of several streams may wait for each other for ever."""
    sizes = [(algo, 64, 2, 8) for algo in ("standard", "heuristic")]
    sizes += [("persist_static", units, 1, 1) for units in (256, 512, 1024)]
    sizes += [("heuristic", units, 2, 4) for units in (128, 512, 1024)]
    for algo, units, layers, batch in sizes if core.on_gpu else ():
        label = f"streams four, {algo} H={units} L={layers} B={batch}"
        yield label, functools.partial(streams, core, algo, units, layers, batch)


# ---- Stacks without cuDNN: the engine of LayerRNN ----

ENGINE_ALGORITHMS = ("steps", "persistent")
# B, H of stacks of two layers in both directions.
ENGINE_LARGE = ((16, 256), (64, 512), (70, 256), (64, 1024))
ENGINE_PRETENDED = ((3, 12), (70, 5))


def compare_engine(core, spec, lengths, dtype, **settings):
    """The results against float64, and which persistent kernels ran."""
    core.launches.forget()
    good, text = problems.compare_stack(core, spec, lengths, dtype, **settings)
    persistent = settings["algo"] == "persistent" and any(lengths) and not spec.has_projection
    want = set()
    if persistent:
        want = launches.kernels_of(spec.rnn_mode, dtype, len(lengths), spec.units)
        most = core.launches.multiprocessors()
        want = {n for n in want if launches.blocks(n, spec.units) <= most}
    right, names = core.launches.judge(want, persistent)
    return good and right, f"{text}; {names}"


def engine_repeats(core, spec, lengths, dtype, algo):
    """The same call gives the same bits, and so does a second gradient."""
    arrays = problems.stack_inputs(spec, max(lengths), len(lengths), dtype)
    settings = {"algo": algo, "dropout": 0.5, "seed": 3}
    runs = [
        core.stack(spec, arrays, lengths, dtype, twice=twice, **settings) for twice in (False, True)
    ]
    return all(np.array_equal(a, b) for a, b in zip(*runs) if a is not None), ""


def engine_checks(core):
    """Every configuration in every type and both algorithms."""
    for dtype, algo in itertools.product(TYPES, ENGINE_ALGORITHMS):

        def check(spec, lengths, dtype=dtype, algo=algo, **settings):
            settings["algo"] = algo
            return functools.partial(compare_engine, core, spec, lengths, dtype, **settings)

        made = [
            *sweep(check, dict.fromkeys(LENGTHS, (algo,))),
            *problems.stack_special(check),
        ]
        for batch, units in ENGINE_LARGE if core.on_gpu else ENGINE_PRETENDED:
            spec = RnnSpec("gru" if batch > 64 else "lstm", 2, units, 32, "bidirectional")
            made.append((f"B={batch} H={units}", check(spec, [5] * batch)))
            again = functools.partial(engine_repeats, core, spec, [5] * batch, dtype, algo)
            made.append((f"B={batch} H={units} repeats", again))
        if dtype == "float64":
            made += problems.dropout_checks(core, algo=algo)
        for label, run in made:
            yield f"engine {dtype} {algo} {label}", run


# ---- The block LSTM ----


def _block(core, shape, dtype, steps, **settings):
    """Outputs and gradients, on the device."""
    arrays = problems.block_inputs(shape, steps, dtype)
    tensors = (core.to_device(group, dtype) for group in arrays)
    return core.enqueue_block(*tensors, steps, **settings)


def block_repeats(core, dtype):
    """The same call gives the same bits."""
    results = [_block(core, (20, 64, 128, 256), dtype, 20, use_peephole=True) for _ in range(3)]
    flat = [[*outputs, *gradients] for outputs, gradients in results]
    return all(torch.equal(a, b) for other in flat[1:] for a, b in zip(flat[0], other)), ""


def block_streams(core):
    """Calls that overlap on two streams do not disturb each other."""
    shape, steps = (50, 16, 64, 128), 50
    want, _ = _block(core, shape, "float32", steps)
    same = True
    for _ in range(10):
        results = []
        for stream in (torch.cuda.Stream(), torch.cuda.Stream()):
            with torch.cuda.stream(stream):
                results.append(_block(core, shape, "float32", steps)[0])
        torch.cuda.synchronize()
        same &= all(torch.equal(a, b) for result in results for a, b in zip(result, want))
    return same, ""


def block_checks(core):
    for label, shape, steps, dtype, settings in problems.block_sweep():
        check = functools.partial(problems.compare_block, core, shape, steps, dtype, **settings)
        yield f"block {label}", check
    if core.on_gpu:
        for dtype in TYPES:
            yield f"block {dtype} repeats", functools.partial(block_repeats, core, dtype)
        yield "block float32 two streams", functools.partial(block_streams, core)


# ---- LayerRNN ----

LARGEST = (9, 33, 40, 70)  # T, B, I, H


def compare_layer(core, case, **settings):
    """The results against float64, and which persistent kernels ran."""
    core.launches.forget()
    good, text = problems.compare_layer(core, case, **settings)
    right, names = core.launches.verdict(case, settings.get("algorithms", ()))
    return good and right, f"{text}; {names}"


def compare_random(core, mode, dtype, number, largest, **settings):
    case = problems.random_layer(mode, dtype, number, largest=largest)
    return compare_layer(core, case, **settings)


def wide_rows(core, dtype):
    """Layer normalization of more units than a block has threads."""
    rng = np.random.default_rng(0)
    case = layer_cases.layer_case("lstm_layer_norm", (5, 7, 16, 600), rng, dtype)
    return compare_layer(core, case)


def layer_repeats(core, mode, dtype):
    """The same call gives the same bits."""
    shape = (20, 32, 64, 256) if core.on_gpu else (3, 4, 5, 6)
    case = layer_cases.layer_case(mode, shape, np.random.default_rng(0), dtype)
    first, second = (LayerCall(core, case).run() for _ in range(2))
    return all(np.array_equal(first[n], second[n]) for n in first), ""


def random_checks(core, section, largest=LARGEST, **settings):
    numbers = range(4 if core.on_gpu else 1)
    for mode, dtype, time_major, k in itertools.product(
        layer_cases.MODES, TYPES, (True, False), numbers
    ):
        arguments = (core, mode, dtype, k, largest)
        yield (
            f"{section} {dtype} {mode} time_major={time_major} {k}",
            functools.partial(compare_random, *arguments, time_major=time_major, **settings),
        )


def layer_checks(core):
    yield from random_checks(core, "layers")
    for dtype in ("float32", "float64"):
        yield f"layers {dtype} wide rows", functools.partial(wide_rows, core, dtype)
    for mode in layer_cases.MODES if core.on_gpu else ("lstm",):
        arguments = (core, mode, "float32", 9, LARGEST)
        tf32 = functools.partial(compare_random, *arguments, allow_tf32=True)
        yield f"layers float32 {mode} tf32", tf32
        for dtype in TYPES:
            label = f"layers {dtype} {mode} repeats"
            yield label, functools.partial(layer_repeats, core, mode, dtype)
