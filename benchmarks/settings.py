"""The settings of a run for all libraries: restricted instruction sets, and occupied cores."""

import contextlib
import os
import subprocess
import sys

# The switches of all libraries. All are set in every worker.
ISA_ENVIRONMENT = {
    "avx2": {
        "TF_RNN_OPS_CPU_ISA": "avx2",
        # oneDNN, also the copies inside of PyTorch, TensorFlow and, if it is compiled in, OpenVINO.
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
    },
}

# Libraries that ignore the restriction, as measured. The report names them, and they do not count in
# ratios.
UNRESTRICTED = {
    "avx2": {
        "ONNX Runtime": "has no switch; it uses what the CPU has",
        "ONNX Runtime float32": "has no switch; it uses what the CPU has",
        "Keras jit": "ignores XLA's switch in its matrix products",
    },
}


def isa_environment(isa):
    """The variables for `isa`; none for None."""
    return ISA_ENVIRONMENT[isa] if isa else {}


# The process exits when its parent has ended, so that no core stays occupied when the driver is killed.
_BUSY = """
import os, sys
parent = os.getppid()
os.sched_setaffinity(0, {int(sys.argv[1])})
print("ready", flush=True)
while os.getppid() == parent:
    for _ in range(1000000): pass
"""


@contextlib.contextmanager
def busy_cores(count):
    """Occupies the last `count` cores, each by a process that is bound to it."""
    cores = sorted(os.sched_getaffinity(0))[-count:] if count else []
    processes = [
        subprocess.Popen([sys.executable, "-c", _BUSY, str(core)], stdout=subprocess.PIPE)
        for core in cores
    ]
    try:
        for process in processes:
            process.stdout.readline()
        yield cores
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()
