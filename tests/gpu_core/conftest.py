"""The stand-ins that let run.py do on this machine what it would do on a GPU."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TESTS = ROOT / "tests"

COMPILE = ("g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}")
MOCK = (*COMPILE, f"-I{TESTS / 'gpu_mock'}")
DRIVER = (
    TESTS / "gpu_mock" / "driver.cc",
    HERE / "driver_rest.cc",
    TESTS / "cc" / "gpu" / "host_kernels.cc",
)
BLAS = (TESTS / "gpu_mock" / "blas.cc", HERE / "blas_rest.cc")
CUDNN = tuple(TESTS / "cc" / "gpu" / f"fake_{p}.cc" for p in ("calls", "cudnn", "rnn", "weights"))


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """A folder with the core, a pretended driver and cuBLAS, and a stand-in for cuDNN."""
    folder = tmp_path_factory.mktemp("gpu_core")
    cuda, cublas = folder / "libcuda.so.1", folder / "libcublas.so.12"
    built = [
        subprocess.Popen([HERE / "build.sh", folder], stdout=subprocess.DEVNULL),
        subprocess.Popen([*COMPILE, *CUDNN, "-o", folder / "libfakecudnn.so"]),
        subprocess.Popen([*MOCK, f"-Wl,-soname,{cuda.name}", *DRIVER, "-o", cuda, "-ldl"]),
        subprocess.Popen([*MOCK, f"-Wl,-soname,{cublas.name}", *BLAS, "-o", cublas, "-ldl"]),
    ]
    assert [process.wait() for process in built] == [0, 0, 0, 0]
    return folder


@pytest.fixture
def rehearse(libraries):
    """A function that runs run.py on the stand-ins: (arguments, **environment).

    It returns what subprocess.run gives or, without `wait`, the process.
    """

    def run(*arguments, script=HERE / "run.py", wait=True, **variables):
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": str(libraries),
            "TF_RNN_OPS_CUDNN": str(libraries / "libfakecudnn.so"),
            **variables,
        }
        command = [sys.executable, "-B", script, "--pretend", "--library", libraries / "libcore.so"]
        command = [*map(str, command), *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, env=environment, text=True, **pipes)
        if not wait:
            return process
        output, errors = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    return run
