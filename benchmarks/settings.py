"""The settings of a run for all libraries: restricted instruction sets, and occupied cores."""

import contextlib
import os
import pathlib
import subprocess
import sys

from benchmarks import machine

_SOURCE = pathlib.Path(__file__).resolve().with_name("avx2_cpu.c")
_LIBRARY = _SOURCE.parents[1] / "build" / "avx2_cpu.so"


def restrict(isa):
    """Starts this program again, on a CPU of that instruction set, if it does not run on one.

    WHY not the switches of the libraries: ONNX Runtime has none, and XLA's products ignore theirs.

    Args:
        isa: "avx2", for a CPU without AVX-512, VNNI and AMX; None for the CPU as it is.

    Raises:
        SystemExit: A CPU cannot look like one of AVX2 without a C compiler, on other CPUs than x86 with CPUID faulting.
    """
    if isa is None or machine.is_restricted():
        return
    _LIBRARY.parent.mkdir(exist_ok=True)
    command = ["cc", "-O1", "-shared", "-fPIC", str(_SOURCE), "-o", str(_LIBRARY)]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"--isa {isa} needs a C compiler and an x86 CPU: {error}") from error
    environment = {**os.environ, "LD_PRELOAD": str(_LIBRARY), machine.RESTRICTED: isa}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


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
