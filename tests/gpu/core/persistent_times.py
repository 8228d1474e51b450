"""Times of LayerRNN in persistent kernels, next to steps and to cuDNN. Run by run.py.

A check is one layer: microseconds of a step, forward in inference and backward with all gradients. PyTorch
calls cuDNN, eagerly and as a CUDA graph.
"""

import functools
import itertools
import statistics

import numpy as np
import torch
from checks import TYPES
from layer_checks import BACKWARD, BOUNDS, FORWARD, Call
from peer import KINDS, time_calls
from persistent_checks import distance, on

from support import layer_cases

DTYPES = (torch.bfloat16, torch.float16, torch.float32)
STEPS = 100
TIMED = ((256, 16), (512, 16), (512, 64), (1024, 16), (1024, 64), (256, 64))  # H, B
PRETENDED = ((7, 2),)
RUNS, REPEATS = 5, 3  # on a GPU; the mock runs once
HEAD = ("cell", "type", "H", "B", "pass", "persistent", "steps", "cuDNN", "cuDNN as a graph")
HEAD += ("persistent / bound from steps",)
PERSISTENT = ("persistent", "persistent")


class Cudnn:
    """PyTorch's layer of I = H on a stream of its own, which a graph can capture."""

    def __init__(self, mode, shape, dtype, device):
        steps, batch, width, units = shape
        self.device = device
        self.stream = torch.cuda.Stream() if device == "cuda" else None
        made = {"device": device, "dtype": dtype}
        with on(self.stream):
            self.layer = KINDS[mode](width, units, **made)
            self.x = torch.randn(steps, batch, width, **made, requires_grad=True)
            self.dy = torch.randn(steps, batch, units, **made)
            self.y = self.layer(self.x)[0]
        self.leaves = (self.x, *self.layer.parameters())

    def forward(self):
        with torch.no_grad():
            self.layer(self.x)

    def backward(self):
        torch.autograd.grad(self.y, self.leaves, self.dy, retain_graph=True)

    def graph(self, step):
        """A function that replays a step."""
        if self.device != "cuda":
            return step
        found = torch.cuda.CUDAGraph()
        with torch.cuda.graph(found, stream=self.stream):
            step()
        return found.replay

    def seconds(self, step, as_graph):
        with on(self.stream):
            for _ in range(3):
                step()
        if self.stream is not None:
            self.stream.synchronize()
        timed = self.graph(step) if as_graph else step
        with on(self.stream):
            timed()
            return median_of(lambda runs: time_calls(timed, runs, self.device), self.device)


@functools.lru_cache(maxsize=1)
def case_of(mode, shape):
    """For every type: times do not depend on the rounding of the inputs."""
    none = {"input_mask": False, "recurrent_mask": False, "lengths": None}
    return layer_cases.layer_case(mode, shape, np.random.default_rng(0), "bfloat16", **none)


def median_of(seconds, device):
    """The median of `seconds(runs)`."""
    if device != "cuda":
        return seconds(1)
    return statistics.median(seconds(RUNS) for _ in range(REPEATS))


def ours(layer, case, dtype, algorithms, scratch):
    """Seconds of forward and of backward, and the results of training."""
    found = []
    for passes in (FORWARD, BACKWARD):
        call = Call(layer, case, dtype, training=passes == BACKWARD, algorithms=algorithms)
        if passes == BACKWARD:
            call.seconds(scratch, FORWARD, 1)
        call.seconds(scratch, passes, 1)  # the warm-up
        timed = functools.partial(call.seconds, scratch, passes)
        found.append(median_of(timed, layer.device))
    return found, call.enqueue()


def time_problem(layer, mode, dtype, shape):
    steps, batch, _, units = shape
    case = case_of(mode, shape)
    size = 2**30 if layer.device == "cuda" else 2**26
    scratch = torch.empty(size, dtype=torch.uint8, device=layer.device)
    plain, want = ours(layer, case, dtype, ("steps", "steps"), scratch)
    layer.launches.forget()
    persistent, got = ours(layer, case, dtype, PERSISTENT, scratch)
    right, names = layer.launches.verdict(case, dtype, PERSISTENT)
    share = distance(got, want) / BOUNDS[dtype]
    del got, want
    peer, errors, rows = Cudnn(mode, shape, dtype, layer.device), [], []
    for k, step in enumerate((peer.forward, peer.backward)):
        cells = [mode, TYPES[dtype], units, batch, ("forward", "backward")[k]]
        cells += [f"{s[k] * 1e6 / steps:.2f}" for s in (persistent, plain)]
        for as_graph in (False, True):
            try:
                cells.append(f"{peer.seconds(step, as_graph) * 1e6 / steps:.2f}")
            except Exception as error:  # the other times are of use
                cells.append("error")
                errors.append(f"{type(error).__name__}: {error}")
        rows.append("| " + " | ".join(map(str, [*cells, f"{share:.2g}"])) + " |")
    text = " ".join([f"{share:.2g} of the bound from steps; {names}", *errors, *rows])
    return right and share <= 1 and not errors, text


def load(layer, names):
    """A row for each kernel with the milliseconds in which the driver compiles and loads it."""
    old = layer.launches.old_gpu()
    if old:
        return True, old
    rows = [f"| {name} | {layer.launches.load(name):.0f} |" for name in names]
    return True, " ".join(rows)


def persistent_times(layer):
    on_gpu = layer.device == "cuda"
    shapes = TIMED if on_gpu else PRETENDED
    for mode, (units, batch), dtype in itertools.product(("lstm", "gru"), shapes, DTYPES):
        shape = (STEPS if on_gpu else 3, batch, units, units)
        label = f"persistent-times {TYPES[dtype]} {mode} H={units} B={batch}"
        yield label, functools.partial(time_problem, layer, mode, dtype, shape)
    names = layer.launches.names()
    for group, members in itertools.groupby(names, lambda name: name.split("_")[:3]):
        label = f"persistent-loads {group[2]} {group[1]} {group[0]}"
        yield label, functools.partial(load, layer, list(members))
