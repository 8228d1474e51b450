""".ci/run with other commands in the place of make: the parts of `make test-rest` that it runs."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUB = '#!/bin/bash\necho "called: ${0##*/} $*"\n'
TEST = ["make test PYTEST_ARGS=--ignore=../tests/package/wheel", "make test-neon"]


@pytest.fixture
def run(tmp_path):
    """Returns a function that runs .ci/run, as if it had begun `seconds` ago, and returns its lines."""
    (tmp_path / ".ci").mkdir()
    shutil.copy2(ROOT / ".ci/run", tmp_path / ".ci")
    for name in ("bin/make", "tools/test_readme.sh"):
        file = tmp_path / name
        file.parent.mkdir()
        file.write_text(STUB)
        file.chmod(0o755)
    git = tmp_path / "bin/git"

    def run(seconds, commit="0003"):
        git.write_text(f"#!/bin/bash\necho {commit}\n")
        git.chmod(0o755)
        environment = {"PATH": f"{git.parent}:/usr/bin:/bin", "SECONDS": str(seconds)}
        done = subprocess.run(
            [tmp_path / ".ci/run"], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    return run


def lines(said, start):
    return [line.removeprefix(start) for line in said if line.startswith(start)]


def test_everything_if_there_is_time(run):
    said = run(900)
    assert lines(said, "called: ") == [
        "test_readme.sh ",
        *TEST,
        "make test-rest PYTEST_ARGS=--parts=4,5,6,7,8,1,2,3/8",
    ]
    assert not lines(said, "left out")


def test_other_commits_begin_with_other_parts(run):
    rest = "called: make test-rest PYTEST_ARGS=--parts="
    said = run(2400)
    assert lines(said, rest) == ["4,5,6/8"]
    assert lines(said, "left out: ") == ["make test-rest PYTEST_ARGS=--parts=7,8,1,2,3/8"]
    assert lines(run(2400, "ffff"), rest) == ["8,1,2/8"]


@pytest.mark.parametrize("seconds", [2900, 5000])
def test_nothing_if_there_is_no_time(run, seconds):
    said = run(seconds)
    assert lines(said, "called: ") == ["test_readme.sh ", *TEST]
    assert lines(said, "left out: ") == ["make test-rest PYTEST_ARGS=--parts=4,5,6,7,8,1,2,3/8"]
