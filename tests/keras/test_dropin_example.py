"""Runs examples/keras_dropin."""

import pathlib
import re

import pytest

from support import subproc

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "keras_dropin" / "dropin.py"


def run_example(*arguments):
    return subproc.run([EXAMPLE, *arguments], timeout=300, env=subproc.environment())


def test_the_example_runs():
    done = run_example("--count", "64", "--length", "8", "--units", "4", "--epochs", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("s per epoch") == 3
    assert re.search(r"forward_lstm\S* +LSTM +fused$", done.stdout, re.MULTILINE)
    assert "predictions differ by at most" in done.stdout


@pytest.mark.parametrize("argument", ["--epochs=many", "--nonsense"])
def test_the_example_with_bad_arguments(argument):
    done = run_example(argument)
    assert done.returncode == 2 and "usage:" in done.stderr
