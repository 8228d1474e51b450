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


def _first_core() -> dict[str, str]:
    """The lines of CPUINFO for the first core, {key: text}; empty without the file."""
    try:
        text = CPUINFO.read_text()
    except OSError:
        return {}
    lines = [line.partition(":") for line in text.partition("\n\n")[0].splitlines()]
    return {key.strip(): value.strip() for key, _, value in lines}


def name() -> str:
    """The name of the processor, with the numbers of its model where Linux tells them."""
    core = _first_core()
    text = core.get("model name") or platform.processor() or platform.machine()
    # A virtual machine may name no more than the brand.
    if "cpu family" in core and "model" in core:
        more = f"family {core['cpu family']}, model {core['model']}"
    elif "CPU implementer" in core and "CPU part" in core:  # Arm
        more = f"implementer {core['CPU implementer']}, part {core['CPU part']}"
    else:
        return text
    return f"{text} ({more})"


def _usable_cores() -> int:
    """The number of cores that this process may use. Systems without affinities, such as macOS, allow all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor() -> str:
    """The name of the processor and the number of cores that this process may use."""
    return f"{name()}, {_usable_cores()} usable cores"


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
    return f"{_usable_cores()} within an op (TensorFlow's default)"
