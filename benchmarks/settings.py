"""What a run can change around the peers: their instruction sets, and a core taken from them."""

import contextlib
import os
import subprocess
import sys

# The switches of each library, all set in every worker.
ISA_ENVIRONMENT = {
    "avx2": {
        "TF_RNN_OPS_CPU_ISA": "avx2",
        # oneDNN, also the copies inside PyTorch, TensorFlow and (where it is compiled in) OpenVINO.
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
    },
}

# Peers that go on using all the CPU has, as measured; said in the report, and no ratio is to them.
UNRESTRICTED = {
    "avx2": {
        "ONNX Runtime": "has no switch; it uses what the CPU has",
        "Keras jit": "ignores XLA's switch in its matrix products",
    },
}


def isa_environment(isa):
    """The variables of `isa`, none without."""
    return ISA_ENVIRONMENT[isa] if isa else {}


# Parent gone: exit, so that no core stays taken when the driver is killed.
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
    """Keeps the last `count` cores occupied, each by a process that stays on it."""
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
