"""run.py on a mock driver, cuBLAS and cuDNN: it runs as on a GPU."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

from support.selection import all_but
from support.waiting import wait_for

# run.py takes its memory from PyTorch, which is not imported here: that takes four seconds in each worker.
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch"),
]

HERE = pathlib.Path(__file__).resolve().parent

# In front of PyTorch, as a cold disk: its import takes a while.
SLOW_TORCH = """
import importlib, pathlib, sys, time
time.sleep({seconds})
here = str(pathlib.Path(__file__).resolve().parents[1])
sys.path.remove(here)
del sys.modules["torch"]
sys.modules["torch"] = importlib.import_module("torch")
"""


def copy_of(source, folder, changed):
    """run.py of a copy of the programs, some of them changed."""
    for path in source.glob("*.py"):
        text = changed.get(path.name, path.read_text())
        text = text.replace(
            "pathlib.Path(__file__).resolve().parents[2]", repr(str(source.parents[1]))
        )
        text = text.replace("HERE.parents[2]", f"pathlib.Path({str(source.parents[2])!r})")
        (folder / path.name).write_text(text)
    return folder / "run.py"


def counts(done):
    """Passed and failed, from the last line."""
    words = done.stdout.splitlines()[-1].replace(",", "").split()
    assert words[1] == "passed" and words[3] == "failed", done.stdout[-3000:] + done.stderr[-3000:]
    return int(words[0]), int(words[2])


@pytest.mark.parametrize(
    "variables",
    all_but([{}, {"FAKE_CUDNN_PADDED_WEIGHTS": "1", "FAKE_CUDNN_REFUSE_BFLOAT16": "1"}], {}),
    ids=["plain", "other layout, no bfloat16"],
)
def test_stacks(rehearse, variables):
    done = rehearse("--only", "stack", **variables)
    passed, failed = counts(done)
    assert (done.returncode, failed) == (0, 0), done.stdout[-3000:] + done.stderr[-3000:]
    assert passed > 500


def test_stacks_without_cudnn(rehearse):
    done = rehearse("--only", "engine")
    passed, failed = counts(done)
    assert (done.returncode, failed) == (0, 0), done.stdout[-3000:] + done.stderr[-3000:]
    assert passed > 800
    launched = [line for line in done.stdout.splitlines() if "Forward_Lstm_Float32_256" in line]
    assert launched and all(" float32 persistent " in line for line in launched)


def test_the_whole_run_fills_the_page(rehearse, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n<!-- begin core -->\nold\n<!-- end core -->\nafter\n")
    done = rehearse(
        "--only", "block", "matrix", "block-times", "sweep", "choices", "streams", "--report", page
    )
    passed, failed = counts(done)
    assert (done.returncode, failed) == (0, 0), done.stdout[-3000:] + done.stderr[-3000:]
    assert passed > 200
    text = page.read_text()
    assert text.startswith("# Title\n") and text.endswith("after\n") and "old" not in text
    assert "Device: a pretended GPU, cuDNN 99900" in text
    assert "| block float32 | " in text and "| matrix bfloat16 | " in text
    rows = [line for line in text.splitlines() if line.startswith("| lstm | 3, 2, 5, 7, 1 |")]
    assert len(rows) == 8  # inference and training of each math type
    assert len({row.count("|") for row in rows}) == 1
    head = next(line for line in text.splitlines() if line.startswith("| cell |"))
    assert rows[0].count("|") == head.count("|")
    assert "| float16 | 3, 2, 5, 7 |" in text
    assert "| lstm | float16 | 7 | 1 | 1 | 2 |" in text


def test_layers_and_persistent_kernels(rehearse, tmp_path):
    page = tmp_path / "page.md"
    sections = ("persistent", "persistent-times", "layers", "layer-times", "sanitizer")
    done = rehearse("--only", *sections, "--report", page, PATH=str(tmp_path))
    passed, failed = counts(done)
    assert (done.returncode, failed) == (0, 0), done.stdout[-3000:] + done.stderr[-3000:]
    assert passed > 250
    assert "ok   persistent float32 Forward_Gru_Float32_256_64_true" in done.stdout
    assert "not run: compute-sanitizer is not on PATH" in done.stdout
    text = page.read_text()
    assert "| gru | float16 | 7 | 2 | backward |" in text
    assert "| Backward_Gru_Float32_1024_64_true |" in text
    assert "error" not in text.replace("worst error", "")


def test_calls_without_a_persistent_kernel_fail(rehearse, tmp_path):
    # As if the core launched none of them.
    text = (HERE / "layer_checks.py").read_text()
    wrong = text.replace("ALGORITHMS.index(name)", "0")
    assert text != wrong
    script = copy_of(HERE, tmp_path, {"layer_checks.py": wrong})
    done = rehearse("--only", "persistent", script=script)
    lines = done.stdout.splitlines()
    failures = [line for line in lines if line.startswith("FAIL persistent")]
    assert done.returncode == 1 and len(failures) > 50
    assert all("no persistent kernel, but it should be " in line for line in failures)
    # float64, and layers that no persistent kernel runs, are right in steps.
    good = [line for line in lines if line.startswith("ok  ")]
    assert good and not any("_256_" in line for line in good)


def test_a_gpu_before_ampere_runs_the_steps(rehearse, tmp_path):
    # As if the GPU of the mock were one, and the core launched no persistent kernel there.
    changed = {}
    for name, old, new in (
        ("launches.py", "AMPERE = (8, 0)", "AMPERE = (9, 1)"),
        ("layer_checks.py", "ALGORITHMS.index(name)", "0"),
    ):
        text = (HERE / name).read_text()
        changed[name] = text.replace(old, new)
        assert changed[name] != text
    script = copy_of(HERE, tmp_path, changed)
    done = rehearse("--only", "persistent", "persistent-times", script=script)
    assert (done.returncode, counts(done)[1]) == (0, 0), done.stdout[-3000:]
    assert "compute capability 9.0 has no persistent kernels" in done.stdout
    script = copy_of(HERE, tmp_path, {"launches.py": changed["launches.py"]})
    done = rehearse("--only", "persistent", script=script)
    assert counts(done)[1] > 50, "launches on such a GPU are failures"


def test_bits_that_differ_fail(rehearse, tmp_path):
    # As if equal bits differed.
    text = (HERE / "persistent_checks.py").read_text()
    wrong = text.replace("!= bits(", "== bits(")
    assert text != wrong
    script = copy_of(HERE, tmp_path, {"persistent_checks.py": wrong})
    done = rehearse("--only", "persistent", script=script)
    failures = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert done.returncode == 1 and len(failures) == 8
    for title in ("repeats", "two streams", "next to products", "captured"):
        assert sum(f"{title} " in line for line in failures) == 2


@pytest.mark.parametrize("status", [0, 99])
def test_the_sanitizer_watches_the_small_kernels(rehearse, tmp_path, status):
    program = tmp_path / "compute-sanitizer"
    program.write_text(f'#!/bin/sh\nshift 4\n"$@" && exit {status}\n')
    program.chmod(0o755)
    done = rehearse("--only", "sanitizer", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (done.returncode, counts(done)) == ((0, (2, 0)) if status == 0 else (1, (0, 2)))
    assert done.stdout.count(f"4 checks, status {status}") == 2, done.stdout


def test_a_way_that_fails_costs_its_cell_only(rehearse, tmp_path):
    page = tmp_path / "page.md"
    text = (HERE / "matrix.py").read_text()
    wrong = text.replace('{"algo": "persist_static"}', '{"algo": "no_such"}')
    assert text != wrong
    script = copy_of(HERE, tmp_path, {"matrix.py": wrong})
    done = rehearse("--only", "matrix", "--report", page, script=script)
    assert done.returncode == 1
    rows = [line for line in page.read_text().splitlines() if line.startswith("| lstm |")]
    assert len(rows) == 8 and all(row.count("| error |") == 1 for row in rows)
    assert "TF_RNN_OPS_CUDNN_ALGO must be one of" in page.read_text()


@pytest.mark.parametrize("name", ["matrix", "sweep", "choices", "persistent_times"])
def test_the_head_of_a_table_is_that_of_its_rows(name):
    program = f"import {name}, run; assert ' | '.join({name}.HEAD) == run.{name.upper()}_HEAD"
    subprocess.run([sys.executable, "-B", "-c", program], cwd=HERE, check=True)


def slow_torch(folder, seconds):
    """A folder for PYTHONPATH in which the import of PyTorch takes a while."""
    (folder / "slow" / "torch").mkdir(parents=True)
    (folder / "slow" / "torch" / "__init__.py").write_text(SLOW_TORCH.format(seconds=seconds))
    return str(folder / "slow")


def test_a_deadline_within_the_import_of_pytorch(rehearse, tmp_path):
    page, log = tmp_path / "page.md", tmp_path / "log"
    done = rehearse(
        *("--seconds", 3, "--report", page, "--log", log), PYTHONPATH=slow_torch(tmp_path, 120)
    )
    assert done.returncode == 1
    lines = ["the time is over, in: the start of a process", "0 passed, 0 failed, cut off"]
    assert done.stdout.splitlines() == log.read_text().splitlines() == lines
    assert "Last line: 0 passed, 0 failed, cut off" in page.read_text()


def test_a_run_that_is_taken_away_leaves_its_page(rehearse, tmp_path):
    """With a slow PyTorch, within a deadline; nothing is written at the end only."""
    page = tmp_path / "page.md"
    run = rehearse(
        *("--seconds", 250, "--report", page), wait=False, PYTHONPATH=slow_torch(tmp_path, 5)
    )
    assert wait_for(lambda: page.exists() and "| stack float32 |" in page.read_text())
    run.kill()
    run.communicate()
    text = page.read_text()
    assert "| stack float32 |" in text and "Last line: ok   stack float32" in text
    assert "Device: a pretended GPU" in text and text.endswith("<!-- end core -->\n")


def test_pytorch_is_not_imported_by_the_parent():
    program = "import sys, run; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    subprocess.run([sys.executable, "-B", "-c", program], cwd=HERE, check=True)


def test_a_wrong_result_fails_and_is_named(rehearse, tmp_path):
    # As if the library did not clip.
    text = (HERE / "block_lstm_checks.py").read_text()
    clip = 'settings.get("cell_clip", 0.0)'
    assert text.count(clip) == 1
    wrong = text.replace(clip, "0.01")
    script = copy_of(HERE, tmp_path, {"block_lstm_checks.py": wrong})
    page = tmp_path / "page.md"
    done = rehearse("--only", "block", "--report", page, script=script)
    assert done.returncode == 1, done.stderr
    assert "FAIL block float32 (1, 1, 1, 1) steps=1" in page.read_text()
    assert counts(done)[1] > 0


def test_without_cudnn_the_error_says_what_to_do(rehearse):
    done = rehearse("--only", "stack", TF_RNN_OPS_CUDNN="/no/such/library.so")
    assert done.returncode == 1
    assert "/no/such/library.so" in done.stderr
    assert "pip install nvidia-cudnn-cu12" in done.stderr


def test_without_cublas_the_error_says_what_to_do(rehearse):
    done = rehearse("--only", "block", TF_RNN_OPS_CUBLAS="/no/such/library.so")
    assert done.returncode == 1
    assert "/no/such/library.so" in done.stdout
    assert "pip install nvidia-cublas-cu12" in done.stdout


def test_a_wrong_switch_is_refused(rehearse):
    done = rehearse("--only", "stack", TF_RNN_OPS_CUDNN_ALGO="fastest")
    assert done.returncode == 1
    assert "TF_RNN_OPS_CUDNN_ALGO must be one of" in done.stdout


def test_without_a_gpu_it_says_so():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU, so it would run")
    command = [sys.executable, "-B", HERE / "run.py", "--library", __file__]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "no GPU" in done.stderr
