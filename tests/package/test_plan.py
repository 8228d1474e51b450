"""The tests that a run of .ci/run has (support/plan.py), and their deadlines (support/budget.py)."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from support import plan
from support.subproc import TESTS_DIR
from support.waiting import wait_for

CONFTEST = """
import pathlib, sys
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from support import budget

def pytest_addoption(parser):
    parser.addoption("--tests")
    parser.addoption("--plan")

def pytest_configure(config):
    config.addinivalue_line("markers", "thorough: x")
    budget.add_to(config)
"""
TESTS = """
import time, pytest

def test_short(): pass

@pytest.mark.thorough
def test_thorough(): pass
"""
FILES = ["test_a.py", "sub/test_b.py", *(f"test_{name}.py" for name in "cdefgh")]
HANGING = "import time\ndef test_that_hangs(): time.sleep(1000)\ndef test_behind(): pass\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Returns a function that runs a small project by a plan: {test: outcome}, and the files left out."""
    tests = tmp_path / "tests"
    (tests / "support").mkdir(parents=True)
    for name in ("__init__", "budget", "plan", "selection"):
        shutil.copy2(TESTS_DIR / f"support/{name}.py", tests / "support")
    (tests / "conftest.py").write_text(CONFTEST)
    (tests / "sub").mkdir()
    for name in FILES:
        (tests / name).write_text(TESTS)
    (tests / "check.txt").write_text("tests/test_a.py\n")
    (tests / "gpu/mock").mkdir(parents=True)
    (tests / "gpu/mock/check.txt").write_text("")
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    cache = tmp_path / "cache"

    def start(*arguments, soft=100, hard=1000, turn=0, left_out=(), touched=("sub",)):
        now = time.time()
        content = {"touched": touched, "turn": turn, "left_out": left_out}
        content["seconds"] = plan.Memory(cache / "tests.json").seconds
        file = tmp_path / "plan.json"
        file.write_text(json.dumps({**content, "soft": now + soft, "hard": now + hard}))
        command = [sys.executable, "-m", "pytest", f"--plan={file}", "-pno:cacheprovider", "-rA"]
        environment = {**os.environ, "TF_RNN_OPS_CACHE": str(cache), "PYTEST_ADDOPTS": ""}
        for name in ("PYTEST_XDIST_WORKER", "TF_RNN_OPS_TEST_PRETEND_GPU"):
            environment.pop(name, None)
        return subprocess.Popen(
            [*command, *arguments, str(tests)], cwd=tmp_path, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(*arguments, status=0, **options):
        process = start(*arguments, **options)
        run.output = process.communicate(timeout=200)[0]
        assert process.returncode == status, run.output
        words = [line.split() for line in run.output.splitlines() if line.startswith("PASSED")]
        memory = json.loads((cache / "tests.json").read_text())
        return [word[1].removeprefix("tests/") for word in words], memory["left_out"]

    run.start = start
    run.tests = tests
    return run


def usual(*files):
    return [f"{file}::test_short" for file in files]


def thorough(*files):
    return [f"{file}::test_thorough" for file in files]


def test_each_test_runs_within_six_turns(project):
    seen = []
    for turn in range(plan.TURNS):
        passed, left_out = project("-n0", turn=turn)
        assert not left_out
        # The touched file is first, then the test of each feature.
        assert passed[0] == usual(FILES[1])[0]
        assert set(usual(*FILES[:2])) <= set(passed)
        seen += passed
    assert set(seen) == {*usual(*FILES), *thorough(*FILES)}
    assert all(seen.count(test) == 1 for test in [*usual(*FILES[2:]), *thorough(*FILES)])


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_behind_the_soft_deadline_only_what_the_change_needs_runs(project, workers):
    passed, left_out = project(workers, soft=-1, left_out=FILES)
    assert sorted(passed) == sorted(usual(*FILES[:2]))
    # The thorough tests of the first two files did not run.
    assert left_out == sorted(FILES)
    passed, left_out = project(workers, left_out=left_out)
    assert sorted(passed) == sorted([*usual(*FILES), *thorough(*FILES)])
    assert not left_out


def test_all_tests_of_a_changed_file_are_due(project):
    passed, _ = project("-n0", touched=["test_c.py"], turn=-1)
    assert set(passed) == {*usual("test_a.py", "test_c.py"), *thorough("test_c.py")}


def test_near_the_hard_deadline_the_run_fails_and_names_what_did_not_run(project):
    passed, left_out = project("-n0", soft=-1, hard=10, status=1)
    assert not passed and set(FILES[:2]) <= set(left_out)
    assert "sub/test_b.py" in project.output.rpartition("NOT RUN")[2]


def test_a_hanging_test_fails_and_the_others_run(project):
    pytest.importorskip("pytest_timeout")
    (project.tests / "sub/test_b.py").write_text(HANGING)
    passed, _ = project("-n1", "--timeout=3", "--timeout-method=thread", status=1)
    assert {"sub/test_b.py::test_behind", *usual("test_a.py")} <= set(passed)
    assert "FAILED tests/sub/test_b.py::test_that_hangs" in project.output


def test_a_run_that_is_stopped_names_its_failures(project, tmp_path):
    """.ci/run sends SIGTERM at the hard deadline."""
    (project.tests / "test_a.py").write_text("def test_that_fails(): assert False")
    (project.tests / "sub/test_b.py").write_text(HANGING)
    process = project.start("-n2")
    failed = tmp_path / "build/failed_tests.txt"

    def running():
        return {file.read_text() for file in tmp_path.glob("build/running/gw*")}

    hanging = "tests/sub/test_b.py::test_that_hangs"
    assert wait_for(lambda: failed.exists() and hanging in running())
    assert failed.read_text() == "tests/test_a.py::test_that_fails\n"
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=200)[0]
    assert "FAILED tests/test_a.py::test_that_fails" in output and process.returncode != 0
    assert json.loads((tmp_path / "cache/tests.json").read_text())["seconds"]


def test_the_longest_file_is_first(project):
    slow = project.tests / "test_c.py"
    slow.write_text(slow.read_text().replace("short(): pass", "short(): time.sleep(0.5)"))
    project("-n0", touched=["everything"])
    passed, _ = project("-n0", touched=["everything"])
    assert passed[0] == usual("test_c.py")[0]


def test_each_name_of_the_table_exists():
    table = plan.read_table((TESTS_DIR / "touched.txt").read_text())
    assert all((plan.ROOT / source).exists() for source in table)
    assert all(has_tests(name) for tests in table.values() for name in tests)


def has_tests(name):
    """Whether a name of plans is a test file, or a folder with one."""
    path = TESTS_DIR / name.removeprefix("gpu-mock/")
    is_special = name in (plan.EVERYTHING, "gpu-mock", "neon")
    return is_special or path.is_file() or any(path.rglob("test_*.py"))


def test_each_file_in_tests_touches_a_test():
    table = plan.read_table((TESTS_DIR / "touched.txt").read_text())
    files = [file for file in plan.git("ls-files", "tests") if (plan.ROOT / file).exists()]
    assert len(files) > 300
    for file in files:
        names = plan.touched_by(file, table)
        assert names and all(map(has_tests, names)), file


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("cc/tf/stock/kernels.cc", ["x"]),
        ("cc/new/file.cc", ["everything"]),
        ("new.py", ["everything"]),
        ("tests/keras/test_zoneout.py", ["keras/test_zoneout.py"]),
        ("tests/keras/conftest.py", ["keras"]),
        ("tests/conftest.py", ["everything"]),
        (".gitignore", []),
    ],
)
def test_what_a_file_touches(file, names):
    table = plan.read_table("cc/tf y  # text\ncc/tf/stock x\n.gitignore\n\n")
    assert plan.touched_by(file, table) == names


def test_the_base_of_a_run_is_kept_until_a_run_passes(tmp_path, monkeypatch):
    monkeypatch.setenv("TF_RNN_OPS_CACHE", str(tmp_path))
    monkeypatch.delenv("TF_RNN_OPS_CI_BASE", raising=False)
    monkeypatch.setattr(plan, "PLAN", tmp_path / "build/plan.json")
    head = plan.git("rev-parse", "HEAD")
    monkeypatch.setattr(plan, "base_commit", lambda memory: memory.base or head[0])
    options = argparse.Namespace(soft=10, hard=20)
    plan._write(options)
    assert plan.Memory().base == head[0]
    plan._passed(options)
    assert plan.Memory().base is None and plan.Memory().passed == head
    monkeypatch.setenv("TF_RNN_OPS_CI_BASE", "HEAD~1")
    plan._write(options)
    assert plan.Memory().base is None


@pytest.mark.parametrize("content", ["{", "[]", '{"left_out": 1}', "\x00"])
def test_a_damaged_memory_is_named(content, tmp_path, capsys):
    file = tmp_path / "tests.json"
    file.write_text(content)
    memory = plan.Memory(file)
    assert memory.left_out == set() and str(file) in capsys.readouterr().out
    memory.left_out.add("neon")
    memory.base = "0123"
    memory.save()
    memory = plan.Memory(file)
    assert memory.left_out == {"neon"} and memory.base == "0123"


def test_the_change_begins_at_the_last_commit_that_passed(tmp_path, monkeypatch):
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    commits = []
    for hour in (0, 1, 9, 10, 11):
        date = f"{1_700_000_000 + 3600 * hour + 60 * len(commits)} +0000"
        environment = {**os.environ, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
        command = [*git, "commit", "-q", "--allow-empty", "-m", "m"]
        subprocess.run(command, check=True, env=environment)
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
        commits.append(head.stdout.strip())
    monkeypatch.setattr(plan, "ROOT", pathlib.Path(tmp_path))
    monkeypatch.delenv("TF_RNN_OPS_CI_BASE", raising=False)
    memory = plan.Memory(tmp_path / "tests.json")
    assert plan.base_commit(memory) == commits[1]
    memory.base = commits[0]
    assert plan.base_commit(memory) == commits[0]
    memory.passed = [commits[2], commits[3], "0" * 40]
    assert plan.base_commit(memory) == commits[3]
    assert plan.session_number() == 4
    monkeypatch.setattr(plan, "ROOT", pathlib.Path(tmp_path / "nothing"))
    assert plan.base_commit(memory) is None and plan.session_number() == 0
