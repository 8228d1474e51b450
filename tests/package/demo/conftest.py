"""Where the demo is, and how its tests run it: as a user does, in a process of its own."""

import pathlib
import subprocess
import sys

import pytest

DEMO = pathlib.Path(__file__).resolve().parents[3] / "examples" / "japanese_vowels"
if str(DEMO) not in sys.path:
    sys.path.insert(0, str(DEMO))


@pytest.fixture(scope="session")
def run_demo():
    """Returns a function that runs a script of the demo and returns the finished process."""

    def run(*arguments, script="demo.py", cwd=None):
        return subprocess.run(
            [sys.executable, str(DEMO / script), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=cwd,
            check=False,
        )

    return run
