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


def test_writes_one_file(tree):
    # The kernels need Eigen of the newest TensorFlow, which the build has downloaded.
    downloaded = ROOT / ".tools" / "tensorflow"
    if downloaded.exists():
        (tree / ".tools").mkdir()
        (tree / ".tools" / "tensorflow").symlink_to(downloaded)
    before = files(tree)
    run = configure(tree, PYTHON_BIN_PATH=sys.executable)
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
