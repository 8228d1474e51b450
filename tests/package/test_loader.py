"""What importing the package does when something is missing, and `python -m tf_rnn_ops.info`."""

import importlib
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import tf_rnn_ops

PACKAGE = pathlib.Path(tf_rnn_ops.__file__).resolve().parent


def _run(*arguments, path=None, **environment):
    """Runs Python, with `path` in front of the module search path."""
    env = {**os.environ, **environment}
    if path is not None:
        env["PYTHONPATH"] = os.pathsep.join([str(path), env.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *arguments],
        env=env,
        cwd=path,  # which comes before PYTHONPATH
        capture_output=True,
        text=True,
        check=False,
    )


def _last_line(result):
    assert result.returncode == 1, result.stderr
    return result.stderr.strip().splitlines()[-1]


@pytest.fixture
def fake_tensorflow(tmp_path):
    """Makes a module named tensorflow out of the given source."""

    def make(source):
        folder = tmp_path / "fake" / "tensorflow"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(source)
        return folder.parent

    return make


@pytest.fixture
def copied_package(tmp_path):
    """A copy of the package without its shared libraries."""
    target = tmp_path / "copy" / "tf_rnn_ops"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return target


def test_tensorflow_is_missing(fake_tensorflow):
    path = fake_tensorflow("raise ModuleNotFoundError('No module named tensorflow')")
    line = _last_line(_run("-c", "import tf_rnn_ops", path=path))
    assert line.startswith("ImportError: tf_rnn_ops needs TensorFlow 2.21")
    assert "pip install" in line


@pytest.mark.parametrize("version", ("2.20.0", "2.22.0-rc1", "3.21.0", "2.2.1"))
def test_tensorflow_of_another_version(version, fake_tensorflow):
    path = fake_tensorflow(f"__version__ = {version!r}")
    line = _last_line(_run("-c", "import tf_rnn_ops", path=path))
    assert line.startswith("ImportError: This build of tf_rnn_ops works with TensorFlow 2.21")
    assert version in line and "pip install" in line


def test_library_is_missing(copied_package):
    line = _last_line(_run("-c", "import tf_rnn_ops", path=copied_package.parent))
    assert line.startswith("ImportError") and "_tf_rnn_ops.so does not exist" in line
    assert "make develop" in line


def test_library_is_broken(copied_package):
    (copied_package / "_tf_rnn_ops.so").write_bytes(b"not a library")
    result = _run("-c", "import tf_rnn_ops", path=copied_package.parent)
    assert result.returncode == 1
    assert "ImportError: TensorFlow 2.21" in result.stderr and "cannot load" in result.stderr


def test_variants_are_optional(copied_package):
    shutil.copy(PACKAGE / "_tf_rnn_ops.so", copied_package)
    script = "import tf_rnn_ops; print(tf_rnn_ops.__file__, tf_rnn_ops.cpu_isa())"
    result = _run("-c", script, path=copied_package.parent)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [str(copied_package / "__init__.py"), "baseline"]


def test_gradients_may_be_loaded_again():
    """As notebooks do with autoreload."""
    importlib.reload(tf_rnn_ops._gradients)


def test_get_lib_is_a_file():
    assert pathlib.Path(tf_rnn_ops.get_lib()) == PACKAGE / "_tf_rnn_ops.so"
    assert pathlib.Path(tf_rnn_ops.get_lib()).is_file()


def test_info_names_everything():
    result = _run("-m", "tf_rnn_ops.info", TF_RNN_OPS_CPU_ISA="baseline")
    assert result.returncode == 0, result.stderr
    facts = dict(line.split("  ", 1) for line in result.stdout.splitlines())
    facts = {title: text.strip() for title, text in facts.items()}
    assert facts["tf_rnn_ops"] == tf_rnn_ops.__version__
    assert facts["TensorFlow"].startswith("2.21.")
    assert facts["Library of ops"] == tf_rnn_ops.get_lib()
    assert facts["CPU instruction set"].startswith("baseline (")
    assert "within an op" in facts["Threads"]
    assert "CPU:0" in facts["Devices"]
    assert facts["cuDNN"]


def test_info_survives_a_missing_library(copied_package):
    result = _run("-m", "tf_rnn_ops.info", path=copied_package.parent)
    assert result.returncode == 0, result.stderr
    assert "does not exist" in result.stdout
    assert "TensorFlow  " in result.stdout


def test_info_survives_a_missing_tensorflow(fake_tensorflow):
    path = fake_tensorflow("raise ModuleNotFoundError('No module named tensorflow')")
    result = _run("-m", "tf_rnn_ops.info", path=path)
    assert result.returncode == 0, result.stderr
    assert "not available: tf_rnn_ops needs TensorFlow" in result.stdout


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tf_rnn_ops.nothing
