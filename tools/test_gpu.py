"""Every check and benchmark that needs a GPU, and the report of the run: `make test-gpu`.

    python tools/test_gpu.py [--device GPU:0] [--report docs/gpu-verification.md] [--only NAME ...]

PYTHON's environment has the tf_rnn_ops to test, TensorFlow with its GPU libraries, pytest, and
PyTorch with CUDA for what is compared with it. A step that fails does not stop the others. With
--device CPU:0 the steps run on the CPU, which only shows that they can.
"""

import argparse
import datetime
import functools
import importlib.util
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- begin report -->", "<!-- end report -->"
TAIL_LINES = 12
MOST_FAILURES = 100
# Several times what a step should take, so only one that hangs meets it.
TIMEOUT_SECONDS = 600
SLOW = {"sanitizer": 1800}


class Step:
    """One command of the run.

    Attributes:
        name: what --only calls it. command: the arguments. missing: a function that returns why the
        step is left out, or None; it is called at the step's turn, since it may take seconds.
        env: what it needs beside the environment of this process.
    """

    def __init__(self, name, command, missing=None, **env):
        self.name, self.command, self.missing, self.env = name, command, missing, env
        self.outcome, self.seconds, self.output = "not run", 0.0, ""

    def run(self, folder):
        reason = self.missing() if self.missing else None
        if reason:
            self.outcome = f"left out: {reason}"
            return
        start = time.monotonic()
        limit = SLOW.get(self.name, TIMEOUT_SECONDS)
        with open(folder / f"{self.name}.log", "w") as log:
            try:
                status = _run_group(self.command, limit, folder, {**os.environ, **self.env}, log)
                self.outcome = "passed" if status == 0 else f"FAILED ({status})"
            except subprocess.TimeoutExpired:
                self.outcome = f"FAILED (not finished after {limit} s)"
            except OSError as error:
                self.outcome = f"FAILED ({error})"
        self.seconds = time.monotonic() - start
        self.output = (folder / f"{self.name}.log").read_text(errors="replace")


def _run_group(command, limit, folder, env, log):
    """The command's exit status. Whatever happens, none of its processes goes on using the GPU."""
    process = subprocess.Popen(
        command, cwd=folder, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        return process.wait(limit)
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:  # the usual case: all have ended
            pass
        process.wait()


def cusolver_cure():
    """The environment in which pip's TensorFlow finds pip's cuSOLVER; empty where it needs none.

    The run path of TensorFlow 2.21's library lacks that folder, and no GPU registers without it. The
    step info runs without the cure, so that the report shows whether it is needed.
    """
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec else ():
        folder = pathlib.Path(root) / "cusolver" / "lib"
        if (folder / "libcusolver.so.11").exists():
            path = os.environ.get("LD_LIBRARY_PATH")
            return {"LD_LIBRARY_PATH": f"{folder}{os.pathsep}{path}" if path else str(folder)}
    return {}


def make_steps(device, folder):
    """All steps, in order: the quick and telling ones first."""
    python = sys.executable
    on_gpu = device.startswith("GPU")
    tests = ROOT / "tests"
    cure = cusolver_cure()
    place = {
        "TF_RNN_OPS_TEST_DEVICE": device,
        "CUDA_VISIBLE_DEVICES": "0" if on_gpu else "-1",
        # Tests start further processes on the GPU, which need memory too.
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        **cure,
    }
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    parity = str(tests / "parity" / "test_device_parity.py")
    core = tests / "gpu_core"
    library = str(folder / "core" / "libcore.so")
    # Without TensorFlow, and our own kernels alone: everything else would take many minutes.
    checked = ["compute-sanitizer", "--tool", "memcheck", "--error-exitcode", "9"]
    checked += ["--target-processes", "all", "--kernel-regex", "kns=block_lstm"]
    checked += [python, str(core / "block_lstm_checks.py"), library]
    benchmark = [python, "-c", _BENCHMARK, str(ROOT), "--device", device, "--output", str(folder)]

    def not_on_gpu():
        return None if on_gpu else "for a GPU"

    return [
        Step("info", [python, "-m", "tf_rnn_ops.info"]),
        Step("smi", ["nvidia-smi"], _no_program("nvidia-smi")),
        Step("core-build", ["bash", str(core / "build.sh"), str(folder / "core")]),
        Step("core-stack", [python, str(core / "checks.py"), library], _no_torch),
        Step("core-block", [python, str(core / "block_lstm_checks.py"), library], _no_torch),
        Step("parity", [*pytest, parity], **place),
        Step("gpu", [*pytest, str(tests / "gpu")], not_on_gpu, **place),
        Step("parity-standard", [*pytest, parity], TF_RNN_OPS_CUDNN_ALGO="standard", **place),
        Step("core-times", [python, str(core / "timings.py"), library], _no_torch),
        Step("benchmark", benchmark, **cure),
        Step("sanitizer", checked, lambda: _no_torch() or _no_program("compute-sanitizer")()),
    ]


# The source tree is put behind the installed packages, so that tf_rnn_ops is the installed one.
_BENCHMARK = (
    "import sys; sys.path = [p for p in sys.path if p] + [sys.argv.pop(1)]; "
    "from benchmarks.gpu import main; main()"
)
# Steps whose whole output belongs into the report.
_TABLES = {"core-times", "benchmark"}


@functools.cache
def _no_torch():
    """Why the core's programs cannot run. Slow: it imports PyTorch, in a process of its own."""
    command = [sys.executable, "-c", "import torch; assert torch.cuda.is_available()"]
    done = subprocess.run(command, capture_output=True, check=False)
    return None if done.returncode == 0 else "no PyTorch with CUDA here"


def _no_program(name):
    """A function that says why a program cannot run."""
    return lambda: None if shutil.which(name) else f"no {name} here"


def _commit():
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:  # a bare machine has no git
        return "unknown"
    return done.stdout.strip() or "unknown"


def _excerpt(step):
    """What the report shows of a step: its tables, or the end of what it printed."""
    lines = step.output.strip().splitlines()
    if step.name in _TABLES:
        tables = [line for line in lines if line.startswith(("|", "- "))]
        return "\n".join(tables) if tables else _fenced(lines[-TAIL_LINES:])
    if step.name in ("info", "smi"):
        return _fenced(lines)
    # Each failure's line, wherever it is: those of the core's checks and those of pytest's summary.
    earlier = [line for line in lines[:-TAIL_LINES] if line.startswith(("FAIL", "ERROR "))]
    return _fenced(earlier[:MOST_FAILURES] + lines[-TAIL_LINES:])


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


def write(path, text):
    """Puts the report between the marks of a page, or makes the page."""
    page = path.read_text() if path.exists() else f"{BEGIN}\n{END}\n"
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{text}{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="GPU:0")
    parser.add_argument("--report", type=pathlib.Path, default=ROOT / "docs" / "gpu-verification.md")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "test_gpu")
    parser.add_argument("--only", nargs="*", help="names of steps; default: all")
    args = parser.parse_args()
    # Steps are in groups of their own: whoever stops this process must stop them too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    steps = make_steps(args.device, folder)
    unknown = set(args.only or ()) - {step.name for step in steps}
    if unknown:
        parser.error(f"unknown steps {sorted(unknown)}; known: {[step.name for step in steps]}")
    steps = [step for step in steps if not args.only or step.name in args.only]
    command = " ".join(["python", "tools/test_gpu.py", *sys.argv[1:]])
    for step in steps:
        print(f"{step.name} ...", flush=True)
        step.run(folder)
        print(f"{step.name}: {step.outcome}, {step.seconds:.0f} s", flush=True)
        # After each step, so that a machine that goes away leaves what is done.
        write(args.report, report(steps, command, args.device))
    failed = [step.name for step in steps if step.outcome.startswith("FAILED")]
    print(f"report: {args.report}; {len(failed)} step(s) failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
