"""configure.sh in a folder of its own: what it writes, and what it says when it cannot."""

import os
import pathlib
import shutil
import subprocess
import sys
import venv

import pytest
import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def tree(tmp_path):
    """The files that configure.sh needs, copied."""
    for name in ("configure.sh", ".bazelversion"):
        shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / "tf_rnn_ops" / "native").mkdir(parents=True)
    shutil.copy2(ROOT / "tf_rnn_ops" / "native" / "versions.py", tmp_path / "tf_rnn_ops" / "native")
    shutil.copytree(
        ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tmp_path


@pytest.fixture
def tree_with_headers(tree):
    """The same with what the build has downloaded: the kernels need Eigen of the newest TensorFlow."""
    downloaded = ROOT / ".tools" / "tensorflow"
    if downloaded.exists():
        (tree / ".tools").mkdir()
        (tree / ".tools" / "tensorflow").symlink_to(downloaded)
    return tree


def configure(tree, *arguments, **variables):
    environment = {
        k: v for k, v in os.environ.items() if k not in ("PYTHON_BIN_PATH", "PYTHONPATH")
    }
    local = ROOT / ".tools" / "node_modules" / ".bin" / "bazelisk"
    if local.exists():
        environment.setdefault("BAZELISK", str(local))
    return subprocess.run(
        [str(tree / "configure.sh"), *arguments],
        cwd=tree,
        env={**environment, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def files(tree):
    return {str(p.relative_to(tree)) for p in tree.rglob("*") if "__pycache__" not in p.parts}


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [(["--python", sys.executable], {}), ([], {"PYTHON_BIN_PATH": sys.executable})],
)
def test_writes_one_file(arguments, variables, tree_with_headers):
    tree = tree_with_headers
    before = files(tree)
    run = configure(tree, *arguments, **variables)
    assert run.returncode == 0, run.stderr
    assert f"{sys.executable}, TensorFlow {tf.__version__}" in run.stdout
    assert files(tree) - before == {".tf_configure.bazelrc"}
    written = (tree / ".tf_configure.bazelrc").read_text()
    assert f"# python={sys.executable}\n" in written
    (include,) = [line for line in written.splitlines() if "TF_INCLUDE_DIR" in line]
    assert (pathlib.Path(include.split('"')[1]) / "tensorflow" / "core").is_dir()


@pytest.mark.parametrize(
    ("arguments", "variables", "named"),
    [
        (["--python", "/no/such/python"], {}, "Python not found"),
        (["--python"], {}, "--python"),
        (["--cuda"], {}, "--cuda"),
        (["--python", sys.executable], {"USE_BAZEL_VERSION": "/no/bazel"}, "USE_BAZEL_VERSION"),
    ],
)
def test_bad_arguments(tree, arguments, variables, named):
    run = configure(tree, *arguments, **variables)
    assert run.returncode == 1 and named in run.stderr
    assert not (tree / ".tf_configure.bazelrc").exists()


def test_python_without_tensorflow(tree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    run = configure(tree, "--python", str(folder / "bin" / "python"))
    assert run.returncode == 1
    assert f"{folder}/bin/python -m pip install" in run.stderr.splitlines()[-1]
    assert not (tree / ".tf_configure.bazelrc").exists()


def test_nothing_is_installed(tree, tmp_path):
    """Without bazelisk, but with npm and apt-get: it says what is missing, and calls neither."""
    folder = tmp_path / "commands"
    folder.mkdir()
    for name in ("npm", "apt-get"):
        (folder / name).write_text("#!/bin/sh\necho called >&2\n")
        (folder / name).chmod(0o755)
    run = configure(tree, "--python", sys.executable, BAZELISK="", PATH=f"{folder}:/usr/bin:/bin")
    assert run.returncode == 1
    assert "bazelisk is missing" in run.stderr and "called" not in run.stderr
    assert not (tree / ".tools").exists()


def test_headers_that_are_not_there_are_named_and_not_downloaded(tree):
    """configure.sh asks so for Eigen of the newest TensorFlow when an older one is configured."""
    command = [sys.executable, str(tree / "tools" / "fetch_tensorflow.py")]
    run = subprocess.run(
        [*command, "--no-download", "2.18", "x86_64"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert "tensorflow-cpu~=2.18.0" in run.stderr
