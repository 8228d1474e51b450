"""The processor, the system and the threads of this process, as text."""

import os
import pathlib
import platform
from types import ModuleType

CPUINFO = pathlib.Path("/proc/cpuinfo")

# The CPU features that the kernels can use, as Linux names them on x86 and on Arm.
_FEATURES = {
    "flags": ("avx2", "fma", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16"),
    "Features": ("asimd",),
}


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


def _first_core() -> dict[str, str]:
    """The lines of CPUINFO for the first core, {key: text}; empty without the file."""
    try:
        text = CPUINFO.read_text()
    except OSError:
        return {}
    lines = [line.partition(":") for line in text.partition("\n\n")[0].splitlines()]
    return {key.strip(): value.strip() for key, _, value in lines}


def generation(vendor: str, family: str, model: str) -> str:
    """Names the generation of an x86 processor.

    Args:
        vendor: "AuthenticAMD" or "GenuineIntel"; another vendor has no names here.
        family: The CPU family, a decimal number as in /proc/cpuinfo and lscpu.
        model: The model, a decimal number.

    Returns:
        The generation, such as "Zen 4". For an unknown processor the family and the model.
    """
    for its_vendor, its_family, ranges, name in _GENERATIONS:
        if (its_vendor, str(its_family)) == (vendor, family) and model.isdecimal():
            if any(first <= int(model) <= last for first, last in ranges):
                return name
    return f"family {family}, model {model}"


def name() -> str:
    """The name of the processor and, where Linux tells it, its generation."""
    core = _first_core()
    text = core.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in core and "model" in core:
        more = generation(core.get("vendor_id", ""), core["cpu family"], core["model"])
    elif "CPU implementer" in core and "CPU part" in core:  # Arm
        more = f"implementer {core['CPU implementer']}, part {core['CPU part']}"
    else:
        return text
    return f"{text} ({more})"


def usable_cores() -> int:
    """The number of cores that this process may use. Systems without affinities, such as macOS, allow all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor() -> str:
    """The name of the processor and the number of cores that this process may use."""
    return f"{name()}, {usable_cores()} usable cores"


def features() -> str:
    """The CPU features of this machine that the kernels can use, and the missing ones."""
    lines = [line.partition(":") for line in CPUINFO.read_text().splitlines()]
    listed = {key.strip(): text for key, _, text in lines}
    key = next((key for key in _FEATURES if key in listed), None)
    if key is None:
        raise OSError(f"{CPUINFO} does not list them.")
    text = listed[key]
    has = {feature: feature in text.split() for feature in _FEATURES[key]}
    present = ", ".join(feature for feature in has if has[feature]) or "none"
    missing = ", ".join(feature for feature in has if not has[feature])
    return f"{present} (missing: {missing})" if missing else present


def system() -> str:
    """The distribution, the kernel and the C library."""
    try:
        distribution = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:  # no such file
        distribution = platform.system()
    return f"{distribution}, kernel {platform.release()}, {' '.join(platform.libc_ver())}"


def threads(tf: ModuleType) -> str:
    """The number of threads within an op, and the setting that it comes from.

    Args:
        tf: The module tensorflow.
    """
    count = tf.config.threading.get_intra_op_parallelism_threads()
    if count:
        return f"{count} within an op"
    if number := os.environ.get("TF_NUM_INTRAOP_THREADS"):
        return f"{number} within an op (TF_NUM_INTRAOP_THREADS)"
    return f"{usable_cores()} within an op (TensorFlow's default)"
