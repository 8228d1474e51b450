"""Peak resident memory of a library's worker for one problem.

It is measured in a separate process. The process first runs a small problem of the same kind, so that
code, thread pools and compilers are resident. The result is the growth from there to the highest resident
size while the library runs the problem three times. The peak of Linux is reset through
/proc/self/clear_refs just before these runs, so the preparation of the data does not count. Inputs,
weights, results and gradients count, and are the same for every library.
"""

import ctypes
import dataclasses
import gc

from benchmarks import problems

RUNS = 3


def _status(key):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {key}")


def _settle():
    """Returns freed memory to the system, so that later allocations are visible."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:
        pass


def _reset_peak():
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")


def measure(peer, problem, training):
    """Runs a library and returns its growth: {"peak": bytes, "kept": bytes, and the library's own numbers}."""
    small = dataclasses.replace(problem, T=2, B=min(2, problem.B), I=8, H=8)
    peer.prepare(small, *problems.make_data(small), training)
    peer.run()
    _settle()
    before = _status("VmRSS")
    peer.prepare(problem, *problems.make_data(problem), training)
    _settle()
    _reset_peak()
    for _ in range(RUNS):
        peer.run()
    result = {"peak": _status("VmHWM") - before, "kept": _status("VmRSS") - before}
    if hasattr(peer, "own_memory"):
        result.update(peer.own_memory(problem, training))
    return result


def data_bytes(problem, training):
    """The bytes that every library must hold: x, the weights and y, and in training dy and the gradients."""
    p = problem
    weights, width = 0, p.I
    for _ in range(p.L):
        weights += p.D * problems.GATES[p.cell] * p.H * (width + p.S + 2)
        weights += p.D * p.H * p.S if p.S != p.H else 0
        width = p.D * p.S
    weight, value = (problems.BYTES[t] for t in (p.dtype, p.value_dtype))
    data = weight * weights + value * p.T * p.B * (p.I + p.D * p.S)
    return data * (2 if training else 1)
