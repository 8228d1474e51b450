"""run.py on a mock driver, cuBLAS and cuDNN, through TensorFlow's XLA on the CPU."""

import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

from gpu.core import stand_ins
from support.shared import folder_of_all_workers

HERE = pathlib.Path(__file__).resolve().parent

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        not (pathlib.Path(tf.sysconfig.get_include()) / "xla/ffi/api/ffi.h").exists(),
        reason="TensorFlow's package lacks the headers of XLA's FFI",
    ),
]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """A folder with the handlers and the mock libraries."""

    def build(folder):
        built = stand_ins.start_building(folder)
        command = [HERE / "build.sh", folder, tf.sysconfig.get_include()]
        built.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        assert [process.wait() for process in built] == [0, 0, 0, 0]

    return folder_of_all_workers(tmp_path_factory, "gpu_ffi", build)


def rehearse(libraries, *arguments, **variables):
    command = [sys.executable, "-B", HERE / "run.py", "--pretend", "--engine", "tensorflow"]
    command += ["--library", libraries / "libgpu_ffi.so", *arguments]
    return subprocess.run(
        list(map(str, command)),
        env=stand_ins.environment(libraries, **variables),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("every", "variables"),
    [
        (7, {}),
        (25, {"FAKE_CUDNN_PADDED_WEIGHTS": "1", "FAKE_CUDNN_REFUSE_BFLOAT16": "1"}),
        (25, {"TF_RNN_OPS_CUDNN_ALGO": "small_h"}),
    ],
    ids=["plain", "other layout, no bfloat16", "another algorithm"],
)
def test_all_checks(libraries, every, variables):
    done = rehearse(libraries, "--every", every, **variables)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    passed, failed = done.stdout.splitlines()[-1].split(", ")
    assert failed == "0 failed" and int(passed.split()[0]) > 800 / every, done.stdout


def test_without_cudnn_the_error_says_what_to_do(libraries):
    done = rehearse(libraries, "--every", 99, TF_RNN_OPS_CUDNN="/no/such/library.so")
    assert done.returncode == 1
    assert "/no/such/library.so" in done.stdout
    assert "pip install nvidia-cudnn-cu12" in done.stdout
