"""The options of a benchmark run: other types, instruction sets, a busy core, memory."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

import tf_rnn_ops
from support.waiting import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT))

from benchmarks import kernel_sizes, problems, report, settings, shape_costs, tables  # noqa: E402
from benchmarks.client import Worker, WorkerError  # noqa: E402


def environment():
    # The workers import the same tf_rnn_ops as this process.
    return dict(os.environ, PYTHONPATH=str(ROOT), BENCH_PYTHONPATH=os.environ.get("PYTHONPATH", ""))


def run_module(name, *args):
    command = [sys.executable, "-m", f"benchmarks.{name}", *map(str, args)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.thorough
def test_a_saved_model_runs_through_the_c_interface(tmp_path):
    shapes = tmp_path / "shapes.txt"
    shapes.write_text("gru 3 2 4 5 2 2\n")
    names = ["tf_rnn_ops", "tf_rnn_ops SavedModel"]
    run_module(
        "run", shapes, "--rounds", 1, "--threads", 1, "--mode", "inference", "--no-plots",
        "--output", tmp_path, "--peers", *names,
    )  # fmt: skip
    (row,) = json.loads((tmp_path / "results.json").read_text())["rows"]
    # The libraries that agree with the first.
    assert list(row["seconds"]) == names, row["left_out"]


@pytest.mark.thorough
def test_bfloat16_on_avx2_with_a_busy_core_and_memory(tmp_path):
    shapes = tmp_path / "shapes.txt"
    shapes.write_text("lstm 4 3 8 16 1 1 bfloat16\n")
    names = ["tf_rnn_ops", "tf_rnn_ops float32"]
    run_module(
        "run", shapes, "--rounds", 2, "--threads", 1, "--isa", "avx2", "--busy", 1, "--memory",
        "--mode", "training", "--no-plots", "--output", tmp_path, "--peers", *names,
    )  # fmt: skip
    results = json.loads((tmp_path / "results.json").read_text())
    assert "(avx2)" in results["versions"]["tf_rnn_ops"]
    (row,) = results["rows"]
    assert list(row["seconds"]) == list(row["busy_seconds"]) == names, row["left_out"]
    # Compared with float32, and not equal to it.
    assert 0 < row["differences"]["tf_rnn_ops"] < 0.06
    assert report.over_float32(row) > 0
    assert set(report.slowdowns(row)) == set(names)
    for name in names:
        assert row["memory"][name]["peak"] >= 0
        assert row["memory"][name]["reserve"] > 0
    table = (tmp_path / "results.md").read_text()
    for text in ("over own float32", "ONEDNN_MAX_CPU_ISA=AVX2", "not restricted: ONNX Runtime"):
        assert text in table
    assert table.count("| lstm (4,3,8,16) bfloat16 |") == 4


@pytest.mark.thorough
def test_dropout_is_of_layers_and_training(tmp_path):
    shapes = tmp_path / "shapes.txt"
    shapes.write_text("gru 4 3 8 16 dropout=0.2\n")
    names = ["tf_rnn_ops Keras", "Keras"]
    run_module(
        "run", shapes, "--rounds", 1, "--threads", 1, "--no-plots", "--output", tmp_path,
        "--peers", *names,
    )  # fmt: skip
    (row,) = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert row["mode"] == "training"
    assert list(row["seconds"]) == names, row["left_out"]
    assert report.own(row)[0] == "tf_rnn_ops Keras"
    assert (
        report.ratio(row) == report.medians(row)["Keras"] / report.medians(row)["tf_rnn_ops Keras"]
    )


@pytest.mark.parametrize("word", ["dropout=1", "dropout=x", "dropout=-0.5", "rate=0.2"])
def test_refuses_a_bad_option(word):
    with pytest.raises(ValueError, match="not a problem"):
        problems.parse(f"lstm 1 2 3 4 {word}")


def test_a_projection_halves_the_output():
    problem = problems.parse("lstm_projected 5 2 3 8")
    x, dy, [(w_ih, w_hh, _, _)] = problems.make_data(problem)
    assert (x.shape, dy.shape) == ((5, 2, 3), (5, 2, 4))
    assert (w_ih.shape, w_hh.shape) == ((32, 3), (32, 4))
    assert problem.flops(training=False) == 2 * 5 * 2 * (32 * (3 + 4) + 8 * 4)


def test_reads_dropout():
    problem = problems.parse("lstm 1 2 3 4 dropout=0.25")
    assert problem.dropout == 0.25
    assert problem.name == "lstm (1,2,3,4) dropout=0.25"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh"])
def test_reserve_of_the_kernel_table_is_that_of_the_op(cell, dtype):
    p = problems.Problem(cell, T=7, B=3, I=5, H=18, L=2, D=2, dtype=dtype)
    sizes = kernel_sizes.sizes(
        pathlib.Path(tf_rnn_ops.__file__).parent, tf_rnn_ops.cpu_isa(), p, training=True, threads=1
    )
    if sizes is None:
        assert tf_rnn_ops.cpu_isa() == "baseline"
        return
    layers = [problems.GATES[cell] * p.H * p.D * (n + p.H + 2) for n in (p.I, p.D * p.H)]
    states = tf.zeros([p.L * p.D, p.B, p.H], dtype)
    result = tf_rnn_ops.raw_ops.CudnnRNNV3(
        input=tf.zeros([p.T, p.B, p.I], dtype),
        input_h=states,
        input_c=states if cell == "lstm" else tf.zeros([], dtype),
        params=tf.zeros([sum(layers)], dtype),
        sequence_lengths=tf.fill([p.B], p.T),
        rnn_mode={"tanh": "rnn_tanh"}.get(cell, cell),
        direction="bidirectional",
        is_training=True,
    )
    space = result.reserve_space
    elements = -(-sizes["reserve"] // space.dtype.size)
    assert int(tf.size(space)) == elements
    assert sizes["forward_scratch"] > 0 < sizes["backward_scratch"]


def test_busy_cores_are_taken_and_given_back():
    others = _children()
    with settings.busy_cores(1) as cores:
        assert len(cores) == 1
        (child,) = (pathlib.Path(f"/proc/{pid}") for pid in _children() - others)

        def ticks():
            return int((child / "stat").read_text().rpartition(")")[2].split()[11])

        begun = ticks()
        assert wait_for(lambda: ticks() > begun)
    assert not child.exists()


def _children():
    """The processes that this thread has started and that have not ended."""
    return set(pathlib.Path("/proc/thread-self/children").read_text().split())


def test_a_worker_that_died_is_reported_and_started_again(tmp_path):
    path = os.environ.get("PYTHONPATH", "")
    worker = Worker("ours", "ours:stack", 1, {"PYTHONPATH": path, "TF_RNN_OPS_CPU_ISA": "baseline"})
    try:
        assert "(baseline)" in worker.version
        worker.process.kill()
        worker.process.wait()
        with pytest.raises(WorkerError, match="ended with code"):
            worker.time(1)
        problem = problems.Problem("lstm", 2, 2, 2, 2)
        worker.prepare(dataclasses.asdict(problem), False, tmp_path / "y.npz")
        assert len(worker.time(3)) == 3
    finally:
        worker.close()


def test_a_worker_is_stopped_while_it_is_not_asked():
    def stops(process):
        status = pathlib.Path(f"/proc/{process.pid}/status")
        return wait_for(lambda: "State:\tT" in status.read_text())

    path = os.environ.get("PYTHONPATH", "")
    worker = Worker("ours", "ours:stack", 1, {"PYTHONPATH": path})
    try:
        assert stops(worker.process)
        with pytest.raises(WorkerError):  # nothing is prepared
            worker.time(1)
        assert stops(worker.process)
    finally:
        worker.close()


def test_no_ratio_to_a_peer_that_is_not_restricted():
    seconds = {"tf_rnn_ops": [2.0], "PyTorch": [3.0], "ONNX Runtime": [1.0]}
    assert report.ratio({"seconds": seconds}) == 0.5
    assert report.ratio({"seconds": seconds, "unrestricted": ["ONNX Runtime"]}) == 1.5


def test_tables_leave_out_what_was_not_measured():
    assert tables.extra({"rows": [{"name": "p", "memory": {}}], "busy": 0}) == []


@pytest.mark.thorough
def test_shape_costs(tmp_path):
    output = tmp_path / "costs.json"
    run_module(
        "shape_costs", "--rounds", 1, "--scale", 50, "--cases", "B=3 beside", "--output", output
    )
    rows = json.loads(output.read_text())["rows"]
    assert [row["mode"] for row in rows] == ["inference", "training"]
    assert all(row["factor"] > 0 and row["expected"] == 1 for row in rows)
    assert output.with_suffix(".md").read_text().count("B=3 beside 4") == 2


def test_expected_cost_of_lengths():
    random = [case for case in shape_costs.cases() if case.other.lengths == "random"]
    assert len(random) == 4
    for case in random:
        assert 0.3 < shape_costs.expected(case) < 0.8


def test_shape_costs_mark_what_is_over():
    row = {"case": "c", "mode": "m", "threads": 1, "seconds": [1, 2], "allowed": 1.15}
    assert "**1.20**" in shape_costs.table([dict(row, factor=0.6, expected=0.5)])
    assert "| 1.10 |" in shape_costs.table([dict(row, factor=0.55, expected=0.5)])


@pytest.mark.thorough
def test_streaming(tmp_path):
    output = tmp_path / "streaming.json"
    run_module(
        "streaming", "--cells", "gru", "--input", 4, "--units", 8, "--steps", 5, "--rounds", 1,
        "--calls", 5, "--output", output,
    )  # fmt: skip
    (row,) = json.loads(output.read_text())["rows"]
    assert list(row["call"]) == list(row["loop"])
    assert {"nothing", "tf_rnn_ops LayerRNN", "tf_rnn_ops Keras layer", "Keras layer"} <= set(
        row["call"]
    )
    assert all(seconds > 0 for kind in ("call", "loop") for seconds in row[kind].values())
    assert row["kernel"] is None
