"""tools/test_gpu.py on the mock GPU: its first steps, with a deadline."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PRETEND = os.environ.get("TF_RNN_OPS_TEST_PRETEND_GPU") == "1"


@pytest.mark.thorough
@pytest.mark.skipif(not PRETEND, reason="on a GPU, the tool has run this test")
def test_the_first_steps_of_the_run_with_tensorflow(tmp_path):
    page = tmp_path / "page.md"
    steps = ["--only", "import", "one-op", "parity"]
    command = [sys.executable, ROOT / "tools" / "test_gpu.py", "--seconds", "75", *steps]
    command += ["--folder", tmp_path / "logs", "--report", page]
    environment = {**os.environ, "PYTEST_ADDOPTS": "-v"}  # pytest's own output, not that of xdist
    environment.pop("PYTEST_XDIST_WORKER", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    text = page.read_text()
    assert "| import | passed |" in text and "| one-op | passed |" in text, done.stdout
    assert re.search(r"^[\d.e-]+ of the bound: test_working_sizes\[lstm\]$", text, re.MULTILINE)
    # The rest has what is left of the time: it passes or is stopped, and shows what it found.
    assert re.search(r"\| parity \| (passed|FAILED \(not finished after \d+ s\)) \|", text), text
    assert text.count(" of the bound: ") > 1
