"""The processor and the threads of this process, as text."""

import os
import pathlib
import platform
from types import ModuleType

CPUINFO = pathlib.Path("/proc/cpuinfo")


def processor() -> str:
    """The name of the processor and the number of cores that this process may use."""
    model = platform.processor() or platform.machine()
    if CPUINFO.exists():
        names = [line for line in CPUINFO.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    return f"{model}, {len(os.sched_getaffinity(0))} usable cores"


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
