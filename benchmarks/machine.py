"""The machine of a measurement, and the peak rate of its matrix products."""

import ctypes
import ctypes.util
import datetime
import os
import pathlib
import platform
import runpy
import sys
import time

import numpy as np

_ROOT = pathlib.Path(__file__).resolve().parent.parent
# WHY not imported: the package loads TensorFlow, which the drivers and the other libraries do without.
_OURS = runpy.run_path(str(_ROOT / "tf_rnn_ops/native/machine.py"))


# The variable with the instruction set that benchmarks.settings.restrict leaves to the process.
RESTRICTED = "BENCH_RESTRICTED_TO"
_BEYOND_AVX2 = ("avx512", "avx_vnni", "amx_")


def is_restricted():
    """Whether the CPU looks like one of AVX2 to this process."""
    return RESTRICTED in os.environ


def prefer_installed():
    """Puts the source tree last on the path, so that an installed tf_rnn_ops has priority."""
    rest = [p for p in sys.path if pathlib.Path(p or ".").resolve() != _ROOT]
    sys.path[:] = [*rest, str(_ROOT)]


def flags():
    """The set of the flags of the CPU, as far as the process sees them."""
    found = set()
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                key, _, value = line.partition(":")
                if key.strip() == "flags":
                    found = set(value.split())
    except OSError:
        pass
    return {f for f in found if not (is_restricted() and f.startswith(_BEYOND_AVX2))}


def largest_int8():
    """The largest absolute value of int8 weights for libraries that use VPMADDUBSW on CPUs without VNNI.

    It is 63 on such a CPU, since VPMADDUBSW adds two products in 16 bits.
    SOURCE: the documents of ONNX Runtime (reduce_range) and oneDNN (int8 computations).
    """
    cpu = flags()
    return 63 if "avx2" in cpu and not cpu & {"avx_vnni", "avx512_vnni"} else 127


def describe():
    """CPU, instruction sets, cores and date, for the head of a report."""
    cpu = flags()
    wanted = ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
    return {
        "cpu": _OURS["name"](),
        "isa": [f for f in wanted if f in cpu],
        "cores": len(os.sched_getaffinity(0)),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "restricted_to": os.environ.get(RESTRICTED, ""),
        "isa_override": os.environ.get("TF_RNN_OPS_CPU_ISA", ""),
    }


def _numpy_product(size):
    a, b = (
        np.random.default_rng(i).standard_normal((size, size)).astype(np.float32) for i in (0, 1)
    )
    c = np.empty_like(a)
    return lambda: np.matmul(a, b, out=c)


def _onednn_product(size):
    name = ctypes.util.find_library("dnnl")
    if name is None:
        raise ImportError("no libdnnl")
    sgemm = ctypes.CDLL(name).dnnl_sgemm
    a, b = (
        np.random.default_rng(i).standard_normal((size, size)).astype(np.float32) for i in (0, 1)
    )
    c = np.empty_like(a)
    n, one, zero, plain = (
        ctypes.c_int64(size),
        ctypes.c_float(1),
        ctypes.c_float(0),
        ctypes.c_char(b"N"),
    )
    pa, pb, pc = (m.ctypes.data_as(ctypes.c_void_p) for m in (a, b, c))
    return lambda: sgemm(plain, plain, n, n, n, one, pa, n, pb, n, zero, pc, n)


def _torch_product(size):
    import torch

    a, b = torch.randn(size, size), torch.randn(size, size)
    c = torch.empty(size, size)
    return lambda: torch.mm(a, b, out=c)


def gemm_peak(size=1536, repeats=7):
    """The best rate in GFLOP/s of any library's float32 product, and the library's name.

    The libraries read their number of threads from the environment when they are loaded.
    """
    best, by = 0.0, "none"
    for name, make in (
        ("numpy", _numpy_product),
        ("oneDNN", _onednn_product),
        ("PyTorch", _torch_product),
    ):
        try:
            run = make(size)
        except (ImportError, OSError):
            continue
        run()
        for _ in range(repeats):
            start = time.perf_counter()
            run()
            rate = 2 * size**3 / (time.perf_counter() - start) / 1e9
            if rate > best:
                best, by = rate, name
    return best, by


if __name__ == "__main__":
    print(*gemm_peak())
