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


def processor() -> str:
    """The name of the processor and the number of cores that this process may use."""
    model = platform.processor() or platform.machine()
    if CPUINFO.exists():
        names = [line for line in CPUINFO.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    return f"{model}, {len(os.sched_getaffinity(0))} usable cores"


def features() -> str:
    """The CPU features of this machine that the kernels can use, and the missing ones."""
    lines = [line.partition(":") for line in CPUINFO.read_text().splitlines()]
    listed = {key.strip(): text for key, _, text in lines}
    key = next((key for key in _FEATURES if key in listed), None)
    if key is None:
        raise OSError(f"{CPUINFO} does not list them.")
    text = listed[key]
    has = {name: name in text.split() for name in _FEATURES[key]}
    found = ", ".join(name for name in has if has[name]) or "none"
    missing = ", ".join(name for name in has if not has[name])
    return f"{found} (missing: {missing})" if missing else found


def system() -> str:
    """The distribution, the kernel and the C library."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:  # no such file
        name = platform.system()
    return f"{name}, kernel {platform.release()}, {' '.join(platform.libc_ver())}"


def threads(tf: ModuleType) -> str:
    """The number of threads within an op, and the setting that it comes from.

    Args:
        tf: The module tensorflow.
    """
    count = tf.config.threading.get_intra_op_parallelism_threads()
    if count:
        return f"{count} within an op"
    if given := os.environ.get("TF_NUM_INTRAOP_THREADS"):
        return f"{given} within an op (TF_NUM_INTRAOP_THREADS)"
    return f"{len(os.sched_getaffinity(0))} within an op (TensorFlow's default)"
