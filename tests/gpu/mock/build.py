"""Builds mock CUDA libraries, with which TensorFlow's GPU build registers a GPU on a machine without one.

    python build.py TENSORFLOW_INCLUDE OUT

TENSORFLOW_INCLUDE is the include folder of the GPU build: it lists the names that TensorFlow looks
for. Put OUT on LD_LIBRARY_PATH before starting Python.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]

# The kernels on the host.
KERNELS = tuple(f"tests/cc/gpu/{part}.cc" for part in ("fibers", "host_kernels", "host_persistent"))

# Files of this folder or of the tree, soname, TensorFlow's list of names, and what a function that
# is only listed returns: 0 is success, 3 NVML_ERROR_NOT_SUPPORTED.
LIBRARIES = (
    (("driver.cc", *KERNELS), "libcuda.so.1", "cuda.inc", 0),
    (("runtime.cc",), "libcudart.so.12", "cudart.inc", 0),
    (("nvml.cc",), "libnvidia-ml.so.1", "nvml.inc", 3),
    (("blas.cc",), "libcublas.so.12", "cublas.inc", 0),
    (("empty.cc",), "libcublasLt.so.12", None, 0),
    (("empty.cc",), "libcufft.so.11", None, 0),
    (("empty.cc",), "libcusolver.so.11", None, 0),
    (("empty.cc",), "libcusparse.so.12", None, 0),
)
# The mock cuDNN of the C++ tests.
CUDNN = tuple(f"tests/cc/gpu/fake_{part}.cc" for part in ("calls", "cudnn", "rnn", "weights"))
# Folders of what the sources include.
INCLUDED = ("cc", "tests/cc/gpu", "tests/gpu/mock")
COMPILE = ("g++", "-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-fvisibility=hidden")


def defined(source):
    """The functions that a source exports."""
    return set(re.findall(r"^MOCK_API [^(]*?\b(\w+)\(", source.read_text(), flags=re.MULTILINE))


def stubs(names, code):
    """C++ source of functions that do nothing, whatever they are called with."""
    lines = ['#include "mock.h"']
    lines += [f'MOCK_API int {name}() {{ return mock::Log("{name}", {code}); }}' for name in names]
    return "\n".join(lines) + "\n"


def is_current(library, include):
    """Whether a library is newer than all that it may have been compiled from."""
    if not library.exists():
        return False
    files = [file for folder in INCLUDED for file in (ROOT / folder).rglob("*.*")]
    files += [include, *(include / "xla/tsl/cuda").glob("*.inc")]
    return library.stat().st_mtime > max(file.stat().st_mtime for file in files)


def compile_library(sources, soname, out):
    """Compiles sources into out/soname."""
    command = [*COMPILE, "-shared", f"-I{HERE}", f"-I{ROOT}", f"-Wl,-soname,{soname}"]
    new = out / f"{soname}.new"
    subprocess.run([*command, *map(str, sources), "-o", str(new), "-ldl"], check=True)
    new.rename(out / soname)


def build(include, out):
    """Builds all libraries that are not current into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    jobs = [([*(ROOT / name for name in CUDNN), HERE / "dnn.cc"], "libcudnn.so.9")]
    for files, soname, names, code in LIBRARIES:
        sources = [HERE / name if (HERE / name).exists() else ROOT / name for name in files]
        if names:
            listed = re.findall(r'"(\w+)"', (include / "xla/tsl/cuda" / names).read_text())
            assert listed, f"{names} lists no name"
            extra = out / f"{sources[0].stem}_stubs.cc"
            missing = set(listed) - set().union(*map(defined, sources))
            extra.write_text(stubs(sorted(missing), code))
            sources.append(extra)
        jobs.append((sources, soname))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(
            pool.map(
                lambda job: compile_library(*job, out),
                [job for job in jobs if not is_current(out / job[1], include)],
            )
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("include", type=pathlib.Path, help="the folder with TensorFlow's headers")
    parser.add_argument("out", type=pathlib.Path, help="the folder for the mock libraries")
    arguments = parser.parse_args()
    build(arguments.include, arguments.out)
