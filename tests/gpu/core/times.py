"""Times of the GPU core next to PyTorch's layers on the same cuDNN. run.py runs it.

`stack-times` is what cc/gpu/cudnn/rnn_algorithms.cc is made from, and tools/engine_table.py makes
cc/gpu/engine_rows.inc from `engine-times`. A check is one problem or one network. Its text has a row of a table for
each batch size or pass: medians of calls in a row without Python between them. A way that fails has `error` in its cell and fails the check.
"""

import ctypes
import dataclasses
import functools
import itertools
import statistics
import time

import numpy as np
import problems
import torch
from core import BACKWARD, FORWARD, TORCH, LayerCall, addresses, like
from persistent_checks import PERSISTENT, distance, on

from support import layer_cases
from support.reference.spec import RnnSpec

PEERS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN}
PASSES = ("inference", "training")
# Name and settings of the core.
WAYS = (
    *((name, {"algo": name}) for name in ("standard", "small_h", "persist_static", "heuristic")),
    ("heuristic, reserve copied", {"algo": "heuristic", "keeps_reserve": True}),
    *((f"our {name}", {"algo": name}) for name in ("persistent", "steps")),
)
# Name, unit, columns.
TABLES = (
    (
        "stack-times",
        "microseconds",
        ("cell", "type", "T, L, D", "H", "B", "pass", "torch", *(name for name, _ in WAYS))
        + ("persist_static - standard",),
    ),
    ("block-times", "microseconds", ("type", "T, B, I, H", "pass", "ours", "torch.nn.LSTM")),
    (
        "layer-times",
        "microseconds of a step",
        ("layer", "type", "H", "B", "pass", "persistent", "steps", "cuDNN", "cuDNN as a graph")
        + ("persistent / bound from steps",),
    ),
    ("persistent-loads", "milliseconds", ("kernel", "load")),
    (
        "engine-times",
        "microseconds of a call",
        ("rival", "cell", "type", "H", "B", "pass", "persistent", "rival's time"),
    ),
)


def table_row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def median_of(seconds, core, runs=5, repeats=3):
    """The median of `seconds(runs)`; a mock runs once."""
    if not core.on_gpu:
        return seconds(1)
    return statistics.median(seconds(runs) for _ in range(repeats))


def memory(core, size=2**30):
    """A block for the memory of timed calls."""
    size = size if core.on_gpu else 2**26
    return torch.empty(size, dtype=torch.uint8, device=core.device)


class Cells:
    """Times in microseconds of `steps`, as text, and the errors of calls that failed."""

    def __init__(self, steps=1):
        self.steps, self.errors = steps, []

    def time(self, seconds):
        try:
            return f"{seconds() * 1e6 / self.steps:.{0 if self.steps == 1 else 2}f}"
        except Exception as error:  # the other times are of use
            self.errors.append(f"{type(error).__name__}: {error}")
            return "error"


class Peer:
    """PyTorch's layer of a cell on a stream of its own, which a graph can capture."""

    def __init__(self, core, mode, shape, layers, directions, dtype):
        steps, batch, width, units = shape
        self.core = core
        self.stream = torch.cuda.Stream() if core.on_gpu else None
        made = {"device": core.device, "dtype": TORCH[dtype]}
        with on(self.stream):
            two = directions == 2
            self.layer = PEERS[mode](width, units, layers, bidirectional=two, **made)
            self.x = torch.randn(steps, batch, width, **made, requires_grad=True)
            self.dy = torch.randn(steps, batch, units * directions, **made)
            self.y = self.layer(self.x)[0]
        self.leaves = (self.x, *self.layer.parameters())

    def inference(self):
        with torch.no_grad():
            self.layer(self.x)

    def training(self):
        torch.autograd.grad(self.layer(self.x)[0], self.leaves, self.dy)

    def backward(self):
        torch.autograd.grad(self.y, self.leaves, self.dy, retain_graph=True)

    def graph(self, step):
        """A function that replays a step."""
        if not self.core.on_gpu:
            return step
        found = torch.cuda.CUDAGraph()
        with torch.cuda.graph(found, stream=self.stream):
            step()
        return found.replay

    def seconds(self, step, as_graph=False):
        with on(self.stream):
            for _ in range(3):
                step()
        if self.stream is not None:
            self.stream.synchronize()
        timed = self.graph(step) if as_graph else step
        with on(self.stream):
            timed()
            return median_of(lambda runs: self._time(timed, runs), self.core)

    def _time(self, step, runs):
        if not self.core.on_gpu:
            start = time.perf_counter()
            step()
            return time.perf_counter() - start
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(runs):
            step()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / runs


# ---- Stacks ----

CELLS = ("lstm", "gru", "rnn_tanh")
RESET_BEFORE = "gru_reset_before"  # not in cuDNN
# The largest difference of results between two algorithms: rounding of products apart (float16), what
# cuDNN's persistent kernels compute less accurately.
DIFFERENCES = {"float32": 1e-4, "float16": 2e-2}


def networks(on_gpu):
    """cell, (T, L, D), H and the batch sizes."""
    if not on_gpu:
        yield "lstm", (3, 1, 1), 7, (2,)
        return
    batches = (1, 2, 4, 8, 16, 32, 64, 128)
    sizes = (64, 128, 160, 192, 200, 256, 384, 512, 768, 1024)
    for mode, units in itertools.product(CELLS, sizes):
        yield mode, (50, 1, 1), units, batches
    # Batches and units that do not fill the tiles of tensor cores.
    for mode, units in itertools.product(CELLS, (250, 256, 320)):
        yield mode, (50, 1, 1), units, (12, 20, 50, 100)
    several = ((2, 1), (1, 2), (3, 2))
    for mode, units, stack in itertools.product(("lstm", "gru"), (128, 256, 512), several):
        yield mode, (50, *stack), units, (1, 8, 16, 32, 64)
    for steps, units in itertools.product((1, 5, 15), (256, 512)):
        yield "lstm", (steps, 1, 1), units, (1, 16, 64)


class TimedStack:
    """One problem with all of its memory.

    Args:
        core: Core.
        spec: RnnSpec.
        arrays: of stack_inputs().
        dtype: their type.
    """

    def __init__(self, core, spec, arrays, dtype):
        tensors = core.to_device(arrays, dtype)
        self.core, self.spec, self.x = core, spec, tensors[0]
        # x, h0, c0, params, y, h_n, c_n, dy, dh_n, dc_n and the gradients.
        given, upstream = tensors[:4], tensors[4:]
        self.tensors = [*given, *like(upstream), *upstream, *like(given)]
        self.blocks = [memory(core), memory(core)]  # scratch and reserve space

    def seconds(self, training, choice, runs):
        """Seconds of one call, of `runs` in a row; `training` calls include backward."""
        steps, batch = self.x.shape[:2]
        choice = {"allow_tf32": 1, **choice}
        keeps = ctypes.c_int32(choice.pop("keeps_reserve", False))
        rnn = self.core.problem(self.spec, self.x, [steps] * batch, training=training, **choice)
        found = ctypes.c_double()
        blocks = [(ctypes.c_void_p(b.data_ptr()), ctypes.c_int64(b.numel())) for b in self.blocks]
        arguments = (*blocks[0], *blocks[1], keeps, ctypes.c_int32(runs), ctypes.byref(found))
        self.core.call("core_time", rnn, addresses(self.tensors), *arguments)
        return found.value

    def median(self, training, choice):
        self.seconds(training, choice, 1)  # makes plans, loads kernels
        return median_of(functools.partial(self.seconds, training, choice), self.core, 4)


def difference_of_algorithms(core, spec, batch, dtype):
    """The difference of all results between PERSIST_STATIC and STANDARD."""
    arrays, lengths = problems.stack_inputs(spec, 6, batch, dtype), [6] * batch
    results = [
        core.stack(spec, arrays, lengths, dtype, algo=algo)
        for algo in ("standard", "persist_static")
    ]
    return max(problems.difference(a, b) for a, b in zip(*results) if a is not None)


def time_stack(core, network, dtype):
    mode, (steps, layers, directions), units, batches = network
    direction = "bidirectional" if directions == 2 else "unidirectional"
    spec = RnnSpec(mode, layers, units, units, direction)
    torch.backends.cudnn.allow_tf32 = True
    rows, worst, cells = [], 0.0, Cells()
    for batch in batches:
        difference = "-"
        if dtype in DIFFERENCES:
            found = difference_of_algorithms(core, spec, batch, dtype)
            worst, difference = max(worst, found / DIFFERENCES[dtype]), f"{found:.1e}"
        call = TimedStack(core, spec, problems.stack_inputs(spec, steps, batch, dtype), dtype)
        peer = Peer(core, mode, (steps, batch, units, units), layers, directions, dtype)
        for training, name in enumerate(PASSES):
            times = [cells.time(lambda n=name: peer.seconds(getattr(peer, n)))]  # noqa: B023
            for _, choice in WAYS:
                if choice.get("keeps_reserve") and not training:
                    times.append("-")
                    continue
                times.append(cells.time(lambda t=training, c=choice: call.median(t, c)))  # noqa: B023
            sizes = f"{steps}, {layers}, {directions}"
            row = (mode, dtype, sizes, units, batch, name, *times, difference)
            rows.append(table_row(*row))
    return worst <= 1 and not cells.errors, " ".join(
        [f"{worst:.2g} of the bound", *cells.errors, *rows]
    )


def stack_times(core):
    for dtype, network in itertools.product(
        ("float32", "bfloat16", "float16"), networks(core.on_gpu)
    ):
        mode, sizes, units, _ = network
        label = f"stack-times {dtype} {mode} {sizes} H={units}"
        yield label, functools.partial(time_stack, core, network, dtype)


# ---- The block LSTM ----

BLOCKS = ((100, 1, 256, 256), (100, 16, 256, 256), (100, 64, 512, 512), (50, 256, 1024, 1024))


def time_block(core, shape, dtype):
    inputs, gradients = (
        core.to_device(group, dtype) for group in problems.block_inputs(shape, shape[0], dtype)
    )
    outputs, results = core.enqueue_block(inputs, gradients, shape[0])
    problem, scratch = core.block_problem(inputs[0], shape[3]), memory(core)

    def ours(training, runs):
        found = ctypes.c_double()
        core.call(
            "core_block_lstm_time",
            problem,
            addresses([*inputs, *outputs, *gradients]),
            addresses(results),
            ctypes.c_void_p(scratch.data_ptr()),
            ctypes.c_int64(scratch.numel()),
            training,
            runs,
            ctypes.byref(found),
        )
        return found.value

    peer, cells, rows = Peer(core, "lstm", shape, 1, 1, dtype), Cells(), []
    for training, name in enumerate(PASSES):
        ours(training, 1)  # the warm-up
        mine = cells.time(lambda t=training: median_of(functools.partial(ours, t), core))
        theirs = cells.time(lambda n=name: peer.seconds(getattr(peer, n)))
        rows.append(table_row(dtype, ", ".join(map(str, shape)), name, mine, theirs))
    return not cells.errors, " ".join([*cells.errors, *rows])


def block_times(core):
    shapes = BLOCKS if core.on_gpu else ((3, 2, 5, 7),)
    for shape, dtype in itertools.product(shapes, ("float32", "float16")):
        label = f"block-times {dtype} {shape}"
        yield label, functools.partial(time_block, core, shape, dtype)


# ---- LayerRNN ----

STEPS = 100
SIZES = ((256, 16), (512, 16), (512, 64), (1024, 16), (1024, 64), (256, 64))  # H, B
# The name of a layer, and the arguments of layer_case(). cuDNN has the first two.
LAYERS = (
    ("lstm", {}),
    ("gru", {}),
    ("lstm recurrent_dropout", {"recurrent_mask": True}),
    ("gru_reset_before", {}),
    ("rnn", {}),
    ("lstmp", {}),
    ("lstm_layer_norm", {}),
    ("lstm_zoneout", {}),
)


@functools.lru_cache(maxsize=1)
def _case(name, shape):
    """For every type: times do not depend on the rounding of the inputs."""
    none = {"input_mask": False, "recurrent_mask": False, "lengths": None}
    options = {**none, **dict(LAYERS)[name]}
    return layer_cases.layer_case(
        name.split()[0], shape, np.random.default_rng(0), "bfloat16", **options
    )


def time_passes(core, case, algorithms, scratch):
    """Seconds of forward in inference and of backward with all gradients, and the results of training."""
    found = []
    for k, passes in enumerate((FORWARD, BACKWARD)):
        call = LayerCall(core, case, training=passes == BACKWARD, algorithms=algorithms)

        def seconds(passes, runs, call=call, k=k):
            seconds = ctypes.c_double()
            call.problem.algorithm = call.algorithms[k]
            core.call(
                "core_layer_time",
                call.problem,
                addresses(call.tensors),
                addresses(call.outputs),
                call.given(),
                addresses(call.gradients),
                ctypes.c_void_p(call.reserve.data_ptr()),
                ctypes.c_void_p(scratch.data_ptr()),
                ctypes.c_int64(scratch.numel()),
                passes,
                runs,
                ctypes.byref(seconds),
            )
            return seconds.value

        if passes == BACKWARD:
            seconds(FORWARD, 1)
        seconds(passes, 1)  # the warm-up
        found.append(median_of(functools.partial(seconds, passes), core))
    return found, call.enqueue()


def time_layer(core, name, dtype, shape):
    steps, batch, _, units = shape
    case, scratch = dataclasses.replace(_case(name, shape), dtype=dtype), memory(core)
    plain, want = time_passes(core, case, ("steps", "steps"), scratch)
    core.launches.forget()
    persistent, got = time_passes(core, case, PERSISTENT, scratch)
    right, names = core.launches.verdict(case, PERSISTENT)
    share = distance(got, want) / problems.BOUNDS["layer"][dtype]
    del got, want
    cells, rows = Cells(steps), []
    peer = Peer(core, name, shape, 1, 1, dtype) if name in PEERS else None
    for k, step in enumerate(("inference", "backward")):
        times = [cells.time(lambda s=s[k]: s) for s in (persistent, plain)]
        for as_graph in (False, True):
            theirs = peer and cells.time(
                lambda a=as_graph, n=step: peer.seconds(getattr(peer, n), a)
            )
            times.append(theirs or "-")
        row = (name, dtype, units, batch, ("forward", "backward")[k], *times, f"{share:.2g}")
        rows.append(table_row(*row))
    text = " ".join([f"{share:.2g} of the bound from steps; {names}", *cells.errors, *rows])
    return right and share <= 1 and not cells.errors, text


def load(core, names):
    """A row for each kernel with the milliseconds in which the driver compiles and loads it."""
    old = core.launches.old_gpu()
    if old:
        return True, old
    return True, " ".join(table_row(name, f"{core.launches.load(name):.0f}") for name in names)


def layer_times(core):
    sizes = SIZES if core.on_gpu else ((7, 2),)
    for (name, _), (units, batch), dtype in itertools.product(
        LAYERS, sizes, ("bfloat16", "float16", "float32")
    ):
        shape = (STEPS if core.on_gpu else 3, batch, units, units)
        label = f"layer-times {dtype} {name} H={units} B={batch}"
        yield label, functools.partial(time_layer, core, name, dtype, shape)
    names = core.launches.names()
    for group, members in itertools.groupby(names, lambda name: name.split("_")[:3]):
        label = f"persistent-loads {group[2]} {group[1]} {group[0]}"
        yield label, functools.partial(load, core, list(members))


# ---- The table of engines ----

ENGINE_STEPS = 50
ENGINE_UNITS = (128, 256, 512, 1024)
ENGINE_BATCHES = (1, 2, 4, 6, 8, 16, 24, 32, 48, 64, 80, 96, 128)
# The rivals of tools/engine_table.py.
PLAIN_STEPS, GENERAL_STEPS = "steps", "steps, general"
CUDNN, TENSOR_CORES = "cuDNN", "cuDNN, tensor cores"
TILE = 8  # rows of the batch that fill a tile of tensor cores


def batches_against(rival, dtype, on_gpu):
    """The batches with which a rival is measured."""
    if not on_gpu:
        return (TILE,) if rival == TENSOR_CORES else (2,)
    if rival == TENSOR_CORES:
        return tuple(batch for batch in ENGINE_BATCHES if batch % TILE == 0)
    if (rival, dtype) == (CUDNN, "float16"):
        return tuple(batch - 2 if batch % TILE == 0 else batch for batch in ENGINE_BATCHES)
    return ENGINE_BATCHES


def time_against_steps(core, rival, mode, dtype, shape):
    """Pass, and the seconds in persistent kernels and in steps."""
    options = {"input_mask": False, "recurrent_mask": rival == GENERAL_STEPS, "lengths": None}
    case = layer_cases.layer_case(mode, shape, np.random.default_rng(0), dtype, **options)
    scratch = memory(core)
    persistent, _ = time_passes(core, case, PERSISTENT, scratch)
    steps, _ = time_passes(core, case, ("steps", "steps"), scratch)
    kernels = {name.split("_")[0] for name in core.launches.expected(case)}
    for k, name in enumerate(("Forward", "Backward")):
        yield name.lower(), persistent[k] if name in kernels else None, steps[k]


def time_against_cudnn(core, mode, dtype, shape):
    """Pass, and the seconds in persistent kernels and in cuDNN's best algorithm."""
    steps, batch, width, units = shape
    spec = RnnSpec(mode, 1, units, width, "unidirectional")
    call = TimedStack(core, spec, problems.stack_inputs(spec, steps, batch, dtype), dtype)
    for training, name in enumerate(PASSES):
        yield name, *(call.median(training, {"algo": algo}) for algo in ("persistent", "heuristic"))


def time_engines(core, rival, mode, dtype, units):
    """A row for each batch and pass."""
    rows = []
    for batch in batches_against(rival, dtype, core.on_gpu):
        shape = (ENGINE_STEPS if core.on_gpu else 3, batch, units, units)
        if rival in (PLAIN_STEPS, GENERAL_STEPS):
            times = time_against_steps(core, rival, mode, dtype, shape)
        else:
            times = time_against_cudnn(core, mode, dtype, shape)
        for name, *seconds in times:
            text = ["-" if s is None else f"{s * 1e6:.1f}" for s in seconds]
            rows.append(table_row(rival, mode, dtype, units, batch, name, *text))
    return True, " ".join(rows)


def engine_times(core):
    sizes = ENGINE_UNITS if core.on_gpu else (7,)
    for dtype, rival, mode, units in itertools.product(
        ("float32", "bfloat16", "float16"),
        (PLAIN_STEPS, CUDNN, GENERAL_STEPS, TENSOR_CORES),
        (*CELLS, RESET_BEFORE),
        sizes,
    ):
        if (rival == TENSOR_CORES and dtype != "float16") or (
            rival == GENERAL_STEPS and mode == "rnn_tanh"
        ):
            continue
        if rival != PLAIN_STEPS and mode == RESET_BEFORE:
            continue
        label = f"engine-times {dtype} {mode} {rival} H={units}"
        yield label, functools.partial(time_engines, core, rival, mode, dtype, units)
