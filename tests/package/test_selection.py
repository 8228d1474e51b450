"""The tests that a run selects, its deadlines, and the skips that fail it: support/selection.py, deadlines.py and
skips.py on a small project."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from support import selection

SUPPORT = ("__init__", "deadlines", "selection", "skips")
TESTS = """
import time, pytest

def test_short(): pass

@pytest.mark.thorough
def test_thorough(): pass

@pytest.mark.parametrize("k", [0, pytest.param(1, marks=pytest.mark.thorough)])
def test_cases(k): pass
"""
OTHERS = [f"contrib/test_{name}.py" for name in "abcdefgh"]
FILES = ["keras/test_of_a_change.py", "ops/test_changed.py", "ops/test_feature.py", *OTHERS]
SKIPS = """
import pytest

def test_allowed():
    pytest.skip("this CPU has no avx512")

@pytest.mark.skipif(True, reason="there is one CPU")
def test_allowed_by_mark(): pass

@pytest.mark.skip(reason="no time")
def test_mark(): pass

def test_call():
    pytest.skip("this CPU has no avx512 and no time")

def test_package():
    pytest.importorskip("no_such_package")

@pytest.fixture
def lacking():
    pytest.skip("no fixture")

def test_fixture(lacking): pass

@pytest.mark.skip
def test_without_a_reason(): pass

@pytest.mark.parametrize("none", [])
def test_of_no_cases(none): pass

@pytest.mark.xfail(reason="known")
def test_known(): assert False

def test_passes(): pass
"""
FAILED = {"mark", "call", "package", "fixture", "without_a_reason", "of_no_cases[NOTSET]"}
SKIPPED_FILE = "import pytest\npytest.importorskip('no_such_package')\ndef test_it(): pass\n"


@pytest.fixture
def run(tmp_path):
    """A function that runs the tests of a project: (exit status, {test that passed}).

    Its change is ops/test_changed.py and tf_rnn_ops/keras/layer.py.
    """
    tests = tmp_path / "tests"
    (tests / "support").mkdir(parents=True)
    for name in SUPPORT:
        shutil.copy2(selection.TESTS / f"support/{name}.py", tests / "support")
    shutil.copy2(selection.TESTS / "conftest.py", tests)
    (tests / "check.txt").write_text("tests/ops/test_feature.py::test_short\n")
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\ntimeout = 900\n")
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)

    def write(name, text=TESTS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def commit(hour):
        date = f"{1_700_000_000 + 3600 * hour} +0000"
        environment = {**os.environ, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
        subprocess.run([*git, "add", "."], check=True)
        command = [*git, "commit", "-q", "--allow-empty", "-m", "m"]
        subprocess.run(command, check=True, env=environment)

    def start(*arguments, path="tests", **variables):
        command = [sys.executable, "-m", "pytest", "-pno:cacheprovider", "-rA", "-Wignore"]
        environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"}
        for name in [n for n in environment if n.startswith(("PYTEST_XDIST", "TF_RNN_OPS_"))]:
            del environment[name]
        environment |= {f"TF_RNN_OPS_CI_{name}": str(value) for name, value in variables.items()}
        done = subprocess.run(
            [*command, *arguments, path],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        start.output = done.stdout + done.stderr
        passed = re.findall(r"^PASSED tests/(\S+)", start.output, re.MULTILINE)
        assert len(passed) == len(set(passed))
        return done.returncode, set(passed)

    for file in FILES:
        write(f"tests/{file}", TESTS if file != "ops/test_changed.py" else "")
    commit(0)
    write("tests/ops/test_changed.py")
    write("tf_rnn_ops/keras/layer.py", "")
    commit(9)
    start.write, start.commit = write, commit
    return start


def usual(*files):
    return {f"{file}::{test}" for file in files for test in ("test_short", "test_cases[0]")}


def all_of(*files):
    rest = {f"{file}::{test}" for file in files for test in ("test_thorough", "test_cases[1]")}
    return usual(*files) | rest


NEEDED = usual("keras/test_of_a_change.py") | all_of("ops/test_changed.py")
NEEDED |= {"ops/test_feature.py::test_short"}


def test_usual_tests_and_all(run):
    assert run() == (0, usual(*FILES)) == run("--tests=usual")
    assert run("--tests=all") == (0, all_of(*FILES))
    named = "ops/test_feature.py::test_thorough"
    assert run(path=f"tests/{named}") == (0, {named})


def test_a_landing_has_what_the_change_needs_and_each_file_within_six_turns(run):
    seen = set()
    for _ in range(selection.TURNS):
        status, passed = run("--tests=landing")
        assert status == 0 and passed > NEEDED and not seen & (passed - NEEDED)
        seen |= passed - NEEDED
        run.commit(9)
    assert seen == all_of(*FILES) - NEEDED


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_behind_the_soft_deadline_only_what_the_change_needs_runs(run, workers):
    status, passed = run("--tests=landing", workers, SOFT=0)
    assert status == 0 and passed == NEEDED
    assert re.search(r"SKIPPED \[\d+\] .*: the soft deadline has passed", run.output)


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_behind_the_hard_deadline_nothing_starts_and_the_run_fails(run, workers):
    status, passed = run("--tests=landing", workers, END=int(time.time()))
    assert status == pytest.ExitCode.INTERRUPTED and len(passed) < 5
    assert "the hard deadline has come" in run.output


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_failure_is_named_before_the_summary(run, workers):
    run.write("tests/ops/test_changed.py", "def test_it(): assert False\n")
    run(workers, path="tests/ops/test_changed.py")
    before, _, _ = run.output.partition("= FAILURES =")
    assert "failed: tests/ops/test_changed.py::test_it" in before


def test_a_hanging_test_ends_at_the_hard_deadline(run):
    run.write("tests/ops/test_changed.py", "import time\ndef test_it(): time.sleep(1000)\n")
    status, _ = run("--tests=landing", "-n1", "--timeout-method=thread", END=int(time.time()) + 10)
    assert status != 0 and "FAILED tests/ops/test_changed.py::test_it" in run.output


@pytest.mark.parametrize("variable", ["SOFT", "END", "BASE"])
def test_a_variable_that_is_none(run, variable):
    status, _ = run("--tests=landing", **{variable: "much"})
    assert status == pytest.ExitCode.USAGE_ERROR and f"TF_RNN_OPS_CI_{variable}=much" in run.output


def test_each_name_that_a_change_touches_exists():
    names = {name for names in selection.TOUCHES.values() for name in names.split()}
    makefile = (selection.TESTS.parent / "tools/maintenance.mk").read_text()
    assert all(re.search(f"^{target}:", makefile, re.MULTILINE) for target in selection.TARGETS)
    assert all((selection.TESTS / name).exists() for name in names - {*selection.TARGETS})
    assert all((selection.TESTS.parent / source).exists() for source in selection.TOUCHES)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "two workers"])
def test_a_skip_that_is_not_on_the_list_fails_the_run(workers, run):
    file = "tests/ops/test_skips.py"
    run.write(file, SKIPS)
    status, _ = run(*workers, path=file)
    assert status == pytest.ExitCode.TESTS_FAILED, run.output
    found = set(re.findall(rf"^(?:FAILED|ERROR) {file}::test_(\S+)", run.output, re.MULTILINE))
    assert found == FAILED, run.output
    assert re.search(r"\b2 skipped, 1 xfailed\b", run.output), run.output
    assert "no fixture" in run.output
    status, _ = run(*workers, "-k", "allowed or known or passes", path=file)
    assert status == pytest.ExitCode.OK, run.output
    run.write(file, SKIPPED_FILE)
    status, _ = run(*workers, path=file)
    assert status == (pytest.ExitCode.TESTS_FAILED if workers else pytest.ExitCode.INTERRUPTED)
    assert "no_such_package" in run.output
