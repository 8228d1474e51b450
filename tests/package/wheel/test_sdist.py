"""The source distribution: pip builds from it the wheel that the repository gives."""

import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    script = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", script, str(folder)], check=True, cwd=ROOT)
    (archive,) = folder.glob("tf_rnn_ops-*.tar.gz")
    return archive


def test_nothing_that_was_built_is_in_it(sdist):
    with tarfile.open(sdist) as archive:
        names = {
            pathlib.PurePosixPath(*pathlib.PurePosixPath(n).parts[1:]) for n in archive.getnames()
        }
    assert pathlib.PurePosixPath("tools/build_backend.py") in names
    assert pathlib.PurePosixPath("cc/compat/old_libc.cc") in names
    assert not {n for n in names if n.suffix in (".so", ".pyc") or n.parts[:1] == ("bazel-bin",)}


@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_pip_builds_the_wheel_from_it(sdist, unpacked, tmp_path):
    """In this environment, which has what an isolated build would download."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    local = ROOT / ".tools" / "node_modules" / ".bin" / "bazelisk"
    if local.exists():
        environment.setdefault("BAZELISK", str(local))
    # Bazel keeps its output there, and its server ends soon after.
    environment["TEST_TMPDIR"] = str(tmp_path / "bazel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(tmp_path), str(sdist)], check=True, env=environment)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        files = {name for name in archive.namelist() if name.startswith("tf_rnn_ops/")}
    assert files == {
        str(path.relative_to(unpacked))
        for path in (unpacked / "tf_rnn_ops").rglob("*")
        if path.is_file()
    }


def test_a_wheel_for_any_machine(sdist, tmp_path):
    """The Python files alone: it warns, and converts weights and opens Keras models all the same."""
    environment = {**os.environ, "TF_RNN_OPS_PURE": "1", "PYTHONWARNINGS": "default"}
    environment.pop("PYTHONPATH", None)
    pip = [sys.executable, "-m", "pip"]
    build = [*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*build, str(tmp_path), str(sdist)], check=True, env=environment)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    target = tmp_path / "installed"
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*install, str(wheel)], check=True, env=environment)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import tf_rnn_ops.keras\n"
        "assert tf_rnn_ops.__file__.startswith(sys.argv[1])\n"
        "print(tf_rnn_ops.params.Layout('gru', 1, 3, 2).size)\n"
        "print(tf_rnn_ops.keras.explain(tf_rnn_ops.keras.LSTM(4), print_fn=None)[0].path)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(target)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["63", "keras"]
    assert run.stderr.count("UserWarning") == 1 and ".so does not exist" in run.stderr
