"""checks.py itself, on a pretended driver and cuDNN: what it would do on a GPU, it does."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="checks.py takes its memory from PyTorch")

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TESTS = ROOT / "tests"

COMPILE = ("g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}")
DRIVER = (
    TESTS / "gpu_mock" / "driver.cc",
    TESTS / "gpu_core" / "driver_rest.cc",
    TESTS / "cc" / "gpu" / "host_kernels.cc",
)
CUDNN = tuple(TESTS / "cc" / "gpu" / f"fake_{p}.cc" for p in ("calls", "cudnn", "rnn", "weights"))


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """A folder with the core, a pretended driver and a stand-in for cuDNN."""
    folder = tmp_path_factory.mktemp("gpu_core")
    built = [
        subprocess.Popen([HERE / "build.sh", folder], stdout=subprocess.DEVNULL),
        subprocess.Popen([*COMPILE, *CUDNN, "-o", folder / "libfakecudnn.so"]),
        subprocess.Popen(
            [*COMPILE, f"-I{TESTS / 'gpu_mock'}", "-Wl,-soname,libcuda.so.1", *DRIVER]
            + ["-o", folder / "libcuda.so.1", "-ldl"]
        ),
    ]
    assert [process.wait() for process in built] == [0, 0, 0]
    return folder


def run_checks(libraries, **variables):
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(libraries),
        "TF_RNN_OPS_CUDNN": str(libraries / "libfakecudnn.so"),
        **variables,
    }
    command = [sys.executable, HERE / "checks.py", libraries / "libcore.so", "--pretend"]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"FAKE_CUDNN_PADDED_WEIGHTS": "1", "FAKE_CUDNN_REFUSE_BFLOAT16": "1"},
        {"TF_RNN_OPS_CUDNN_ALGO": "auto"},
    ],
    ids=["plain", "other layout, no bfloat16", "measured"],
)
def test_all_pass(libraries, variables):
    done = run_checks(libraries, **variables)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    passed, failed = done.stdout.splitlines()[-1].split(", ")
    assert int(passed.split()[0]) > 400
    assert failed == "0 failed"


def test_without_cudnn_the_error_says_what_to_do(libraries):
    done = run_checks(libraries, TF_RNN_OPS_CUDNN="/no/such/library.so")
    assert done.returncode != 0
    assert "/no/such/library.so" in done.stderr
    assert "pip install nvidia-cudnn-cu12" in done.stderr


def test_a_wrong_policy_is_refused(libraries):
    done = run_checks(libraries, TF_RNN_OPS_CUDNN_ALGO="fastest")
    assert done.returncode != 0
    assert "TF_RNN_OPS_CUDNN_ALGO must be one of" in done.stdout
