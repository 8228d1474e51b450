"""Runs examples/contrib_classic."""

import pathlib
import re

import tensorflow as tf

from support import subproc

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_example(tmp_path):
    script = ROOT / "examples" / "contrib_classic" / "classic.py"
    process = subproc.run([script, "--steps", "40", "--folder", tmp_path], timeout=300)
    assert process.returncode == 0, process.stderr
    row = r"^(\w+) +loss ([\d.]+) -> ([\d.]+), after restoring ([\d.e+-]+) apart$"
    rows = re.findall(row, process.stdout, re.MULTILINE)
    assert [name for name, *_ in rows] == ["eager", "function", "session"]
    for _, first, last, difference in rows:
        assert float(last) < 0.5 * float(first)
        assert float(difference) < 1e-6
    names = [name for name, _ in tf.train.list_variables(str(tmp_path / "eager"))]
    assert names == [name for name, _ in tf.train.list_variables(str(tmp_path / "session"))]
    assert all(name in process.stdout for name in names)
