"""Runs the code of the pages on Keras and the example."""

import pathlib
import re

import pytest

from support import subproc

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {"keras.md": 6, "migration-keras.md": 3}  # and the number of their pieces of code
EXAMPLE = ROOT / "examples" / "keras_dropin" / "dropin.py"


@pytest.mark.parametrize("name", PAGES)
def test_page_runs(name, tmp_path, monkeypatch):
    page = ROOT / "docs" / name
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= PAGES[name]
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block in blocks:  # one after the other, as a reader would
        exec(compile(block, str(page), "exec"), names)


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
