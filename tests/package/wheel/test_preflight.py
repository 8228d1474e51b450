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


def assert_rejected(run, parts):
    """The script has failed with one line that has all parts."""
    (line,) = run.stderr.splitlines()
    assert run.returncode == 1 and line.startswith("preflight.sh: ")
    assert all(part in line for part in parts), line


def test_a_machine_that_has_all(tree, machine):
    run = preflight(tree, machine, "--python", "python3", ".venv=1")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


OLD_PYTHON = 'case "$2" in *version_info*) exit 1;; esac; echo Python 3.9.2'


# By commands that are missing, other commands, and the arguments: what the line names.
@pytest.mark.parametrize(
    ("lacks", "others", "arguments", "parts"),
    [
        (["g++", "nm"], {}, [], ["missing: g++ binutils"]),
        (["g++"], {"id": "echo 0", "apt-get": "exit 100"}, ["--install"], [".tools/apt.log"]),
        (["bazelisk"], {}, [], ["missing: npm", "@bazel/bazelisk"]),
        (["bazelisk"], {"npm": "exit 1"}, ["--install"], ["npm", "registry"]),
        ([], {"bazelisk": "exit 1"}, [], ["USE_BAZEL_VERSION"]),
        ([], {"g++": '[ "$1" = --version ] && echo "g++ 9.4.0"'}, [], ["g++ 9.4.0", "GCC 10"]),
        (["python3"], {}, ["--python", "python3"], ["missing: python3 python3-venv"]),
        ([], {}, ["--no-compiler", "--python", "/no/python"], ["/no/python", "PYTHON="]),
        ([], {"python3": OLD_PYTHON}, ["--python", "python3"], ["Python 3.9.2", "PYTHON="]),
        ([], {"df": "echo H; echo fs 9 0 2500000 0% /"}, [".venv=3"], ["2 GiB of disk", "4 are"]),
    ],
)
def test_what_a_machine_lacks(lacks, others, arguments, parts, tree, machine):
    for name in lacks:
        (machine / name).unlink()
    for name, text in others.items():
        command(machine, name, text)
    assert_rejected(preflight(tree, machine, *arguments), parts)


def test_too_little_memory(tree, machine, tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 2000000 kB\nMemAvailable: 1500000 kB\n")
    run = preflight(tree, machine, TF_RNN_OPS_MEMINFO=str(meminfo))
    assert_rejected(run, ["1 GiB of memory", "3 are needed"])


def default_tensorflow():
    ask = ["bash", "-c", ". tools/common.sh; tensorflow_requirement"]
    return subprocess.check_output(ask, cwd=ROOT, text=True).strip()


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
