"""Skips that fail a run: support/skips.py on files of its own."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from support import skips, subproc

CONFTEST = f"""
import sys
sys.path.insert(0, {str(subproc.TESTS_DIR)!r})
from support.skips import pytest_make_collect_report, pytest_runtest_makereport
"""

TESTS = """
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
MODULE = """
import pytest
pytest.importorskip("no_such_package")
def test_it(): pass
"""


@pytest.fixture
def run(tmp_path):
    """A function that writes test_it.py and runs it: (exit status, output)."""
    (tmp_path / "conftest.py").write_text(CONFTEST)

    def with_text(text, *arguments):
        (tmp_path / "test_it.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-W", "ignore"]
        command += ["-c", "/dev/null", "--rootdir", str(tmp_path), *arguments]
        environment = {**os.environ, "PYTEST_ADDOPTS": ""}
        for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
            environment.pop(name, None)
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    return with_text


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "two workers"])
def test_a_skip_that_is_not_on_the_list_fails_the_run(workers, run):
    status, output = run(TESTS, *workers)
    assert status == pytest.ExitCode.TESTS_FAILED, output
    found = set(re.findall(r"^(?:FAILED|ERROR) test_it.py::test_(\S+)", output, re.MULTILINE))
    assert found == FAILED, output
    assert re.search(r"\b2 skipped, 1 xfailed\b", output), output
    for reason in ("no time", "could not import 'no_such_package'", "no fixture"):
        assert f"skipped, because: {reason}" in output
    status, output = run(TESTS, *workers, "-k", "allowed or known or passes")
    assert status == pytest.ExitCode.OK, output


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "two workers"])
def test_a_skipped_file_fails_the_run(workers, run):
    status, output = run(MODULE, *workers)
    assert status == (pytest.ExitCode.TESTS_FAILED if workers else pytest.ExitCode.INTERRUPTED), (
        output
    )
    assert "skipped, because: could not import 'no_such_package'" in output


def test_an_allowed_reason_must_hold():
    """The reasons are allowed only without PyTorch, and with an older TensorFlow or Keras."""
    assert skips.is_allowed("needs torch") == skips._no_torch()
    assert skips.is_allowed("there are no ops for XLA: it is cut off.") == skips._old_tensorflow()
    assert skips.is_allowed("this Keras has no RematScope") == skips._old_keras()


def test_this_run_has_the_hooks(pytestconfig):
    for name in ("pytest_runtest_makereport", "pytest_make_collect_report"):
        hooks = getattr(pytestconfig.hook, name).get_hookimpls()
        files = {pathlib.Path(hook.function.__code__.co_filename).name for hook in hooks}
        assert "skips.py" in files
