"""NVIDIA's compute-sanitizer on small persistent kernels, where the machine has it. Run by run.py.

The program that it watches is suite.py with the section `sanitized`.
"""

import functools
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from checks import compare_layer
from persistent_checks import PERSISTENT, draw

PROGRAM = "compute-sanitizer"
TOOLS = ("memcheck", "racecheck")
SECONDS = 120
ERRORS = 99  # the exit status of PROGRAM if it found an error
HERE = pathlib.Path(__file__).resolve().parent


# mode, type and whether h has masks.
PROBLEMS = (
    ("lstm", "bfloat16", False),
    ("lstm", "bfloat16", True),
    ("gru", "float32", False),
    ("gru", "float32", True),
    ("gru_reset_before", "float32", False),
)


def sanitized_checks(core):
    for mode, dtype, masked in PROBLEMS:
        case = draw(mode, dtype, (2, 3, 5, 20), masked)
        yield (
            f"sanitized {mode} masked={masked}",
            functools.partial(compare_layer, core, case, algorithms=PERSISTENT),
        )


def run_tool(library, pretend, tool):
    """Runs it, with a line on standard output from time to time, so that nobody takes it for hung."""
    if shutil.which(PROGRAM) is None:
        return True, f"not run: {PROGRAM} is not on PATH"
    command = [PROGRAM, "--tool", tool, "--error-exitcode", str(ERRORS), sys.executable, "-B"]
    command += [str(HERE / "suite.py"), str(library), "--sections", "sanitized"]
    # Each tensor in memory of its own, so that an access beyond its end shows.
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    process = subprocess.Popen(
        command + ["--pretend"] * pretend,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # the suite is a child of PROGRAM
    )
    output = None
    for waited in range(0, SECONDS, 10):
        try:
            output, _ = process.communicate(timeout=10)
            break
        except subprocess.TimeoutExpired:
            print(f"{PROGRAM} {tool}: {waited + 10} s", flush=True)
    if output is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return False, f"stopped after {SECONDS} s"
    checks = [line for line in output.splitlines() if line.startswith(("ok  ", "FAIL"))]
    good = (
        process.returncode == 0
        and len(checks) == len(PROBLEMS)
        and all(c[0] == "o" for c in checks)
    )
    return good, f"{len(checks)} checks, status {process.returncode}; {output[-1500:]}"


def sanitizer_checks(library, pretend):
    for tool in TOOLS:
        yield f"sanitizer {tool}", functools.partial(run_tool, library, pretend, tool)
