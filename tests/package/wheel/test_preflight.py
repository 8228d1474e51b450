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
    "awk",
    "bash",
    "basename",
    "cat",
    "chmod",
    "cut",
    "df",
    "dirname",
    "env",
    "g++",
    "head",
    "id",
)
COMMANDS += ("mkdir", "nm", "python3", "sed", "tail", "uname")


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
    for name in COMMANDS:
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


def says(run, *parts):
    """Whether it failed with one line that has all parts."""
    (line,) = run.stderr.splitlines()
    assert run.returncode == 1 and line.startswith("preflight.sh: ")
    assert all(part in line for part in parts), line
    return line


def test_a_machine_that_has_all(tree, machine):
    run = preflight(tree, machine, "--python", "python3", ".venv=1")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_no_compiler(tree, machine):
    (machine / "g++").unlink()
    line = says(preflight(tree, machine))
    assert line == "preflight.sh: missing: g++ (Debian: apt-get install g++)"


def test_neither_bazelisk_nor_npm(tree, machine):
    (machine / "bazelisk").unlink()
    says(
        preflight(tree, machine), "missing: npm", "bazelisk is missing: npm install -g @bazel/bazel"
    )


def test_all_that_is_missing_is_in_one_line(tree, machine):
    for name in ("g++", "nm", "bazelisk"):
        (machine / name).unlink()
    says(preflight(tree, machine), "missing: g++ binutils npm", "bazelisk is missing")


def test_an_old_compiler(tree, machine):
    command(machine, "g++", '[ "$1" = --version ] && echo "g++ 9.4.0"')
    says(preflight(tree, machine), "g++ 9.4.0 is too old: GCC 10 or newer is needed")


def test_an_unusable_bazel(tree, machine):
    command(machine, "bazelisk", "exit 1")
    says(preflight(tree, machine), "no usable Bazel 4.2: set USE_BAZEL_VERSION")


def test_too_little_disk(tree, machine):
    command(machine, "df", "echo H; echo fs 99999999 0 2500000 0% /")
    assert preflight(tree, machine).returncode == 0
    says(preflight(tree, machine, ".venv=3"), "2 GiB of disk are free", "4 are needed")
    (tree / ".venv").mkdir()
    assert preflight(tree, machine, ".venv=3").returncode == 0


def test_too_little_memory(tree, machine, tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 2000000 kB\nMemAvailable: 1500000 kB\n")
    run = preflight(tree, machine, TF_RNN_OPS_MEMINFO=str(meminfo))
    says(run, "1 GiB of memory are free: 3 are needed")


def test_the_python(tree, machine):
    run = preflight(tree, machine, "--no-compiler", "--python", "/no/python")
    says(run, "/no/python not found: pass PYTHON=/path/to/python3")
    (machine / "python3").unlink()
    says(preflight(tree, machine, "--python", "python3"), "missing: python3 python3-venv")
    command(machine, "python3", 'case "$2" in *version_info*) exit 1;; esac; echo Python 3.9.2')
    says(preflight(tree, machine, "--python", "python3"), "Python 3.9.2 is too old: pass PYTHON=")


def test_without_a_network_npm_is_named(tree, machine):
    (machine / "bazelisk").unlink()
    command(machine, "npm", "echo noise; exit 1")
    run = preflight(tree, machine, "--install")
    says(run, "npm cannot install @bazel/bazelisk: is its registry reachable?")


def test_without_a_network_apt_is_named(tree, machine):
    (machine / "g++").unlink()
    command(machine, "id", "echo 0")
    command(machine, "apt-get", "echo noise; exit 100")
    run = preflight(tree, machine, "--install")
    says(run, "missing: g++", "apt-get install g++, which failed: .tools/apt.log")
    assert run.stdout.startswith("installing with apt-get: g++")
    assert (tree / ".tools" / "apt.log").read_text() == "noise\n"


def test_nothing_is_installed_without_being_asked(tree, machine):
    (machine / "g++").unlink()
    command(machine, "id", "echo 0")
    command(machine, "apt-get", "echo >&2 asked")
    says(preflight(tree, machine), "missing: g++")


def test_nothing_is_installed_where_the_disk_is_full(tree, machine):
    (machine / "g++").unlink()
    command(machine, "id", "echo 0")
    command(machine, "apt-get", "echo >&2 asked")
    command(machine, "df", "echo H; echo fs 99999999 0 0 0% /")
    says(preflight(tree, machine, "--install"), "0 GiB of disk", "missing: g++")


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
    for name in ("du", "find", "grep", "rm", "sleep"):
        if not (machine / name).exists():
            (machine / name).symlink_to(shutil.which(name))
    (machine / "pip").write_text(f"#!/bin/bash\n{pip}\n")
    (machine / "pip").chmod(0o755)
    command(machine, "python3", f'mkdir -p "$3/bin"; cp {machine}/pip "$3/bin/python"')
    if not (machine / "cp").exists():
        (machine / "cp").symlink_to(shutil.which("cp"))
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
    ("pip", "tensorflow", "package", "reason"),
    [
        ("exit 1", "", "setuptools", UNREACHABLE),
        ("exit 1", "tensorflow", "setuptools", UNREACHABLE),
        ('[[ $* != *"-r "* ]]', "", LOCKED, UNREACHABLE),
        ('[[ $* != *"-r "* ]]', "tf", "tf and tools/requirements/build.in", UNREACHABLE),
        (f'[[ $* != *"-r "* ]] || {{ echo {MISSING}; exit 1; }}', "", LOCKED, NO_KERAS),
        (
            f'[[ $* != *"-r "* ]] || {{ echo "{CONNECTION}"; echo {MISSING}; exit 1; }}',
            "",
            LOCKED,
            UNREACHABLE,
        ),
        (
            '[[ $* != *"-r "* ]] || { echo "[Errno 28] No space left on device"; exit 1; }',
            "",
            LOCKED,
            "the disk is full",
        ),
    ],
)
def test_one_sentence_says_what_pip_cannot_install(pip, tensorflow, package, reason, tree, machine):
    """setup_venv.sh asks the index for a small package before the large ones."""
    run = setup_venv(tree, machine, pip, tensorflow)
    assert run.returncode == 1
    said = f"setup_venv.sh: pip cannot install {package}: {reason} (see .tools/setup_venv.log)\n"
    assert run.stderr == said


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


def test_progress_is_printed_while_pip_works(tree, machine):
    pip = f'[[ $* != *"-r "* ]] || while [ ! -e {tree}/enough ]; do sleep 0.1; done'
    # The second measurement of the folder ends pip's work.
    command(
        machine, "du", f"[ ! -e {tree}/n ] || : >{tree}/enough; : >{tree}/n; printf '7\\tvenv\\n'"
    )
    run = setup_venv(tree, machine, pip, TF_RNN_OPS_PROGRESS_SECONDS="0.1")
    first, *still = run.stdout.splitlines()
    assert first.startswith(f"installing {LOCKED} into venv: ")
    assert still and all(
        line.startswith(f"still installing {LOCKED} into venv: ") for line in still
    )
    assert all(line.endswith(" s, 7 MiB") for line in still)


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
