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

# (vendor, family, ranges of models with both ends, generation). The table of CPUs in docs/performance.md has
# these names.
# SOURCE: Linux, arch/x86/kernel/cpu/amd.c (bsp_init_amd) and arch/x86/include/asm/intel-family.h.
_AMD, _INTEL = "AuthenticAMD", "GenuineIntel"
_GENERATIONS = (
    (_AMD, 23, ((0x00, 0x2F), (0x50, 0x5F)), "Zen"),
    (_AMD, 23, ((0x30, 0x4F), (0x60, 0x7F), (0x90, 0x91), (0xA0, 0xAF)), "Zen 2"),
    (_AMD, 25, ((0x00, 0x0F), (0x20, 0x5F)), "Zen 3"),
    (_AMD, 25, ((0x10, 0x1F), (0x60, 0xAF)), "Zen 4"),
    (_AMD, 26, ((0x00, 0x2F), (0x40, 0x4F), (0x60, 0x7F)), "Zen 5"),
    (_INTEL, 6, ((0x3C, 0x3C), (0x3F, 0x3F), (0x45, 0x46)), "Haswell"),
    (_INTEL, 6, ((0x3D, 0x3D), (0x47, 0x47), (0x4F, 0x4F), (0x56, 0x56)), "Broadwell"),
    (_INTEL, 6, ((0x4E, 0x4E), (0x5E, 0x5E)), "Skylake"),
    (_INTEL, 6, ((0x55, 0x55),), "Skylake, Cascade Lake or Cooper Lake"),
    (_INTEL, 6, ((0x8E, 0x8E), (0x9E, 0x9E)), "Kaby Lake or Coffee Lake"),
    (_INTEL, 6, ((0x6A, 0x6A), (0x6C, 0x6C), (0x7D, 0x7E)), "Ice Lake"),
    (_INTEL, 6, ((0x8C, 0x8D),), "Tiger Lake"),
    (_INTEL, 6, ((0x97, 0x97), (0x9A, 0x9A)), "Alder Lake"),
    (_INTEL, 6, ((0x8F, 0x8F),), "Sapphire Rapids"),
    (_INTEL, 6, ((0xCF, 0xCF),), "Emerald Rapids"),
    (_INTEL, 6, ((0xAD, 0xAE),), "Granite Rapids"),
)

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


def generation(vendor, family, model):
    """Names the generation of an x86 processor.

    Args:
        vendor: "AuthenticAMD" or "GenuineIntel"; another vendor has no names here.
        family: The CPU family, a decimal number as in /proc/cpuinfo and lscpu.
        model: The model, a decimal number.

    Returns:
        The generation, such as "Zen 4". For an unknown processor the family and the model.
    """
    for its_vendor, its_family, ranges, label in _GENERATIONS:
        if (its_vendor, str(its_family)) == (vendor, family) and model.isdecimal():
            if any(first <= int(model) <= last for first, last in ranges):
                return label
    return f"family {family}, model {model}"


def name():
    """The name of the processor, with its generation instead of the numbers of its model."""
    core = _OURS["_first_core"]()
    if not {"model name", "cpu family", "model"} <= core.keys():
        return _OURS["name"]()
    known = generation(core.get("vendor_id", ""), core["cpu family"], core["model"])
    return f"{core['model name']} ({known})"


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
        "cpu": name(),
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
