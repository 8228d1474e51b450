"""Runs every check and benchmark that needs a GPU, and writes a report: `make test-gpu`.

    python tools/test_gpu.py [--device GPU:0] [--seconds 540] [--report PAGE] [--only NAME ...]

The environment must have the tf_rnn_ops to test, TensorFlow with its GPU libraries, pytest, and PyTorch
with CUDA for comparisons. A failed step does not stop other steps. The time of a step is at most its own
limit and the rest of --seconds. The report is written before and after each step and every few seconds
within a step, so it is complete up to the moment at which a machine is lost. With --device CPU:0 the steps
run on the CPU, as a test of this script.
"""

import argparse
import datetime
import functools
import importlib.util
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import time

import verification_page

ROOT = pathlib.Path(__file__).resolve().parents[1]
PART = "tensorflow"
TAIL_LINES = 12
MOST_FAILURES = 100
MOST_SHARES = 20
# Several times the usual time of a step, so that only a step that hangs reaches it.
TIMEOUT_SECONDS = 600
# The time between two reports within a step.
REPORT_SECONDS = 5
# The least time that is left for starting a step.
FEWEST_SECONDS = 5


class Step:
    """One command of the run.

    Attributes:
        name: The name for --only.
        command: The arguments.
        missing: A function that returns the reason why the step is skipped, or None. It may take seconds,
        so it is called just before the step.
        env: Variables in addition to the environment of this process.
    """

    def __init__(self, name, command, missing=None, **env):
        self.name, self.command, self.missing, self.env = name, command, missing, env
        self.outcome, self.seconds, self.output = "not run", 0.0, ""

    def run(self, folder, seconds=TIMEOUT_SECONDS, progress=lambda: None):
        """Runs the step for at most `seconds`, and calls progress() every few seconds."""
        reason = self.missing() if self.missing else None
        if reason:
            self.outcome = f"left out: {reason}"
            return
        start = time.monotonic()
        log = folder / f"{self.name}.log"

        def note():
            self.seconds = time.monotonic() - start
            self.output = log.read_text(errors="replace")

        def tick():
            self.outcome = "running"
            note()
            progress()

        with open(log, "w") as output:
            try:
                status = _run_group(
                    self.command, seconds, folder, {**os.environ, **self.env}, output, tick
                )
                self.outcome = "passed" if status == 0 else f"FAILED ({status})"
            except subprocess.TimeoutExpired:
                self.outcome = f"FAILED (not finished after {seconds:.0f} s)"
            except OSError as error:
                self.outcome = f"FAILED ({error})"
        note()


def _run_group(command, limit, folder, env, log, tick):
    """Runs a command and returns its exit status. Always ends all of its processes, which may use the GPU."""
    end = time.monotonic() + limit
    process = subprocess.Popen(
        command, cwd=folder, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        while True:
            tick()
            left = end - time.monotonic()
            try:
                return process.wait(max(0, min(left, REPORT_SECONDS)))
            except subprocess.TimeoutExpired:
                if left <= REPORT_SECONDS:
                    raise
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:  # the usual case: all have ended
            pass
        process.wait()


def cusolver_cure():
    """The environment in which pip's TensorFlow finds pip's cuSOLVER; empty if it needs none.

    The run path of TensorFlow 2.21's library lacks that folder, and TensorFlow registers no GPU without
    cuSOLVER. The step `info` runs without this environment, so that the report shows whether it is needed.
    """
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec else ():
        folder = pathlib.Path(root) / "cusolver" / "lib"
        if (folder / "libcusolver.so.11").exists():
            path = os.environ.get("LD_LIBRARY_PATH")
            return {"LD_LIBRARY_PATH": f"{folder}{os.pathsep}{path}" if path else str(folder)}
    return {}


def make_steps(device, folder, page=None, short=False):
    """All steps, in order. Fast steps with much information come first.

    Args:
        device: The device of the ops.
        folder: The folder for logs and results.
        page: The file for the core's own report; None for no report.
        short: Whether to run a shorter benchmark.
    """
    python = sys.executable
    on_gpu = device.startswith("GPU")
    tests = ROOT / "tests"
    cure = cusolver_cure()
    place = {
        "TF_RNN_OPS_TEST_DEVICE": device,
        "CUDA_VISIBLE_DEVICES": "0" if on_gpu else "-1",
        # Tests start more processes on the GPU, which also need memory.
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        **cure,
    }
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    parity = str(tests / "ops" / "parity" / "test_device_parity.py")
    core = [python, str(tests / "gpu" / "core" / "run.py")]
    core += ["--library", str(folder / "core" / "libcore.so")]
    core_report = ["--report", str(page)] if page else []
    # WHY only our own kernels, without TensorFlow: other programs would take many minutes.
    checked = ["compute-sanitizer", "--tool", "memcheck", "--error-exitcode", "9"]
    checked += ["--target-processes", "all", "--kernel-regex", "kns=block_lstm"]
    checked += [*core, "--only", "block"]
    benchmark = [python, "-c", _BENCHMARK, str(ROOT), "gpu", "--device", device]
    benchmark += ["--output", str(folder / "benchmark")]
    if short:
        benchmark += ["--rounds", "3", "--peers", *_STACK_PEERS]

    def not_on_gpu():
        return None if on_gpu else "for a GPU"

    return [
        Step("import", [python, "-c", _IMPORT], CUDA_VISIBLE_DEVICES="-1"),
        Step("smi", ["nvidia-smi"], _no_program("nvidia-smi")),
        Step("one-op", [*pytest, parity, "-k", "working_sizes and lstm"], **place),
        Step("info", [python, "-m", "tf_rnn_ops", "info"]),
        Step("parity", [*pytest, parity], **place),
        Step("benchmark", benchmark, **cure),
        Step(
            "gpu",
            [*pytest, str(tests / "gpu" / "device")],
            not_on_gpu,
            **place,
        ),
        Step("parity-standard", [*pytest, parity], TF_RNN_OPS_CUDNN_ALGO="standard", **place),
        Step("core", [*core, *core_report], _no_torch),
        Step("sanitizer", checked, lambda: _no_torch() or _no_program("compute-sanitizer")()),
    ]


_IMPORT = "import tensorflow, tf_rnn_ops; print('TensorFlow', tensorflow.__version__)"
# The libraries of `benchmarks.run gpu`, without the BlockLSTM ops.
_STACK_PEERS = ("tf_rnn_ops", "TF CudnnRNNV3", "PyTorch")
# The source tree comes after the installed packages in the path, so that the installed tf_rnn_ops is used.
_BENCHMARK = (
    "import sys; sys.path = [p for p in sys.path if p] + [sys.argv.pop(1)]; "
    "from benchmarks.run import main; main()"
)
# Steps whose whole output is a part of the report.
_TABLES = {"benchmark"}


@functools.cache
def _no_torch():
    """The reason why the core's programs cannot run, or None.

    It is slow: it imports PyTorch in a new process.
    """
    command = [sys.executable, "-c", "import torch; assert torch.cuda.is_available()"]
    done = subprocess.run(command, capture_output=True, check=False)
    return None if done.returncode == 0 else "no PyTorch with CUDA here"


def _no_program(name):
    """A function that returns the reason why a program cannot run."""
    return lambda: None if shutil.which(name) else f"no {name} here"


def _commit():
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:  # a bare machine has no git
        return "unknown"
    return done.stdout.strip() or "unknown"


_SHARE = re.compile(r"^(\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf) of the bound: ")
_FAILURE = re.compile(r"^(FAIL|ERROR )|\bFAILED ")


def _excerpt(step):
    """The part of a step's output for the report: its tables, or the end of the output."""
    lines = step.output.strip().splitlines()
    if step.name in _TABLES:
        tables = [line for line in lines if line.startswith(("|", "- "))]
        return "\n".join(tables) if tables else _fenced(lines[-TAIL_LINES:])
    if step.name in ("info", "smi"):
        return _fenced(lines)
    # The line of each failure, and how near the other checks came to their bounds.
    shares = [line for line in lines if _SHARE.match(line)]
    shares.sort(key=lambda line: -float(_SHARE.match(line)[1]))
    others = [line for line in lines if not _SHARE.match(line)]
    earlier = [line for line in others[:-TAIL_LINES] if _FAILURE.search(line)]
    return _fenced([*shares[:MOST_SHARES], *earlier[:MOST_FAILURES], *others[-TAIL_LINES:]])


def _fenced(lines):
    return "\n".join(["```", *lines, "```"])


def report(steps, command, device):
    """The report as Markdown."""
    out = [
        f"Date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC. "
        f"Commit: {_commit()}. Device: {device}. Python {platform.python_version()}.",
        "",
        f"Command: `{command}`",
        "",
        "| step | outcome | seconds |",
        "| --- | --- | --- |",
    ]
    out += [f"| {step.name} | {step.outcome} | {step.seconds:.0f} |" for step in steps]
    for step in steps:
        if step.output:
            out += ["", f"### {step.name}: {step.outcome}", "", _excerpt(step)]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--device", default="GPU:0", help="TensorFlow's name of the device (default: %(default)s)"
    )
    parser.add_argument("--seconds", type=float, help="for all steps; default: no limit")
    parser.add_argument(
        "--report",
        type=pathlib.Path,
        default=ROOT / "build" / "test_gpu" / "report.md",
        help="page to write the results into (default: build/test_gpu/report.md)",
    )
    parser.add_argument(
        "--folder",
        type=pathlib.Path,
        default=ROOT / "build" / "test_gpu",
        help="folder for logs (default: build/test_gpu)",
    )
    parser.add_argument("--only", nargs="*", help="names of steps; default: all")
    args = parser.parse_args()
    end = time.monotonic() + (args.seconds or float("inf"))
    # Steps are in their own process groups, so a signal to this process must stop them too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    folder, page = args.folder.resolve(), args.report.resolve()
    for path in (folder, page.parent):
        path.mkdir(parents=True, exist_ok=True)
    steps = make_steps(args.device, folder, page, short=args.seconds is not None)
    unknown = set(args.only or ()) - {step.name for step in steps}
    if unknown:
        parser.error(f"unknown steps {sorted(unknown)}; known: {[step.name for step in steps]}")
    steps = [step for step in steps if not args.only or step.name in args.only]
    command = " ".join(["python", "tools/test_gpu.py", *sys.argv[1:]])

    def progress():
        verification_page.write(page, PART, report(steps, command, args.device))

    for step in steps:
        left = end - time.monotonic()
        if left < FEWEST_SECONDS:
            step.outcome = "not run: the time was over"
        else:
            print(f"{step.name} ...", flush=True)
            step.run(folder, min(left, TIMEOUT_SECONDS), progress)
        print(f"{step.name}: {step.outcome}, {step.seconds:.0f} s", flush=True)
        progress()
        if step.name == "import" and step.outcome != "passed":
            print("Without TensorFlow nothing else can run.", flush=True)
            break
    failed = [step.name for step in steps if step.outcome.startswith("FAILED")]
    print(f"report: {page}; {len(failed)} step(s) failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
