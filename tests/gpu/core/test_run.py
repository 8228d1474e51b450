"""run.py on a mock driver, cuBLAS and cuDNN: it runs as on a GPU."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from gpu.core import stand_ins
from support.waiting import wait_for

# run.py takes its memory from PyTorch, which is not imported here: that takes four seconds in each worker.
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch"),
]

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]

# In front of PyTorch, as a cold disk: its import takes a while.
SLOW_TORCH = """
import importlib, pathlib, sys, time
time.sleep(5)
here = str(pathlib.Path(__file__).resolve().parents[1])
sys.path.remove(here)
del sys.modules["torch"]
sys.modules["torch"] = importlib.import_module("torch")
"""
# A program with checks of every kind, in place of suite.py.
CHECKS = """
import os, signal, sys, time
import isolation

def fine():
    return True, "as it should be"

def wrong():
    return False, "an error\\nof two lines"

def raises():
    raise RuntimeError("no such thing")

def crashes():
    os.kill(os.getpid(), signal.SIGSEGV)

def hangs():
    time.sleep(600)

if "--first" in sys.argv:
    checks = [(function.__name__, function) for function in ({checks})]
    isolation.run(checks, int(sys.argv[-1]), lambda: {usable})
else:
    limits = {{"first_seconds": 10, "next_seconds": 2, "seconds": {seconds}}}
    sys.exit(isolation.Supervisor([sys.executable, *sys.argv], **limits).run())
"""


def counts(done):
    """Passed and failed, from the last line."""
    words = done.stdout.splitlines()[-1].replace(",", "").split()
    assert words[1] == "passed" and words[3] == "failed", done.stdout[-3000:] + done.stderr[-3000:]
    return int(words[0]), int(words[2])


@pytest.mark.parametrize(
    ("sections", "least", "variables"),
    [
        (("stack",), 500, {}),
        (("stack",), 500, {"FAKE_CUDNN_PADDED_WEIGHTS": "1", "FAKE_CUDNN_REFUSE_BFLOAT16": "1"}),
        (("engine",), 800, {}),
        (("block", "layers"), 250, {}),
        (("persistent", "sanitizer"), 140, {}),
        (("stack-times", "block-times", "layer-times", "engine-times", "streams"), 60, {}),
    ],
    ids=["stack", "other layout, no bfloat16", "engine", "block", "persistent", "times"],
)
def test_all_checks(rehearse, tmp_path, sections, least, variables):
    page = tmp_path / "page.md"
    page.write_text("# Title\n<!-- begin core -->\nold\n<!-- end core -->\nafter\n")
    done = rehearse("--only", *sections, "--report", page, **variables)
    passed, failed = counts(done)
    assert (done.returncode, failed) == (0, 0), done.stdout[-3000:] + done.stderr[-3000:]
    assert passed > least
    text = page.read_text()
    assert text.startswith("# Title\n") and text.endswith("after\n") and "old" not in text
    rows = [line for line in text.splitlines() if line.startswith("| lstm | float32 |")]
    assert len(rows) == (4 if "stack-times" in sections else 0)
    assert not any("error |" in row for row in rows)


def copy_of(folder, name, old, new):
    """run.py of a copy of the programs, one of them changed, next to links to what they import."""
    core = folder / "tests/gpu/core"
    shutil.copytree(HERE, core, ignore=shutil.ignore_patterns("__pycache__"))
    for link in ("tests/support", "tools", "benchmarks"):
        (folder / link).symlink_to(ROOT / link)
    text = (core / name).read_text()
    assert old in text
    (core / name).write_text(text.replace(old, new))
    return core / "run.py"


@pytest.mark.parametrize(
    ("section", "name", "old", "new", "failures"),
    [
        ("block", "problems.py", 'settings.get("cell_clip", 0.0)', "0.01", 20),
        # As if the core launched no persistent kernel, and on a GPU before Ampere.
        ("persistent", "core.py", "ALGORITHMS.index(name)", "0", 50),
        ("persistent", "launches.py", "AMPERE = (8, 0)", "AMPERE = (9, 1)", 50),
        ("persistent", "persistent_checks.py", "!= bits(", "== bits(", 7),
    ],
    ids=["value", "steps instead of kernels", "kernels on an old GPU", "bits"],
)
def test_a_fault_is_found(rehearse, tmp_path, section, name, old, new, failures):
    script = copy_of(tmp_path, name, old, new)
    done = rehearse("--only", section, script=script)
    assert done.returncode == 1, done.stderr
    assert counts(done)[1] > failures


@pytest.mark.parametrize(
    ("variables", "section", "parts"),
    [
        ({"TF_RNN_OPS_CUDNN": "/no/lib.so"}, "stack", ("/no/lib.so", "nvidia-cudnn-cu12")),
        ({"TF_RNN_OPS_CUBLAS": "/no/lib.so"}, "block", ("/no/lib.so", "nvidia-cublas-cu12")),
        ({"TF_RNN_OPS_CUDNN_ALGO": "fastest"}, "stack", ("TF_RNN_OPS_CUDNN_ALGO",)),
    ],
)
def test_what_is_missing_is_named(rehearse, variables, section, parts):
    done = rehearse("--only", section, **variables)
    assert done.returncode == 1
    assert all(part in done.stdout + done.stderr for part in parts)


def test_a_run_that_is_taken_away_leaves_its_page(rehearse, tmp_path):
    """With a slow PyTorch, within a deadline; nothing is written at the end only."""
    slow, page = tmp_path / "slow" / "torch", tmp_path / "page.md"
    slow.mkdir(parents=True)
    (slow / "__init__.py").write_text(SLOW_TORCH)
    arguments = ("--seconds", 250, "--report", page)
    run = rehearse(*arguments, wait=False, PYTHONPATH=str(slow.parent))
    assert wait_for(lambda: page.exists() and "| stack float32 |" in page.read_text())
    run.kill()
    run.communicate()
    assert page.read_text().endswith("<!-- end core -->\n")


def kit_of(folder, libraries):
    """A kit in a folder, of links."""
    (folder / "tests").mkdir(parents=True)
    for link in ("tests/gpu", "tests/support", "tools", "benchmarks"):
        (folder / link).symlink_to(ROOT / link)
    (folder / "libcore.so").symlink_to(libraries / "libcore.so")
    shutil.copy(ROOT / "cc/gpu/engine_rows.inc", folder)
    return folder


def test_the_kit_checks_and_measures_two_versions(libraries, tmp_path):
    kit = kit_of(tmp_path / "kit", libraries)
    kit_of(kit / "old", libraries)
    command = [sys.executable, "-B", HERE / "kit.py", "--folder", kit, "--pretend"]
    done = subprocess.run(
        [*command, "--checks", "block"],
        capture_output=True,
        text=True,
        env=stand_ins.environment(libraries),
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    table = [line for line in done.stdout.splitlines() if line.startswith("| lstm | float32 | 7 |")]
    compared = [line for line in table if "| persistent |" in line or "| steps |" in line]
    assert len(compared) == 4  # two passes, each in two ways
    # The times of the mock have no meaning, but each series has its row or none.
    rows = (kit / "engine_rows.inc").read_text()
    assert "a pretended GPU" in rows and "older rows" not in rows


@pytest.mark.parametrize("status", [0, 99])
def test_the_sanitizer_watches_the_small_kernels(rehearse, tmp_path, status):
    program = tmp_path / "compute-sanitizer"
    program.write_text(f'#!/bin/sh\nshift 4\n"$@" && exit {status}\n')
    program.chmod(0o755)
    done = rehearse("--only", "sanitizer", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (done.returncode, counts(done)) == ((0, (2, 0)) if status == 0 else (1, (0, 2)))


@pytest.mark.parametrize(
    ("checks", "usable", "seconds", "found"),
    [
        ("fine, crashes, raises, hangs, wrong, fine", True, None, "ok FAIL FAIL FAIL FAIL ok"),
        ("wrong, fine", False, None, "FAIL ok"),  # in a process of its own
        ("*[crashes] * 50, fine", True, None, "FAIL " * 9),
        ("fine, hangs, fine", True, 1.5, "ok"),
    ],
    ids=["each kind", "a lost device", "crashes without end", "a deadline"],
)
def test_a_check_that_fails_costs_itself(tmp_path, checks, usable, seconds, found):
    program = tmp_path / "program.py"
    program.write_text(CHECKS.format(checks=checks, usable=usable, seconds=seconds))
    command, environment = [sys.executable, "-B", program], {"PYTHONPATH": str(HERE)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    lines = [line.split()[0] for line in done.stdout.splitlines()]
    assert [word for word in lines if word in ("ok", "FAIL")] == found.split()
    assert done.returncode == 1
    assert done.stdout.endswith(", cut off\n") == (seconds is not None)
