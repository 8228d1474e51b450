"""The benchmarks (benchmarks/README.md): a small run of each script, their input, workers and tables."""

import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support.reference import rnn, spec
from support.waiting import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT))

from benchmarks import (  # noqa: E402
    client,
    float64,
    gpu,
    kernel_sizes,
    machine,
    peers,
    plots,
    problems,
    report,
    run,
    settings,
    speech,
    step,
)


@pytest.fixture
def measure(tmp_path):
    """Runs a script on a shape, and returns (the rows that it stores, what it prints)."""

    def run_script(name, *arguments, shape=None, status=0, result=None):
        if shape:
            (tmp_path / "shapes.txt").write_text(f"{shape}\n")
        command = [sys.executable, "-m", f"benchmarks.{name}", *map(str, arguments)]
        # The workers import the same tf_rnn_ops as this process.
        path = os.environ.get("PYTHONPATH", "")
        env = dict(os.environ, PYTHONPATH=f"{ROOT}:{path}", BENCH_PYTHONPATH=path)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return json.loads(result.read_text()) if result else None, done.stdout

    def run_shape(shape, *arguments, name="run", output=tmp_path, **options):
        more = ["--rounds", "1", "--output", output]
        more += ["--no-plots", "--threads", "1"] if name == "run" else []
        result = tmp_path / "results.json" if output == tmp_path else output
        return run_script(
            name, tmp_path / "shapes.txt", *more, *arguments, shape=shape, result=result, **options
        )

    run_shape.script = run_script
    return run_shape


# The input.


@pytest.mark.parametrize(
    "line",
    [
        "lstm 1 2 3",
        "lstm 1 2 3 x",
        "cnn 1 2 3 4",
        "lstm 0 2 3 4",
        "gru 1 2 3 4 1 3",
        "lstm 1 1 1 1 1 1 half",
        "gru_reset_before 1 1 1 1 1 1 int8",
        "lstm 1 1 1 1 1 1 int8 dropout=0.5",
        "lstm 1 2 3 4 dropout=1",
        "lstm 1 2 3 4 dropout=x",
        "lstm 1 2 3 4 rate=0.2",
    ],
)
def test_parse_rejects(line):
    with pytest.raises(ValueError, match="not a problem"):
        problems.parse(line)


def test_problems():
    for path in (ROOT / "benchmarks" / "shapes").glob("*.txt"):
        assert problems.read(path), path
    problem = problems.Problem("gru", T=2, B=3, I=5, H=7, L=2, D=2)
    first, second = 2 * 2 * 3 * 7 * (5 + 7), 2 * 2 * 3 * 7 * (14 + 7)
    assert problem.flops(training=False) == 6 * (first + second)
    assert problem.flops(training=True) == 18 * (first + second)
    projected = problems.parse("lstm_projected 5 2 3 8")
    x, dy, [(w_ih, w_hh, _, _)] = problems.make_data(projected)
    assert (x.shape, dy.shape) == ((5, 2, 3), (5, 2, 4))
    assert (w_ih.shape, w_hh.shape) == ((32, 3), (32, 4))
    assert projected.flops(training=False) == 2 * 5 * 2 * (32 * (3 + 4) + 8 * 4)
    assert problems.parse("lstm 1 2 3 4 dropout=0.25").dropout == 0.25
    int8 = problems.parse("gru 1 2 3 4 1 1 int8")
    assert int8.has_mode(training=False) and not int8.has_mode(training=True)


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
    assert int(tf.size(space)) == -(-sizes["reserve"] // space.dtype.size)
    assert sizes["forward_scratch"] > 0 < sizes["backward_scratch"]


# The results.


@pytest.mark.parametrize("wrong", [2.1, float("nan")])
def test_results_that_differ_are_left_out(wrong):
    with pytest.raises(run.WorkerError, match="results differ"):
        run.compare({"y": [1.0, 2.0]}, {"y": [1.0, wrong]}, 1e-3)


def test_ratios():
    seconds = {"tf_rnn_ops": [2.0], "PyTorch": [3.0], "ONNX Runtime": [1.0]}
    assert report.ratio({"seconds": seconds}) == 0.5
    others = {"tf_rnn_ops float32": [9.0], "tf_rnn_ops packed float32": [6.0], "Other": [4.0]}
    others["tf_rnn_ops packed bfloat16"] = [1.0]
    row = {"seconds": {"tf_rnn_ops packed": [2.0], **others}}
    assert (report.over_float32(row), report.ratio(row)) == (3.0, 2.0)
    assert report.over_float32({"seconds": {"tf_rnn_ops": [2.0], **others}}) == 4.5


def test_every_variant_of_ours_is_apart_from_the_other_libraries():
    ours = {name: spec for name, spec in peers.ALL.items() if name.startswith("tf_rnn_ops")}
    assert set(report.OURS) == {name for name, spec in ours.items() if "@" not in spec}
    assert set(report.OTHER_TYPES) == {name for name, spec in ours.items() if "@" in spec}


def test_the_peak_of_speech_is_that_of_this_process():
    before = speech.peak_mebibytes()
    block = bytearray(int((before + 64) * 2**20))
    # Zeros of calloc are not resident: write to each page.
    block[::4096] = b"x" * len(block[::4096])
    assert speech.peak_mebibytes() > before + 32


@pytest.mark.parametrize("name", ["paths", "speedup_keras", "short_calls"])
def test_the_figures_of_the_documents_are_those_of_their_data(tmp_path, monkeypatch, name):
    images = plots.IMAGES
    for data in images.glob("*.json"):
        (tmp_path / data.name).write_bytes(data.read_bytes())
    monkeypatch.setattr(plots, "IMAGES", tmp_path)
    plots.main()
    # Other versions of matplotlib draw other paths; the numbers and names are text.
    texts = [
        re.findall(r">([^<>\n]+)</text>", (folder / f"{name}.svg").read_text())
        for folder in (images, tmp_path)
    ]
    assert texts[0] == texts[1] and len(texts[0]) > 10


# The workers.

_TELL = """
import json, os
print(json.dumps({"ok": True, "version": dict(os.environ)}), flush=True)
"""


def test_workers_for_a_gpu_share_its_memory_and_the_others_leave_it_alone(monkeypatch):
    monkeypatch.setattr(gpu, "_START", _TELL)
    on_gpu = gpu.Worker("a peer", "GPU:0")
    assert on_gpu.ask()["version"]["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    on_gpu.close()
    monkeypatch.setattr(client, "_START", _TELL)
    on_cpu = client.Worker("a peer", "spec", 1)
    assert on_cpu.version["CUDA_VISIBLE_DEVICES"] == "-1"
    on_cpu.close()


_DIE_WITH_A_WORKER = """
import os, signal, sys
sys.path.append(sys.argv[1])
from benchmarks import client
client._START = sys.argv[2]
pid = client.Worker("a peer", "spec", 1).process.pid
os.waitid(os.P_PID, pid, os.WSTOPPED)
print(pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_stopped_worker_outlives_the_run():
    command = [sys.executable, "-c", _DIE_WITH_A_WORKER, str(ROOT), _TELL + "input()"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    status = pathlib.Path(f"/proc/{int(done.stdout)}/status")
    assert wait_for(lambda: not status.exists() or "State:\tZ" in status.read_text())


def test_a_worker_is_stopped_between_calls_and_started_again_after_its_death(tmp_path, monkeypatch):
    def stops(process):
        status = pathlib.Path(f"/proc/{process.pid}/status")
        return wait_for(lambda: "State:\tT" in status.read_text())

    monkeypatch.setenv("BENCH_PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("TF_RNN_OPS_CPU_ISA", "baseline")
    ours = client.Worker("ours", "ours:stack", 1)
    try:
        assert "(baseline)" in ours.version
        assert stops(ours.process)
        with pytest.raises(client.WorkerError):  # nothing is prepared
            ours.time(1)
        assert stops(ours.process)
        ours.process.kill()
        ours.process.wait()
        with pytest.raises(client.WorkerError, match="ended with code"):
            ours.time(1)
        problem = problems.Problem("lstm", 2, 2, 2, 2)
        ours.prepare(dataclasses.asdict(problem), False, tmp_path / "y.npz")
        assert len(ours.time(3)) == 3
    finally:
        ours.close()


def test_busy_cores_are_taken_and_given_back():
    def children():
        return set(pathlib.Path("/proc/thread-self/children").read_text().split())

    others = children()
    with settings.busy_cores(1) as cores:
        assert len(cores) == 1
        (child,) = (pathlib.Path(f"/proc/{pid}") for pid in children() - others)

        def ticks():
            return int((child / "stat").read_text().rpartition(")")[2].split()[11])

        begun = ticks()
        assert wait_for(lambda: ticks() > begun)
    assert not child.exists()


# Small runs.


def test_run(measure, tmp_path):
    names = ["tf_rnn_ops", "TF BlockLSTMV2"]
    results, _ = measure("lstm 5 3 4 6\ngru 5 3 4 6", "--peers", *names)
    for row in results["rows"]:
        libraries = names if row["problem"]["cell"] == "lstm" else names[:1]
        assert list(row["seconds"]) == libraries, row["left_out"]
        assert all(min(s) > 0 for s in row["seconds"].values())
        assert (report.ratio(row) is None) == (libraries == names[:1])
    assert (tmp_path / "results.md").read_text().count("| lstm (5,3,4,6) |") == 2


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("shape", "mode", "names"),
    [
        ("gru 3 2 4 5 2 2", "inference", ["tf_rnn_ops", "tf_rnn_ops SavedModel"]),
        # Dropout is of layers and training.
        ("gru 4 3 8 16 dropout=0.2", "training", ["tf_rnn_ops Keras", "Keras"]),
    ],
)
def test_run_of_models(shape, mode, names, measure):
    results, _ = measure(shape, "--mode", mode, "--peers", *names)
    (row,) = results["rows"]
    # The libraries that agree with the first.
    assert list(row["seconds"]) == names, row["left_out"]


@pytest.mark.thorough
def test_run_of_bfloat16_on_avx2_with_a_busy_core_and_memory(measure):
    names = ["tf_rnn_ops", "tf_rnn_ops float32"]
    options = ["--isa", "avx2", "--busy", "1", "--memory", "--mode", "training"]
    results, _ = measure("lstm 4 3 8 16 1 1 bfloat16", *options, "--peers", *names)
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


@pytest.mark.thorough
def test_run_of_int8_next_to_float32(measure):
    names = ["tf_rnn_ops", "tf_rnn_ops packed", "tf_rnn_ops packed float32"]
    others = {"torch": "PyTorch", "onnxruntime": "ONNX Runtime"}
    names += [name for module, name in others.items() if importlib.util.find_spec(module)]
    shapes = "lstm 5 3 20 24 1 1 int8\ngru 5 3 20 24 1 1 int8"
    results, _ = measure(shapes, "--peers", *names)
    assert [row["mode"] for row in results["rows"]] == ["inference", "inference"]
    for row in results["rows"]:
        ran = [n for n in names[1:] if n != "ONNX Runtime" or row["problem"]["cell"] == "lstm"]
        assert list(row["seconds"]) == ran, row["left_out"]
        assert row["differences"][names[2]] < 1e-5
        # A step of 8 bits is 1/127 of the largest value of a row, and the sums average the errors.
        assert 1e-5 < row["differences"][names[1]] < 2 / 127


@pytest.mark.thorough
def test_threads(measure, tmp_path):
    output = tmp_path / "threads.json"
    options = {"name": "threads", "output": output}
    results, printed = measure("lstm 3 2 4 4", "--rest", 0, "--peers", "tf_rnn_ops", **options)
    rows = results["rows"]
    idle = [row for row in rows if row["setting"] == "idle"]
    assert [row["mode"] for row in idle] == 3 * ["inference"] + 3 * ["training"]
    assert [row["ratio"] for row in idle if row["threads"] == idle[0]["threads"]] == [1.0, 1.0]
    assert all(0 < row["median_ms"] <= row["p95_ms"] for row in rows)
    quota = {row["threads"] for row in rows if row["setting"] != "idle"}
    assert quota in ({1, 16}, set()), "left out where no control group can be made"
    assert quota or "the quota is left out" in printed


@pytest.mark.thorough
@pytest.mark.parametrize(("peer", "status"), [(gpu.OURS, 0), ("TensorFlow CudnnRNNV3", 1)])
def test_gpu_on_a_cpu(peer, status, measure, tmp_path):
    """Its rows are printed as they are measured, and a run without an op of tf_rnn_ops fails."""
    (tmp_path / "shapes.txt").write_text("lstm 3 2 4 4\n")
    options = ["--device", "CPU:0", "--rounds", 1, "--shapes", tmp_path / "shapes.txt"]
    options += ["--output", tmp_path, "--peers", peer]
    _, printed = measure.script("gpu", *options, status=status)
    assert printed.count("| lstm (3,2,4,4) |") == 2


@pytest.mark.thorough
def test_shape_costs(measure, tmp_path):
    output = tmp_path / "costs.json"
    options = ["--rounds", 1, "--scale", 50, "--cases", "B=3 beside", "--output", output]
    results, _ = measure.script("shape_costs", *options, result=output)
    assert [row["mode"] for row in results["rows"]] == ["inference", "training"]
    assert all(row["factor"] > 0 and row["expected"] == 1 for row in results["rows"])


@pytest.mark.thorough
def test_streaming(measure, tmp_path):
    output = tmp_path / "streaming.json"
    options = ["--cells", "gru", "--input", 4, "--units", 8, "--steps", 5, "--rounds", 1]
    options += ["--calls", 5, "--output", output]
    results, _ = measure.script("streaming", *options, result=output)
    (row,) = results["rows"]
    assert list(row["call"]) == list(row["loop"])
    assert {"nothing", "tf_rnn_ops LayerRNN", "Keras layer"} <= set(row["call"])
    assert all(seconds > 0 for kind in ("call", "loop") for seconds in row[kind].values())


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_step(measure, tmp_path, dtype):
    """As `make bench BENCH_ARGS=step` runs it."""
    options = ["step", "--steps", 1, 3, "--batches", 2, "--sizes", "5,4", "--rounds", 2]
    options += ["--dtypes", dtype, "--output", tmp_path]
    results, printed = measure.script("run", *options, result=tmp_path / "step.json")
    assert printed.startswith(results["machine"]["cpu"])
    *layers, model, _ = results["rows"]
    assert [row["problem"]["T"] for row in results["rows"]] == [1, 3, 1, 3, 1, 3]
    assert all(step.OURS in row["seconds"] for row in results["rows"])
    assert {"ONNX Runtime", "ONNX Runtime binding"} <= set(model["seconds"])
    exported = {"ONNX Runtime", "ONNX Runtime binding", step.OP} if dtype == "float32" else set()
    assert all(exported <= set(row["seconds"]) for row in layers)
    assert all("differ" not in reason for row in layers for reason in row["left_out"].values())
    assert all(min(times) > 0 for row in layers for times in row["seconds"].values())
    assert (tmp_path / "step.md").read_text().count("\n| lstm") == 2


def test_step_leaves_out_a_library_whose_results_differ(monkeypatch):
    x = np.ones((1, 1, 2), np.float32)
    calls = {"right": lambda: x, "wrong": lambda: 2 * x, "forgets": iter([x, x]).__next__}
    for name, call in calls.items():
        monkeypatch.setitem(step.LIBRARIES, name, lambda case, call=call: call)
    case = step.Case(problems.Problem("lstm", 1, 1, 2, 2), None, x, None, None)
    ready, absent = step.prepare(case, np.ones((1, 2, 2), np.float32), list(calls))
    assert list(ready) == ["right", "forgets"] and "differ" in absent["wrong"]
    monkeypatch.setitem(step.LIBRARIES, "forgets", lambda case: iter([x, x]).__next__)
    _, absent = step.prepare(case, np.array([[[1, 1], [3, 3]]], np.float32), ["forgets"])
    assert "differ" in absent["forgets"]


def test_step_ratios_are_of_the_fastest_other_library():
    seconds = {step.OURS: [2e-6, 4e-6], "A": [6e-6, 6e-6], "B": [3e-6, 9e-6], step.OP: [1e-6]}
    row = {"name": "x", "problem": {"T": 3}, "seconds": seconds}
    assert step.ratio(row) == pytest.approx(2) and step.ratio(row, min) == pytest.approx(1.5)
    alone = {**row, "seconds": {step.OURS: [1e-6]}}
    assert step.ratio(alone) is None
    assert (
        step.summary([row, alone]) == "T=3: ratio 2.00 (2.00 to 2.00), 1 of 1 cases level or faster"
    )
    assert step.line(row, [step.OURS, "absent"]) == "| x | 3 (2) |  | 2.00 | 1.50 |"


@pytest.mark.thorough
def test_speech(capsys):
    sizes = ("--units", "4", "--count", "32", "--epochs", "1", "--rounds", "1")
    speech.main([*sizes, "--packages", "Keras", "tf_rnn_ops"])
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    wanted = [[package, mode] for mode in speech.MODES for package in ("Keras", "tf_rnn_ops")]
    assert [line[:2] for line in lines] == wanted
    for *_, median, smallest, largest, mebibytes in lines:
        assert 0 < float(smallest) <= float(median) <= float(largest)
        assert 100 < float(mebibytes) < 10_000


@pytest.mark.skipif("cpuid_fault" not in machine.flags(), reason="this CPU does not trap CPUID")
def test_every_library_can_be_restricted_to_avx2():
    program = """
from benchmarks import machine, settings
settings.restrict("avx2")
import torch
print(sorted(machine.flags() & {"avx2", "avx512f"}), torch.backends.cpu.get_cpu_capability())
"""
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == "['avx2'] AVX2\n", run.stderr
