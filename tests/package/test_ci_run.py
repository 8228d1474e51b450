""".ci/run with small deadlines and other commands in the place of make: its steps, deadlines and table."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# make TARGET does what the file TARGET of the folder says, else nothing.
MAKE = '#!/bin/bash\necho "make $1"\nif [ -e "doing/$1" ]; then . "doing/$1"; fi\n'
STEPS = ["make", "environment", "lint", "cc-test", "readme", "install", "python", "gpu-mock"]
STEPS += ["executed", "neon", "counts"]
COMMANDS = "awk bash cat date dirname env git id make mkdir mktemp ps rm sed setsid sleep stat tail"


class Run:
    """A clone with .ci/run, in which make does nothing."""

    def __init__(self, folder):
        self.folder = folder
        for file in (".ci/run", "tests/support/plan.py", "tests/touched.txt"):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, folder / file)
        for file in ("tools/test_readme.sh", "tools/executed.py"):
            self.write(file, "#!/bin/bash\n")
        self.write("bin/make", MAKE)
        (folder / "doing").mkdir()
        self.write(".venv/bin/python", f'#!/bin/bash\nexec {sys.executable} "$@"\n')
        for name in COMMANDS.split():
            if not (folder / "bin" / name).exists():
                (folder / "bin" / name).symlink_to(shutil.which(name))
        git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(folder)]
        for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "m"]):
            subprocess.run([*git, *arguments], check=True)

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        # Not through a link to a program of the system.
        file.unlink(missing_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def start(self, **variables):
        environment = {
            "PATH": str(self.folder / "bin"),
            "TF_RNN_OPS_CACHE": str(self.folder / "cache"),
        }
        return subprocess.Popen(
            [str(self.folder / ".ci/run")],
            env={**environment, **{f"TF_RNN_OPS_{name}": str(v) for name, v in variables.items()}},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def __call__(self, **variables):
        process = self.start(**variables)
        self.output = process.communicate(timeout=200)[0]
        self.status = process.returncode
        return self.table()

    def table(self):
        """{step: its result} of the table at the end."""
        head, _, table = self.output.rpartition("\nstep ")
        assert head, self.output
        rows = [line.split(maxsplit=2) for line in table.splitlines()[1:] if line[:7] != "failed:"]
        return {row[0]: row[2] for row in rows if len(row) == 3}


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def test_each_step_is_in_the_table(run):
    table = run(CI_SOFT=100, CI_HARD=200)
    assert run.status == 0, run.output
    assert list(table) == [*STEPS, "total"]
    assert {table[step] for step in STEPS} == {"passed"}
    assert run.output.count("step lint took") == 1
    assert json.loads((run.folder / "cache/tests.json").read_text())["passed"]


def test_a_failing_step_fails_the_run_and_the_next_ones_run(run):
    run.write("doing/lint", "exit 3")
    table = run()
    assert run.status == 1
    assert "3" in table["lint"] and "FAILED" in table["lint"] and table["python"] == "passed"
    assert run.output.splitlines()[-1] == "failed: lint"
    assert not json.loads((run.folder / "cache/tests.json").read_text())["passed"]


def test_without_a_compiler_nothing_is_tested(run):
    run.write("doing/environment", "exit 2")
    table = run()
    assert run.status == 1 and list(table) == ["make", "environment", "total"]


def test_a_hanging_step_is_stopped_and_named(run):
    running = "mkdir -p build/running; printf tests/test_it.py::test_that_hangs >build/running/gw0"
    run.write("doing/cc-test", f'{running}; trap "" TERM; sleep 1000')
    begin = time.monotonic()
    table = run(CI_SOFT=1, CI_HARD=10)
    assert time.monotonic() - begin < 100
    assert run.status == 1
    assert "STOPPED" in table["cc-test"] and "NOT STARTED" in table["readme"]
    running = run.output.partition("\nrunning:\n")[2].partition("\nstep ")[0]
    assert "test_that_hangs" in running and "make cc-test" in running


def test_what_the_soft_deadline_leaves_out_is_due_in_the_next_run(run):
    """neon, when the change does not touch it."""
    session_later(run.folder)
    for _ in range(6):
        run.write("doing/lint", "sleep 1.5")
        table = run(CI_SOFT=1, CI_HARD=100)
        assert run.status == 0 and "left out" in table["counts"]
        if "left out" in table["neon"]:
            break
    (run.folder / "doing/lint").unlink()
    assert run(CI_SOFT=100, CI_HARD=100)["neon"] == "passed"
    assert run(CI_SOFT=100, CI_HARD=100)["neon"] not in ("passed", table["neon"])


def test_touched_kernels_run_behind_the_soft_deadline(run):
    session_later(run.folder)
    run.write("doing/lint", "sleep 1.5")
    (run.folder / "tests/touched.txt").write_text("cc neon\n")
    run.write("cc/file.cc", "")
    subprocess.run(["git", "-C", str(run.folder), "add", "cc/file.cc"], check=True)
    assert run(CI_SOFT=1, CI_HARD=100)["neon"] == "passed"


def test_instruction_counts_do_not_fail_the_run(run):
    run.write("doing/bench-instructions", "exit 1")
    assert "FAILED" in run(CI_SOFT=100, CI_HARD=100)["counts"] and run.status == 0


def session_later(folder):
    """Commits something hours after the last commit."""
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(folder)]
    last = subprocess.run([*git, "log", "-1", "--format=%ct"], capture_output=True, text=True)
    date = f"{int(last.stdout) + 36000} +0000"
    subprocess.run(
        [*git, "commit", "-q", "--allow-empty", "-m", "m"], check=True,
        env={**os.environ, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date},
    )  # fmt: skip


@pytest.mark.parametrize("deadlines", [("2400", "many"), ("-1", "10"), ("20", "10"), ("1", "0450")])
def test_deadlines_that_are_none(run, deadlines):
    table = run(CI_SOFT=deadlines[0], CI_HARD=deadlines[1])
    assert run.status == 1 and list(table) == ["total"]
    assert all(f"={value}" in run.output for value in deadlines)


def test_a_cache_that_cannot_be_written_is_named(run):
    (run.folder / "cache").write_text("a file")
    assert run()["python"] == "passed"
    assert run.status == 0 and str(run.folder / "cache") in run.output


def test_a_run_that_is_interrupted_prints_its_table(run):
    run.write("doing/cc-test", "sleep 1000")
    process = run.start()
    for line in process.stdout:
        if "make cc-test" in line and "===" not in line:
            break
    process.send_signal(signal.SIGTERM)
    run.output = process.communicate(timeout=200)[0]
    table = run.table()
    assert process.returncode == 1 and table["lint"] == "passed"
    assert table["cc-test"] == "INTERRUPTED" and "make cc-test" in run.output


def test_a_missing_tool_is_named(run):
    (run.folder / "bin/make").unlink()
    run.write("bin/id", "#!/bin/bash\necho 1000\n")
    table = run()
    assert run.status == 1 and list(table) == ["make", "total"]
    assert "make or procps is missing" in run.output
