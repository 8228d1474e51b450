"""Benchmarks of int8 weights: the float64 results, the types of a row, the columns of the table."""

import dataclasses
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from support.reference import rnn, spec

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT))

from benchmarks import float64, machine, memory, peers, problems, report, worker  # noqa: E402


@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh", "relu"])
def test_float64_is_the_reference(cell):
    problem = problems.Problem(cell, T=4, B=3, I=5, H=6, L=2, D=2)
    x, _, weights = problems.make_data(problem)
    network = spec.RnnSpec(
        rnn_mode={"tanh": "rnn_tanh", "relu": "rnn_relu"}.get(cell, cell),
        layers=2,
        units=6,
        input_size=5,
        direction="bidirectional",
    )
    matrices = [w.ravel() for ws in weights for w in ws[:2]]
    params = np.concatenate(matrices + [b for ws in weights for b in ws[2:]])
    zeros = np.zeros((4, 3, 6))
    expected = rnn.forward(network, x, zeros, zeros, params.astype(np.float64)).output
    np.testing.assert_allclose(float64.run(problem, x, weights), expected, rtol=1e-12, atol=1e-14)


def test_int8_is_for_inference():
    problem = problems.parse("gru 1 2 3 4 1 1 int8")
    assert problem.name == "gru (1,2,3,4) int8"
    assert problem.has_mode(training=False) and not problem.has_mode(training=True)


def test_int8_weights_are_a_quarter_of_the_data():
    problem = problems.Problem("lstm", T=1, B=1, I=3, H=4)
    int8 = dataclasses.replace(problem, dtype="int8")
    weights = 4 * 4 * (3 + 4 + 2)
    assert memory.data_bytes(problem, False) - memory.data_bytes(int8, False) == 3 * weights


class _Int8:
    int8 = True


@pytest.mark.parametrize(
    ("dtype", "peer", "spec", "runs"),
    [
        ("int8", _Int8(), "ours:packed", "int8"),
        ("int8", object(), "ours:stack", None),
        ("int8", object(), "onednn:@float32", "float32"),
        ("int8", object(), "onednn:@bfloat16", "bfloat16"),
        ("bfloat16", object(), "onednn:@bfloat16", None),
        ("bfloat16", object(), "ours:stack@float32", "float32"),
        ("float32", object(), "ours:stack@float32", None),
        ("float32", object(), "ours:stack", "float32"),
    ],
)
def test_the_type_that_a_library_runs(dtype, peer, spec, runs):
    fields = dataclasses.asdict(problems.Problem("lstm", 1, 1, 1, 1, dtype=dtype))
    if runs is None:
        with pytest.raises(peers.Unsupported, match="only"):
            worker.read_problem(fields, peer, spec)
    else:
        assert worker.read_problem(fields, peer, spec).dtype == runs


def test_every_variant_of_ours_is_apart_from_the_other_libraries():
    ours = {name: spec for name, spec in peers.ALL.items() if name.startswith("tf_rnn_ops")}
    assert set(report.OURS) == {name for name, spec in ours.items() if "@" not in spec}
    assert set(report.OTHER_TYPES) == {name for name, spec in ours.items() if "@" in spec}


def test_speed_up_over_the_same_variant_in_float32():
    seconds = {"tf_rnn_ops float32": [9.0], "tf_rnn_ops packed float32": [6.0], "Other": [4.0]}
    seconds["tf_rnn_ops packed bfloat16"] = [1.0]
    row = {"seconds": {"tf_rnn_ops packed": [2.0], **seconds}}
    assert report.over_float32(row) == 3.0
    assert report.ratio(row) == 2.0
    assert report.over_float32({"seconds": {"tf_rnn_ops": [2.0], **seconds}}) == 4.5


@pytest.mark.parametrize(
    ("flags", "largest"),
    [({"avx2"}, 63), ({"avx2", "avx_vnni"}, 127), ({"avx2", "avx512_vnni"}, 127), (set(), 127)],
)
def test_weights_have_7_bits_where_sums_of_two_products_overflow(monkeypatch, flags, largest):
    monkeypatch.setattr(machine, "_flags", lambda: flags)
    assert machine.largest_int8() == largest


@pytest.mark.thorough
def test_int8_next_to_float32(tmp_path):
    shapes = tmp_path / "shapes.txt"
    shapes.write_text("lstm 5 3 20 24 1 1 int8\ngru 5 3 20 24 1 1 int8\n")
    names = ["tf_rnn_ops", "tf_rnn_ops packed", "tf_rnn_ops packed float32"]
    others = {"torch": "PyTorch", "onnxruntime": "ONNX Runtime"}
    names += [name for module, name in others.items() if importlib.util.find_spec(module)]
    command = [sys.executable, "-m", "benchmarks.run", str(shapes), "--rounds", "1", "--no-plots"]
    command += ["--threads", "1", "--output", str(tmp_path), "--peers", *names]
    # The workers import the same tf_rnn_ops as this process.
    env = dict(os.environ, PYTHONPATH=str(ROOT), BENCH_PYTHONPATH=os.environ.get("PYTHONPATH", ""))
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert [row["mode"] for row in rows] == ["inference", "inference"]
    for row in rows:
        run = [n for n in names[1:] if n != "ONNX Runtime" or row["problem"]["cell"] == "lstm"]
        assert list(row["seconds"]) == run, row["left_out"]
        assert row["differences"][names[2]] < 1e-5
        # A step of 8 bits is 1/127 of the largest value of a row, and the sums average the errors.
        assert 1e-5 < row["differences"][names[1]] < 2 / 127
        assert f"({row['differences'][names[1]]:.1e})" in done.stdout
    table = (tmp_path / "results.md").read_text()
    assert f"({rows[0]['differences'][names[2]]:.1e})" in table
    assert "over own float32" in table
