"""The cases that `make test` selects: support/selection.py on a file of its own."""

import os
import subprocess
import sys

import pytest

from support import subproc

CONFTEST = f"""
import sys
sys.path.insert(0, {str(subproc.TESTS_DIR)!r})
from support import selection

def pytest_addoption(parser):
    parser.addoption("--tests")
    parser.addoption("--parts")

def pytest_collection_modifyitems(config, items):
    selection.select(config, items)
"""

TESTS = """
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


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("selection")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS)
    for name in "abcdefgh":
        (folder / f"test_{name}.py").write_text(f"def test_{name}(): pass")

    def collect(*arguments):
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
        command += ["-c", "/dev/null", "--rootdir", str(folder), "-W", "ignore", *arguments]
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return [line.split("::")[1] for line in done.stdout.splitlines() if "::" in line]

    return collect


@pytest.mark.parametrize("tests", ["usual", "all"])
def test_every_test_is_in_one_part(collected, tests):
    parts = [collected("--tests", tests, f"--parts={k}/3") for k in (1, 2, 3)]
    assert all(parts)
    assert sorted(sum(parts, [])) == sorted(collected("--tests", tests))
    assert sorted(collected("--tests", tests, "--parts=3,1/3")) == sorted(parts[0] + parts[2])


def test_every_test_is_in_one_of_the_two_parts(collected):
    usual, rest, everything = (collected("--tests", t) for t in ("usual", "rest", "all"))
    assert sorted(usual + rest) == sorted(everything) and len(everything) == 12 + 1 + 3 + 1 + 8
    assert collected() == usual
    assert {"test_some[1]", "test_plain"} <= set(usual)
    assert {"test_thorough", "test_some[0]", "test_some[2]"} <= set(rest)


def test_each_value_occurs(collected):
    cases = [name for name in collected() if name.startswith("test_product")]
    assert len(cases) == 3
    values = {value for case in cases for value in case.split("[")[1].rstrip("]").split("-")}
    assert values == {"x", "y", "z", "False", "True", "{}", "{'a': 1}"}


def test_a_named_test_runs(collected):
    assert collected("test_it.py::test_thorough") == ["test_thorough"]
    assert collected("--tests", "usual", "test_it.py::test_plain") == ["test_plain"]
