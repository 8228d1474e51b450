"""benchmarks/exported.py, which compares the results of the files before it measures them."""

import json
import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3]))

from benchmarks import exported  # noqa: E402


@pytest.mark.thorough
def test_small_run(tmp_path):
    output = tmp_path / "exported.json"
    exported.main(["3 2 4 5", "--rounds", "1", "--output", str(output)])
    rows = json.loads(output.read_text())["rows"]
    assert [(row["format"], row["target_op"]) for row in rows] == [
        ("onnx", "LSTM"),
        ("onnx", "GRU"),
        ("litert", "UNIDIRECTIONAL_SEQUENCE_LSTM"),
        ("litert", "loop"),
    ]
    assert all(row["ratio"] > 0 for row in rows)
