"""Mock NVIDIA libraries: a driver and a cuBLAS on host memory, and a mock cuDNN."""

import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TESTS = ROOT / "tests"

COMPILE = ("g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}")
MOCK = (*COMPILE, f"-I{TESTS / 'gpu' / 'mock'}")
DRIVER = (
    TESTS / "gpu" / "mock" / "driver.cc",
    HERE / "driver_rest.cc",
    *(TESTS / "cc" / "gpu" / f"{p}.cc" for p in ("fibers", "host_kernels", "host_persistent")),
)
BLAS = (TESTS / "gpu" / "mock" / "blas.cc", HERE / "blas_rest.cc")
CUDNN = tuple(TESTS / "cc" / "gpu" / f"fake_{p}.cc" for p in ("calls", "cudnn", "rnn", "weights"))


def start_building(folder):
    """The processes that build them all in a folder."""
    cuda, cublas = folder / "libcuda.so.1", folder / "libcublas.so.12"
    return [
        subprocess.Popen([*COMPILE, *CUDNN, "-o", folder / "libfakecudnn.so"]),
        subprocess.Popen([*MOCK, f"-Wl,-soname,{cuda.name}", *DRIVER, "-o", cuda, "-ldl"]),
        subprocess.Popen([*MOCK, f"-Wl,-soname,{cublas.name}", *BLAS, "-o", cublas, "-ldl"]),
    ]


def environment(folder, **variables):
    """The environment of a process that uses them in place of NVIDIA's libraries."""
    return {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "0",  # tests/conftest.py hides every device, the mock's too
        "LD_LIBRARY_PATH": str(folder),
        "TF_RNN_OPS_CUDNN": str(folder / "libfakecudnn.so"),
        **variables,
    }
