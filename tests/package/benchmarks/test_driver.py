"""The benchmark driver: its input, one small run with two libraries, its reports."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from support.waiting import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT))

from benchmarks import client, compare, gpu, problems, report, run  # noqa: E402


def test_reads_every_shapes_file():
    files = sorted((ROOT / "benchmarks" / "shapes").glob("*.txt"))
    assert files
    for path in files:
        assert problems.read(path), path


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
    ],
)
def test_refuses_a_bad_line(line):
    with pytest.raises(ValueError, match="not a problem"):
        problems.parse(line)


def test_counts_operations_of_a_stack():
    problem = problems.Problem("gru", T=2, B=3, I=5, H=7, L=2, D=2)
    first, second = 2 * 2 * 3 * 7 * (5 + 7), 2 * 2 * 3 * 7 * (14 + 7)
    assert problem.flops(training=False) == 6 * (first + second)
    assert problem.flops(training=True) == 18 * (first + second)


def test_disagreement_is_left_out():
    with pytest.raises(run.WorkerError, match="results differ"):
        run.compare({"y": [1.0, 2.0]}, {"y": [1.0, 2.1]}, 1e-3)
    with pytest.raises(run.WorkerError, match="results differ"):
        run.compare({"y": [1.0]}, {"y": [float("nan")]}, 1e-3)


_TELL = """
import json, os
print(json.dumps({"ok": True, "version": dict(os.environ)}), flush=True)
"""


def test_peers_on_a_gpu_share_its_memory(monkeypatch):
    monkeypatch.setattr(gpu, "_START", _TELL)
    worker = gpu.Worker("a peer", "GPU:0")
    assert worker.ask()["version"]["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    worker.close()


_DIE_ONCE = """
import pathlib, sys
mark = pathlib.Path({mark!r})
first = not mark.exists()
mark.touch()
sys.stdin.readline()
if not first:
    print('{{}}', flush=True)
    sys.stdin.readline()
"""


def test_a_peer_that_died_is_started_for_the_next_problem(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "_START", _DIE_ONCE.format(mark=str(tmp_path / "mark")))
    worker = gpu.Worker("a peer", "GPU:0")
    assert worker.prepare()["error"] == "its process ended: 0"
    assert worker.prepare() == {}
    worker.close()


@pytest.mark.thorough
def test_gpu_benchmark_on_a_cpu(tmp_path):
    """Its rows are printed as they are measured, and a run without an op of tf_rnn_ops fails."""
    shapes = tmp_path / "shapes.txt"
    shapes.write_text("lstm 3 2 4 4\n")
    command = [sys.executable, "-m", "benchmarks.gpu", "--device", "CPU:0", "--rounds", "1"]
    command += ["--shapes", str(shapes), "--output", str(tmp_path), "--peers"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = dict(os.environ, PYTHONPATH=path)
    for peer, status in ((gpu.OURS, 0), ("TensorFlow CudnnRNNV3", 1)):
        done = subprocess.run([*command, peer], env=env, capture_output=True, text=True)
        assert done.returncode == status, done.stdout + done.stderr
        assert done.stdout.count("| lstm (3,2,4,4) |") == 2


def test_peers_on_a_cpu_leave_the_gpu_alone(monkeypatch):
    monkeypatch.setattr(client, "_START", _TELL)
    worker = client.Worker("a peer", "spec", 1)
    assert worker.version["CUDA_VISIBLE_DEVICES"] == "-1"
    worker.close()


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


def test_small_run(tmp_path):
    names = ["tf_rnn_ops", "TF BlockLSTMV2"]
    command = [sys.executable, "-m", "benchmarks.run", "smoke", "--rounds", "2", "--threads", "1"]
    command += ["--output", str(tmp_path), "--no-plots", "--peers", *names]
    # The workers import the same tf_rnn_ops as this process.
    env = dict(os.environ, PYTHONPATH=str(ROOT), BENCH_PYTHONPATH=os.environ.get("PYTHONPATH", ""))
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    assert len(results["rows"]) == 6
    for row in results["rows"]:
        peers = names if row["problem"]["cell"] == "lstm" else names[:1]
        assert list(row["seconds"]) == peers, row["left_out"]
        assert all(len(s) % 2 == 0 and min(s) > 0 for s in row["seconds"].values())
        assert (report.ratio(row) is None) == (peers == names[:1])
    table = (tmp_path / "results.md").read_text()
    assert table.count("| lstm (5,3,4,6) |") == 2
    compare.main([str(tmp_path / "results.json")] * 2)


def test_compare_prints_the_speed_up(tmp_path, capsys):
    row = {"name": "p", "mode": "inference", "threads": 1}
    for name, seconds in (("before", 0.2), ("after", 0.1)):
        rows = [dict(row, seconds={"tf_rnn_ops": [seconds] * 5})]
        (tmp_path / name).write_text(json.dumps({"rows": rows}))
    compare.main([str(tmp_path / "before"), str(tmp_path / "after")])
    assert capsys.readouterr().out.splitlines()[1].split()[-1] == "2.00"


def test_unknown_peer_is_refused(capsys):
    with pytest.raises(SystemExit):
        run.parse_args(["--peers", "nobody"])
    assert "nobody" in capsys.readouterr().err


def run_threads(tmp_path, *arguments):
    shapes = tmp_path / "shapes.txt"
    shapes.write_text("lstm 3 2 4 4\n")
    output = tmp_path / "threads.json"
    command = [sys.executable, "-m", "benchmarks.threads", str(shapes), "--rounds", "1"]
    command += ["--peers", "tf_rnn_ops", "--output", str(output), *arguments]
    env = dict(os.environ, PYTHONPATH=str(ROOT), BENCH_PYTHONPATH=os.environ.get("PYTHONPATH", ""))
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(output.read_text())["rows"], done.stdout


@pytest.mark.thorough
def test_threads(tmp_path):
    rows, printed = run_threads(tmp_path, "--rest", "0")
    idle = [row for row in rows if row["setting"] == "idle"]
    assert [row["mode"] for row in idle] == 3 * ["inference"] + 3 * ["training"]
    assert [row["ratio"] for row in idle if row["threads"] == idle[0]["threads"]] == [1.0, 1.0]
    assert all(0 < row["median_ms"] <= row["p95_ms"] for row in rows)
    quota = {row["threads"] for row in rows if row["setting"] != "idle"}
    assert quota in ({1, 16}, set()), "left out where no control group can be made"
    assert quota or "the quota is left out" in printed


@pytest.mark.thorough
def test_threads_of_the_command_line(tmp_path):
    rows, printed = run_threads(tmp_path, "--threads", "1", "3", "--rest", "0")
    assert [row["threads"] for row in rows] == [1, 3, 1, 3]
    assert {row["setting"] for row in rows} == {"idle"}
    assert "quota" not in printed
