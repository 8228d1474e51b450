"""The minimal headers of cc/gpu say what NVIDIA's say: each check_*_abi.cc must compile."""

import pathlib
import subprocess

import pytest

pytestmark = pytest.mark.thorough

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]

LIBRARIES = "cc/gpu/libraries"
# By check: the parts whose headers it includes.
CHECKS = {
    "cublas": ("cublas", "cuda", "nvcc", "cccl"),
    "cudnn": ("cudnn", "cuda", "nvcc"),
    "driver": ("cuda",),
}


def compile_check(check, includes, folders):
    """Compiles for errors only; `folders` come before the repository for our own headers."""
    command = ["g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    for include in includes:
        command += ["-isystem", str(include / "include")]
    for folder in (*folders, ROOT):
        command += ["-I", str(folder)]
    command.append(str(HERE / f"check_{check}_abi.cc"))
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("check", CHECKS)
def test_the_prototypes_agree(check, nvidia):
    done = compile_check(check, nvidia(*CHECKS[check]), [])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("check", "header", "right", "wrong", "message"),
    [
        ("cudnn", "cudnn_min.h", "int rank,", "long rank,", "differs: cudnnSetTensorNdDescriptor"),
        ("cublas", "cublas_min.h", "int64_t lda", "int lda", "cublasGemmEx_64"),
        ("driver", "driver_min.h", "size_t bytes", "int bytes", "differs: cuMemcpyDtoDAsync_v2"),
    ],
)
def test_a_difference_is_an_error(check, header, right, wrong, message, nvidia, tmp_path):
    text = (ROOT / LIBRARIES / header).read_text()
    assert right in text
    changed = tmp_path / LIBRARIES / header
    changed.parent.mkdir(parents=True)
    changed.write_text(text.replace(right, wrong))
    done = compile_check(check, nvidia(*CHECKS[check]), [tmp_path])
    assert done.returncode != 0
    assert message in done.stderr
