"""tools/preflight.sh on machines that lack something: one line that says what, at once."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from packaging.requirements import Requirement

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMMANDS = (
    "awk bash basename cat chmod cut df dirname env g++ head id mkdir nm python3 sed tail uname"
)


@pytest.fixture
def tree(tmp_path):
    """A source tree, as far as the script looks at it."""
    shutil.copytree(ROOT / "tools", tmp_path / "tree" / "tools")
    shutil.copy2(ROOT / ".bazelversion", tmp_path / "tree" / ".bazelversion")
    return tmp_path / "tree"


@pytest.fixture
def machine(tmp_path):
    """A folder with the only commands that there are: all that are needed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in COMMANDS.split():
        (folder / name).symlink_to(sys.executable if name == "python3" else shutil.which(name))
    command(folder, "bazelisk", "echo bazel 4.2.3")
    return folder


def command(folder, name, text):
    """Makes a command of a line of shell."""
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_text(f"#!/bin/bash\n{text}\n")
    (folder / name).chmod(0o755)


def preflight(tree, machine, *arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if k not in ("BAZELISK", "PYTHONPATH")}
    return subprocess.run(
        [str(tree / "tools" / "preflight.sh"), *arguments],
        env={**environment, "PATH": str(machine), "USE_BAZEL_VERSION": "4.2.3", **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def rejects(tree, machine):
    """Runs the script, which fails with one line that has all parts."""

    def check(parts, *arguments, **variables):
        run = preflight(tree, machine, *arguments, **variables)
        (line,) = run.stderr.splitlines()
        assert run.returncode == 1 and line.startswith("preflight.sh: ")
        assert all(part in line for part in parts), line
        return run

    return check


def test_a_machine_that_has_all(tree, machine):
    run = preflight(tree, machine, "--python", "python3", ".venv=1")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


OLD_PYTHON = 'case "$2" in *version_info*) exit 1;; esac; echo Python 3.9.2'


# By commands that are missing, other commands, and the arguments: what the line names.
@pytest.mark.parametrize(
    ("lacks", "others", "arguments", "parts"),
    [
        (["g++"], {}, [], ["missing: g++"]),
        (["bazelisk"], {}, [], ["missing: npm", "@bazel/bazelisk"]),
        (["g++", "nm", "bazelisk"], {}, [], ["missing: g++ binutils npm", "bazelisk is missing"]),
        ([], {"g++": '[ "$1" = --version ] && echo "g++ 9.4.0"'}, [], ["g++ 9.4.0", "GCC 10"]),
        ([], {"bazelisk": "exit 1"}, [], ["USE_BAZEL_VERSION"]),
        ([], {}, ["--no-compiler", "--python", "/no/python"], ["/no/python", "PYTHON="]),
        (["python3"], {}, ["--python", "python3"], ["missing: python3 python3-venv"]),
        ([], {"python3": OLD_PYTHON}, ["--python", "python3"], ["Python 3.9.2", "PYTHON="]),
        (["bazelisk"], {"npm": "exit 1"}, ["--install"], ["npm", "registry"]),
    ],
)
def test_what_a_machine_lacks(lacks, others, arguments, parts, rejects, machine):
    for name in lacks:
        (machine / name).unlink()
    for name, text in others.items():
        command(machine, name, text)
    rejects(parts, *arguments)


def test_too_little_disk(tree, machine, rejects):
    command(machine, "df", "echo H; echo fs 99999999 0 2500000 0% /")
    assert preflight(tree, machine).returncode == 0
    rejects(["2 GiB of disk", "4 are needed"], ".venv=3")
    (tree / ".venv").mkdir()
    assert preflight(tree, machine, ".venv=3").returncode == 0


def test_too_little_memory(rejects, tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 2000000 kB\nMemAvailable: 1500000 kB\n")
    rejects(["1 GiB of memory", "3 are needed"], TF_RNN_OPS_MEMINFO=str(meminfo))


def test_without_a_network_apt_is_named(tree, machine, rejects):
    (machine / "g++").unlink()
    command(machine, "id", "echo 0")
    command(machine, "apt-get", "echo noise; exit 100")
    run = rejects(["missing: g++", ".tools/apt.log"], "--install")
    assert run.stdout.startswith("installing with apt-get: g++")
    assert (tree / ".tools" / "apt.log").read_text() == "noise\n"


@pytest.mark.parametrize(("free", "arguments"), [(99999999, []), (0, ["--install"])])
def test_nothing_is_installed(free, arguments, machine, rejects):
    """Without being asked, or where the disk is full."""
    (machine / "g++").unlink()
    command(machine, "id", "echo 0")
    command(machine, "apt-get", "echo >&2 asked")
    command(machine, "df", f"echo H; echo fs 99999999 0 {free} 0% /")
    rejects(["missing: g++"], *arguments)


LOCKED = "tools/requirements/build.txt"
UNREACHABLE = "is the package index reachable?"
NO_KERAS = "the package index has no keras==3.15.1"
CONNECTION = "WARNING: Retrying after connection broken by NewConnectionError"
MISSING = "ERROR: No matching distribution found for keras==3.15.1"


def default_tensorflow():
    ask = ["bash", "-c", ". tools/common.sh; tensorflow_requirement"]
    return subprocess.check_output(ask, cwd=ROOT, text=True).strip()


def setup_venv(tree, machine, pip, tensorflow="", chosen="build", **variables):
    """Runs setup_venv.sh with a Python whose environments have a script for a Python."""
    for name in ("cp", "du", "find", "grep", "rm", "sleep"):
        if not (machine / name).exists():
            (machine / name).symlink_to(shutil.which(name))
    command(machine, "pip", pip)
    command(machine, "python3", f'mkdir -p "$3/bin"; cp {machine}/pip "$3/bin/python"')
    shutil.copytree(ROOT / "tf_rnn_ops" / "native", tree / "tf_rnn_ops/native", dirs_exist_ok=True)
    tensorflow = tensorflow or default_tensorflow()
    return subprocess.run(
        [str(tree / "tools" / "setup_venv.sh"), "python3", "venv", tensorflow, chosen],
        env={"PATH": str(machine), **variables},
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("said", "tensorflow", "package", "reason"),
    [
        (None, "", "setuptools", UNREACHABLE),
        ("", "", LOCKED, UNREACHABLE),
        ("", "tf", "tf and tools/requirements/build.in", UNREACHABLE),
        (MISSING, "", LOCKED, NO_KERAS),
        (f"{CONNECTION}\n{MISSING}", "", LOCKED, UNREACHABLE),
        ("[Errno 28] No space left on device", "", LOCKED, "the disk is full"),
    ],
)
def test_one_sentence_says_what_pip_cannot_install(
    said, tensorflow, package, reason, tree, machine
):
    """setup_venv.sh asks the index for a small package before the large ones."""
    pip = f"[[ $* != *'-r '* ]] || {{ echo '{said}'; exit 1; }}" if said is not None else "exit 1"
    run = setup_venv(tree, machine, pip, tensorflow)
    assert run.returncode == 1
    (line,) = run.stderr.splitlines()
    assert package in line and reason in line and ".tools/setup_venv.log" in line


def test_the_packages_for_testing_contain_those_for_building(tree, machine):
    calls = tree / "calls"
    pip = f"echo $* >>{calls}"
    run = setup_venv(tree, machine, pip, chosen="test")
    assert (run.returncode, run.stderr) == (0, "")
    assert "-r tools/requirements/test.txt" in calls.read_text()
    stamps = [(tree / "venv" / name).read_text() for name in (".ready", ".tests")]
    assert stamps[0] == stamps[1]
    calls.unlink()
    for chosen in ("build", "test"):
        run = setup_venv(tree, machine, pip, chosen=chosen)
        assert (run.returncode, run.stdout, calls.exists()) == (0, "", False)


def test_another_tensorflow_replaces_both_sets(tree, machine):
    calls = tree / "calls"
    pip = f"echo $* >>{calls}"
    assert setup_venv(tree, machine, pip, chosen="test").returncode == 0
    assert setup_venv(tree, machine, pip, "tensorflow~=2.19.0").returncode == 0
    assert "uninstall --yes tensorflow-cpu" in calls.read_text()
    assert (tree / "venv" / ".ready").read_text() == "tensorflow~=2.19.0\n"
    assert not (tree / "venv" / ".tests").exists()


def test_an_interrupted_environment_is_made_again(tree, machine):
    run = setup_venv(tree, machine, "kill $PPID")
    assert run.returncode < 0
    (tree / "venv" / "half").mkdir()
    run = setup_venv(tree, machine, "exit 0")
    assert run.returncode == 0 and run.stdout.startswith("the last run did not finish: venv is")
    assert not (tree / "venv" / "half").exists()
    assert (tree / "venv" / ".ready").exists()


@pytest.mark.parametrize("name", ["build", "test"])
def test_locked_versions(name):
    """The lock has the default TensorFlow, one version for each Python, and nothing of a machine."""
    lines = (ROOT / "tools" / "requirements" / f"{name}.txt").read_text().splitlines()
    default = Requirement(default_tensorflow())
    locked = [Requirement(line) for line in lines if not line.startswith("#")]
    for requirement in locked:
        (specifier,) = requirement.specifier
        assert specifier.operator == "==" and not requirement.url
    (tensorflow,) = [each for each in locked if each.name == default.name]
    (version,) = tensorflow.specifier
    assert version.version in default.specifier


def test_building_and_testing_have_the_same_versions():
    build, test = (
        set((ROOT / "tools" / "requirements" / f"{name}.txt").read_text().splitlines()[1:])
        for name in ("build", "test")
    )
    assert build < test
