"""The cases that `make test` selects, and the skips that fail a run: support/selection.py and skips.py on a file."""

import os
import re
import subprocess
import sys

import pytest

from support import subproc

CONFTEST = f"""
import sys
sys.path.insert(0, {str(subproc.TESTS_DIR)!r})
from support import selection
from support.skips import pytest_make_collect_report, pytest_runtest_makereport

def pytest_addoption(parser):
    parser.addoption("--tests")

def pytest_collection_modifyitems(config, items):
    selection.select(config, items)
"""
CASES = """
import pytest
from support.selection import all_but

@pytest.mark.each_value
@pytest.mark.parametrize("given", [{}, {"a": 1}], ids=str)
@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("name", ["x", "y", "z"])
def test_product(name, flag, given): pass

@pytest.mark.thorough
def test_thorough(): pass

@pytest.mark.parametrize("k", all_but([0, 1, 2], 1))
def test_some(k): pass

def test_plain(): pass
"""
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
    """A function that writes test_it.py and runs it: (exit status, output)."""
    (tmp_path / "conftest.py").write_text(CONFTEST)

    def with_text(text, *arguments):
        (tmp_path / "test_it.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "ignore"]
        command += ["-c", "/dev/null", "--rootdir", str(tmp_path), *arguments]
        environment = {**os.environ, "PYTEST_ADDOPTS": ""}
        for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
            environment.pop(name, None)
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    return with_text


@pytest.fixture
def collected(run):
    def collect(*arguments):
        status, output = run(CASES, "-q", "--collect-only", *arguments)
        assert status == 0, output
        return [line.split("::")[1] for line in output.splitlines() if "::" in line]

    return collect


def test_the_usual_tests_are_a_part_of_all_with_each_value(collected):
    usual, everything = (collected("--tests", t) for t in ("usual", "all"))
    assert set(usual) < set(everything) and len(everything) == 12 + 1 + 3 + 1
    assert collected() == usual
    assert {"test_some[1]", "test_plain"} <= set(usual)
    assert not {"test_thorough", "test_some[0]", "test_some[2]"} & set(usual)
    cases = [name for name in usual if name.startswith("test_product")]
    assert len(cases) == 3
    values = {value for case in cases for value in case.split("[")[1].rstrip("]").split("-")}
    assert values == {"x", "y", "z", "False", "True", "{}", "{'a': 1}"}


def test_a_named_test_runs(collected):
    assert collected("test_it.py::test_thorough") == ["test_thorough"]
    assert collected("--tests", "usual", "test_it.py::test_plain") == ["test_plain"]


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "two workers"])
def test_a_skip_that_is_not_on_the_list_fails_the_run(workers, run):
    status, output = run(SKIPS, "-rA", *workers)
    assert status == pytest.ExitCode.TESTS_FAILED, output
    found = set(re.findall(r"^(?:FAILED|ERROR) test_it.py::test_(\S+)", output, re.MULTILINE))
    assert found == FAILED, output
    assert re.search(r"\b2 skipped, 1 xfailed\b", output), output
    assert "no fixture" in output
    status, output = run(SKIPS, *workers, "-k", "allowed or known or passes")
    assert status == pytest.ExitCode.OK, output
    status, output = run(SKIPPED_FILE, "-rA", *workers)
    assert status == (pytest.ExitCode.TESTS_FAILED if workers else pytest.ExitCode.INTERRUPTED)
    assert "no_such_package" in output
