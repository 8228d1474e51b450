"""tools/test_gpu.py, the run of the GPU checks: steps, outcomes and the report."""

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from support.waiting import PATIENCE, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
sys.path.append(str(ROOT))
import verification_page  # noqa: E402

from benchmarks.gpu import PEERS  # noqa: E402

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


def _ended(pid):
    """Whether a process is gone, or only waits for its parent to notice."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state in "ZX"


_WITH_A_CHILD = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path("child.new").write_text(str(child.pid))
pathlib.Path("child.new").rename("child")
time.sleep({})
"""


@pytest.mark.parametrize("seconds", [600, 0])
def test_what_a_step_started_ends_with_it(tmp_path, seconds):
    step = _step("parent", _WITH_A_CHILD.format(seconds))
    step.run(tmp_path, seconds=5)
    assert step.outcome == ("passed" if seconds == 0 else "FAILED (not finished after 5 s)")
    assert wait_for(lambda: _ended((tmp_path / "child").read_text()))


def test_report_has_failures_shares_of_bounds_and_tables(tmp_path):
    """Every failure, the largest shares of bounds first, and the tables of a benchmark; the other lines in part."""
    lines = ["FAIL early check", "FAILED tests/x.py::y", "ERROR tests/z.py", *map(str, range(50))]
    lines += [f"{k / 100:.2g} of the bound: test_{k}" for k in range(50)]
    step = _step("parity", f"print('\\n'.join({lines!r})); raise SystemExit(1)")
    step.run(tmp_path)
    shown = tool.report([step], "c", "GPU:0").splitlines()
    assert set(lines[:3]) <= set(shown)
    begin = shown.index("0.49 of the bound: test_49")
    assert shown[begin + 1] == "0.48 of the bound: test_48"
    assert "0.05 of the bound: test_5" not in shown
    rows = ["noise", *(f"| {k} |" for k in range(40))]
    step = _step("benchmark", f"print('\\n'.join({rows!r}))")
    step.run(tmp_path)
    shown = tool.report([step], "c", "GPU:0").splitlines()
    assert set(rows[1:]) <= set(shown) and "noise" not in shown


def test_report_replaces_only_what_is_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n<!-- begin a -->\nold\n<!-- end a -->\nafter\n")
    verification_page.write(page, "a", "new\n")
    verification_page.write(page, "a", "newer\n")
    assert page.read_text() == "# Title\n<!-- begin a -->\nnewer\n<!-- end a -->\nafter\n"
    fresh = tmp_path / "fresh.md"
    verification_page.write(fresh, "a", "text\n")
    assert fresh.read_text() == "<!-- begin a -->\ntext\n<!-- end a -->\n"


def _rehearse(folder, steps, *arguments):
    """Runs the tool with other steps; `steps` is Python that makes them."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import test_gpu as t\n"
        "t.REPORT_SECONDS = 0.2\n"
        "def step(name, code): return t.Step(name, [sys.executable, '-c', code])\n"
        f"t.make_steps = lambda *args, **settings: {steps}\n"
        f"sys.argv = ['test_gpu.py', '--folder', {str(folder)!r}, '--report', {str(folder / 'r.md')!r},"
        f" *{list(map(str, arguments))!r}]\n"
        "sys.exit(t.main())"
    )
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


@pytest.mark.thorough
def test_one_deadline_for_all_steps(tmp_path):
    steps = (
        "[step('import', 'print(1)'), step('slow', 'import time; print(\\'| a row |\\', flush=True);"
        " time.sleep(600)'), step('late', 'print(2)')]"
    )
    assert _rehearse(tmp_path, steps, "--seconds", 12).wait(PATIENCE) == 1
    page = (tmp_path / "r.md").read_text()
    assert "| import | passed |" in page
    assert "| slow | FAILED (not finished after " in page and "| a row |" in page
    assert "| late | not run: the time was over |" in page


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_has_its_page(tmp_path, ending):
    """With SIGTERM what the step has started ends, too."""
    steps = f"[step('import', 'print(1)'), step('parity', {_WITH_A_CHILD.format(600)!r})]"
    run = _rehearse(tmp_path, steps)
    page = tmp_path / "r.md"
    assert wait_for(lambda: page.exists() and "| parity | running |" in page.read_text())
    assert wait_for((tmp_path / "child").exists)
    run.send_signal(ending)
    assert run.wait(PATIENCE) == (128 + ending if ending == signal.SIGTERM else -ending)
    assert "| import | passed |" in page.read_text()
    child = int((tmp_path / "child").read_text())
    if ending == signal.SIGTERM:
        assert wait_for(lambda: _ended(child))
    else:
        os.kill(child, signal.SIGKILL)


def test_without_tensorflow_nothing_else_is_tried(tmp_path):
    run = _rehearse(
        tmp_path, "[step('import', 'import nothing_of_this_name'), step('x', 'print(1)')]"
    )
    output, _ = run.communicate(timeout=PATIENCE)
    assert run.returncode == 1
    assert "nothing else can run" in output
    page = (tmp_path / "r.md").read_text()
    assert "nothing_of_this_name" in page and "| x | not run |" in page


@pytest.mark.parametrize("device", ["GPU:0", "CPU:0"])
def test_make_steps(device, tmp_path):
    """The import is first, and the steps name existing files and leave TensorFlow the memory of others."""
    made = tool.make_steps(device, tmp_path, short=True)
    steps, names = {step.name: step for step in made}, [step.name for step in made]
    assert names[0] == "import" and names.index("one-op") < names.index("parity")
    assert names.index("parity") < names.index("benchmark") < names.index("gpu")
    benchmark = steps["benchmark"].command
    assert set(benchmark[benchmark.index("--peers") + 1 :]) <= set(PEERS)
    assert steps["parity"].env["TF_RNN_OPS_TEST_DEVICE"] == device
    for step in made:
        if "TF_RNN_OPS_TEST_DEVICE" in step.env:
            assert step.env["TF_FORCE_GPU_ALLOW_GROWTH"] == "true", step.name
        made_by_core = (
            step.command[step.command.index("--library") + 1 :][:1] if step.name == "core" else []
        )
        paths = [
            arg for arg in step.command if arg.startswith(str(ROOT)) and arg not in made_by_core
        ]
        assert all(pathlib.Path(path).exists() for path in paths), step.name


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
