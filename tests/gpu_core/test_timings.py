"""The parts of timings.py that need no GPU."""

import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="timings.py compares with PyTorch")

HERE = pathlib.Path(__file__).resolve().parent


def run_python(*arguments):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True)


def test_the_table_has_the_best_ratio():
    program = """
import timings
case = ["lstm", "float32", 100, 1, 128, 128, 1, 0]
columns = {
    policy: [{"case": case, "core": time, "torch": peer}]
    for policy, time, peer in (("standard", 10.0, 12.0), ("auto", 8.0, 14.0))
}
print(timings.table(columns))
"""
    done = run_python("-B", "-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "| cell | type | T, B, I, H, L, dropout | torch | standard | auto | torch / best |",
        "|---|---|---|---|---|---|---|",
        "| lstm | float32 | 100, 1, 128, 128, 1, 0 | 13 | 10 | 8 | 1.62 |",
    ]


def test_a_policy_that_ended_early_leaves_gaps_only():
    program = """
import timings
row = {"case": ["lstm", "float32", 1], "core": 10.0, "torch": 12.0}
print(timings.table({"standard": [row, row], "auto": [row]}))
"""
    done = run_python("-B", "-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[2:] == [
        "| lstm | float32 | 1 | 12 | 10 | 10 | 1.20 |",
        "| lstm | float32 | 1 | 12 | 10 |  | 1.20 |",
    ]


def test_what_a_process_measured_before_it_died_is_kept(tmp_path):
    script = tmp_path / "child.py"
    script.write_text(
        "import json, os\n"
        "print(json.dumps({'case': ['gru', 1], 'core': 2.0, 'torch': 3.0}), flush=True)\n"
        "os.abort()\n"
    )
    program = f"""
import timings
timings.__file__ = {str(script)!r}
print(len(timings.measure_with("libcore.so", "auto")))
"""
    done = run_python("-B", "-c", program)
    assert done.stdout.splitlines() == [
        "- auto ['gru', 1]: 2, torch 3",
        "- auto: its process ended with -6",
        "1",
    ]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, so it would run")
@pytest.mark.parametrize("program", ["timings.py", "checks.py"])
def test_without_a_gpu_they_say_so(program):
    done = run_python("-B", HERE / program, "libcore.so")
    assert done.returncode != 0
    assert "no GPU" in done.stderr
