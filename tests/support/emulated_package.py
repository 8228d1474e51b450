"""The package with the kernels of an emulated CPU, for a process of its own."""

import os
import pathlib
import shutil
import subprocess

import tf_rnn_ops
from support import subproc

ROOT = pathlib.Path(__file__).resolve().parents[2]
_TARGET = "tests/cc/cpu/emulated_avx512.so"


def _object():
    """The object of the emulations, see Note [Emulation] in cc/cpu/simd/isa.h."""
    # `make test` has built it.
    command = [
        ROOT / "tools/bazelisk.sh",
        "build",
        f"//{os.path.dirname(_TARGET)}:emulated_avx512.so",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ROOT / "bazel-bin" / _TARGET


def _copy(source, target):
    if source.endswith(".so"):
        os.link(source, target)
    else:
        shutil.copyfile(source, target)


def make(folder):
    """Copies the package under test into a folder, with the emulations as its kernels for AVX2.

    Args:
        folder: A pathlib.Path.

    Returns:
        {name: value}: environment variables for `subproc.run_module`, to which "TF_RNN_OPS_EMULATED_CPU" must
        be added: "avx512-emulated", "avx512-bf16-emulated" or "avx512-amx-emulated".
    """
    package = folder / "tf_rnn_ops"
    source = pathlib.Path(tf_rnn_ops.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    try:
        shutil.copytree(source, package, ignore=ignored, copy_function=_copy)
    except shutil.Error:  # a folder on another disk
        shutil.rmtree(package)
        shutil.copytree(source, package, ignore=ignored)
    kernels = package / "_tf_rnn_ops_avx2.so"
    kernels.unlink()
    shutil.copyfile(_object(), kernels)
    path = [str(folder), *subproc.environment()["PYTHONPATH"].split(os.pathsep)]
    return {"TF_RNN_OPS_CPU_ISA": "avx2", "PYTHONPATH": os.pathsep.join(path)}
