"""tools/test_gpu.py, the run of the GPU checks: steps, outcomes and the report."""

import importlib.util
import pathlib
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
_SPEC = importlib.util.spec_from_file_location("test_gpu_tool", ROOT / "tools" / "test_gpu.py")
tool = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(tool)


def _step(name, code, **env):
    return tool.Step(name, [sys.executable, "-c", code], **env)


def test_outcomes(tmp_path):
    steps = [
        _step("good", "print('seen')"),
        _step("bad", "print('why'); raise SystemExit(3)"),
        _step("env", "import os; print(os.environ['WANTED'])", WANTED="given"),
        tool.Step("absent", ["nothing"], lambda: "not here"),
        tool.Step("no-program", [str(tmp_path / "nothing")]),
    ]
    for step in steps:
        step.run(tmp_path)
    outcomes = {step.name: step.outcome for step in steps}
    assert outcomes["good"] == outcomes["env"] == "passed"
    assert outcomes["bad"] == "FAILED (3)"
    assert outcomes["absent"] == "left out: not here"
    assert outcomes["no-program"].startswith("FAILED (")
    assert "given" in steps[2].output
    text = tool.report(steps, "the command", "GPU:0")
    assert "| bad | FAILED (3) |" in text and "why" in text and "`the command`" in text


def test_a_hanging_step_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "TIMEOUT_SECONDS", 1)
    step = _step("slow", "import time; time.sleep(60)")
    step.run(tmp_path)
    assert step.outcome == "FAILED (not finished after 1 s)"


def _ended(pid):
    """Whether a process is gone, or only waits for its parent to notice."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state in "ZX"


_WITH_A_CHILD = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path("child.new").write_text(str(child.pid))
pathlib.Path("child.new").rename("child")
time.sleep({})
"""


def _wait_for(condition):
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("seconds", [60, 0])
def test_what_a_step_started_ends_with_it(tmp_path, monkeypatch, seconds):
    monkeypatch.setattr(tool, "TIMEOUT_SECONDS", 2)
    step = _step("parent", _WITH_A_CHILD.format(seconds))
    step.run(tmp_path)
    assert step.outcome == ("passed" if seconds == 0 else "FAILED (not finished after 2 s)")
    assert _wait_for(lambda: _ended((tmp_path / "child").read_text()))


def test_stopping_the_run_stops_the_step(tmp_path):
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import test_gpu as t\n"
        f"child = [sys.executable, '-c', {_WITH_A_CHILD.format(60)!r}]\n"
        "t.make_steps = lambda device, folder: [t.Step('parent', child)]\n"
        f"sys.argv = ['test_gpu.py', '--folder', {str(tmp_path)!r}, '--report', {str(tmp_path / 'r.md')!r}]\n"
        "sys.exit(t.main())"
    )
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    assert _wait_for((tmp_path / "child").exists)
    run.terminate()
    assert run.wait(20) == 128 + signal.SIGTERM
    assert _wait_for(lambda: _ended((tmp_path / "child").read_text()))


def test_every_failure_is_in_the_report(tmp_path):
    lines = ["FAIL early check", "FAILED tests/x.py::y", "ERROR tests/z.py", *map(str, range(50))]
    step = _step("parity", f"print('\\n'.join({lines!r})); raise SystemExit(1)")
    step.run(tmp_path)
    text = tool.report([step], "c", "GPU:0")
    assert all(line in text for line in lines[:3]) and "\n49\n" in text and "\n20\n" not in text


def test_report_replaces_only_what_is_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n{tool.BEGIN}\nold\n{tool.END}\nafter\n")
    tool.write(page, "new\n")
    tool.write(page, "newer\n")
    assert page.read_text() == f"# Title\n{tool.BEGIN}\nnewer\n{tool.END}\nafter\n"
    fresh = tmp_path / "fresh.md"
    tool.write(fresh, "text\n")
    assert fresh.read_text() == f"{tool.BEGIN}\ntext\n{tool.END}\n"


def test_tables_of_a_benchmark_are_kept_whole(tmp_path):
    rows = "\\n".join(["noise"] + [f"| {k} |" for k in range(40)])
    step = _step("benchmark", f"print('{rows}')")
    step.run(tmp_path)
    text = tool.report([step], "c", "GPU:0")
    assert "| 0 |" in text and "| 39 |" in text and "noise" not in text


@pytest.mark.parametrize("device", ["GPU:0", "CPU:0"])
def test_steps_name_existing_files(device, tmp_path):
    steps = {step.name: step for step in tool.make_steps(device, tmp_path)}
    assert {"info", "core-build", "parity", "gpu", "benchmark", "sanitizer"} <= set(steps)
    assert steps["parity"].env["TF_RNN_OPS_TEST_DEVICE"] == device
    for step in steps.values():
        paths = [arg for arg in step.command if arg.startswith(str(ROOT))]
        assert all(pathlib.Path(path).exists() for path in paths), step.name


def test_every_tensorflow_of_a_test_takes_only_the_memory_it_needs(tmp_path):
    for step in tool.make_steps("GPU:0", tmp_path):
        if "TF_RNN_OPS_TEST_DEVICE" in step.env:
            assert step.env["TF_FORCE_GPU_ALLOW_GROWTH"] == "true", step.name


def test_pytorch_is_imported_only_for_steps_that_need_it(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(tool, "_no_torch", lambda: asked.append(1) or "a slow answer")
    steps = {step.name: step for step in tool.make_steps("GPU:0", tmp_path)}
    assert asked == []
    steps["smi"].run(tmp_path)
    assert asked == []
    steps["core-times"].run(tmp_path)
    assert asked == [1] and steps["core-times"].outcome == "left out: a slow answer"


def test_pip_s_cusolver_is_put_on_the_path(tmp_path, monkeypatch):
    library = tmp_path / "nvidia" / "cusolver" / "lib" / "libcusolver.so.11"
    library.parent.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/before")
    importlib.invalidate_caches()
    assert tool.cusolver_cure() == {}
    library.touch()
    assert tool.cusolver_cure() == {"LD_LIBRARY_PATH": f"{library.parent}:/before"}
    steps = {step.name: step for step in tool.make_steps("GPU:0", tmp_path)}
    assert "LD_LIBRARY_PATH" in steps["parity"].env and "LD_LIBRARY_PATH" not in steps["info"].env


def test_the_page_of_the_report_has_the_marks():
    page = (ROOT / "docs" / "gpu-verification.md").read_text()
    assert page.count(tool.BEGIN) == page.count(tool.END) == 1
