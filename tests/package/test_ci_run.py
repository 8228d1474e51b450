""".ci/run with a small deadline and another make: its steps, its deadline and its table."""

import os
import shutil
import signal
import subprocess
import time

import pytest

from support.subproc import TESTS_DIR

ROOT = TESTS_DIR.parent
# make TARGET does what the file doing/TARGET says, else nothing.
MAKE = '#!/bin/bash\nfor target; do [ ! -e "doing/$target" ] || . "doing/$target"; done\n'
STEPS = ["make", "environment", "lint", "test", "readme", "counts"]


class Run:
    """A clone with .ci/run."""

    def __init__(self, folder):
        self.folder = folder
        (folder / ".ci").mkdir()
        shutil.copy2(ROOT / ".ci/run", folder / ".ci")
        self.write("bin/make", MAKE)
        self.write("tools/test_readme.sh", "#!/bin/bash\n")
        self.write(".venv/bin/python", "#!/bin/bash\n")

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def start(self, hard="100", path=os.environ["PATH"]):
        return subprocess.Popen(
            [str(self.folder / ".ci/run")],
            env={"PATH": f"{self.folder / 'bin'}:{path}", "TF_RNN_OPS_CI_HARD": hard},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def __call__(self, **options):
        return self.end(self.start(**options))

    def end(self, process):
        """The exit status and {step: its result} of the table."""
        self.output = process.communicate(timeout=200)[0]
        rows = self.output.rpartition("\nstep ")[2].splitlines()[1:]
        rows = [row.split(maxsplit=2) for row in rows if row[:7] != "failed:"]
        return process.returncode, {row[0]: row[2] for row in rows if len(row) == 3}


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def test_each_step_is_in_the_table(run):
    run.write(".venv/bin/python", "#!/bin/bash\necho test-neon\n")
    status, table = run()
    assert status == 0, run.output
    assert list(table) == [*STEPS[:-1], "test-neon", "counts", "total"]
    assert {table[step] for step in [*STEPS, "test-neon"]} == {"passed"}


@pytest.mark.parametrize("step", ["lint", "test", "bench-instructions"])
def test_a_failing_step_fails_the_run_and_the_next_ones_run(run, step):
    """But the counts of instructions, which are a report."""
    run.write(f"doing/{step}", "exit 3")
    status, table = run()
    assert list(table) == [*STEPS, "total"]
    assert status == (step != "bench-instructions")
    assert [row for row in STEPS if "FAILED with status 3" in table[row]] == [
        "counts" if step == "bench-instructions" else step
    ]


def test_without_an_environment_nothing_is_tested(run):
    run.write("doing/environment", "exit 2")
    status, table = run()
    assert status == 1 and list(table) == ["make", "environment", "total"]


def test_a_hanging_step_is_stopped(run):
    run.write("doing/test", 'trap "" TERM; sleep 1000')
    begin = time.monotonic()
    status, table = run(hard="3")
    assert time.monotonic() - begin < 100 and status == 1
    assert "STOPPED" in table["test"] and "NOT STARTED" in table["readme"]


def test_a_run_that_is_interrupted_prints_its_table(run):
    run.write("doing/test", "echo it runs; sleep 1000")
    process = run.start()
    for line in process.stdout:
        if line == "it runs\n":
            break
    process.send_signal(signal.SIGTERM)
    status, table = run.end(process)
    assert status == 1 and table["lint"] == "passed" and table["test"] == "INTERRUPTED"


@pytest.mark.parametrize("hard", ["many", "-1", "0", "0450"])
def test_a_deadline_that_is_none(run, hard):
    status, table = run(hard=hard)
    assert status == 1 and list(table) == ["total"] and f"={hard}:" in run.output


def test_a_missing_make_is_named(run):
    (run.folder / "bin/make").unlink()
    run.write("bin/id", "#!/bin/bash\necho 1000\n")
    for name in ("bash", "date", "dirname", "env", "getent", "timeout"):
        (run.folder / "bin" / name).symlink_to(shutil.which(name))
    status, table = run(path="")
    assert status == 1 and list(table) == ["make", "total"] and "make is missing" in run.output
