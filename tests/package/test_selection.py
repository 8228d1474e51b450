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


def test_the_usual_tests_are_a_part_of_all(collected):
    usual, everything = (collected("--tests", t) for t in ("usual", "all"))
    assert set(usual) < set(everything) and len(everything) == 12 + 1 + 3 + 1
    assert collected() == usual
    assert {"test_some[1]", "test_plain"} <= set(usual)
    assert not {"test_thorough", "test_some[0]", "test_some[2]"} & set(usual)


def test_each_value_occurs(collected):
    cases = [name for name in collected() if name.startswith("test_product")]
    assert len(cases) == 3
    values = {value for case in cases for value in case.split("[")[1].rstrip("]").split("-")}
    assert values == {"x", "y", "z", "False", "True", "{}", "{'a': 1}"}


def test_a_named_test_runs(collected):
    assert collected("test_it.py::test_thorough") == ["test_thorough"]
    assert collected("--tests", "usual", "test_it.py::test_plain") == ["test_plain"]
