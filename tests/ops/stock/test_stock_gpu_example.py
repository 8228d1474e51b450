"""Runs examples/gpu_model_on_cpu at a small size."""

import pathlib
import re

from support import subproc

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "gpu_model_on_cpu"


def test_example(tmp_path):
    def run(script, *args):
        done = subproc.run([EXAMPLE / script, *args], env=subproc.environment())
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("write_model.py", tmp_path / "model")
    out = run("run_on_cpu.py", tmp_path / "model", "--steps", "30")
    first, last = map(float, re.search(r"error (\S+) -> (\S+) in", out).groups())
    assert last < first / 2
    assert "nodes changed: 1, kept: 0" in out and ": ok" in out
    assert (tmp_path / "model_portable" / "saved_model.pb").is_file()
