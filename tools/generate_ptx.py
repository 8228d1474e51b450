#!/usr/bin/env python3
"""Compiles the .cu files of cc/gpu/elementwise to .ptx files in the same folder.

It uses NVRTC from the folder that tools/setup_nvidia_headers.sh PYTHON nvrtc makes, and needs no GPU. The
PTX depends on NVRTC's version, which that script fixes.

    tools/generate_ptx.py            writes the files
    tools/generate_ptx.py --check fails when one is out of date
"""

import argparse
import ctypes
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "cc/gpu/elementwise"
MODULES = ("kernels", "layer_kernels")
NVRTC = ROOT / ".tools/nvidia/nvrtc/lib/libnvrtc.so.12"

# Pascal is the oldest architecture with all features that the kernels use. The driver compiles the PTX for
# the GPU.
ARCHITECTURE = "compute_60"
# WHY: a driver rejects PTX of a newer version than its own. The kernels only use features of 6.3 (CUDA
# 10.0), as ptxas checks in the tests.
PTX_VERSION = "6.3"
# A pragma of newer versions, which says what part of a loaded parameter is read. It changes no result.
HINT = '.pragma "used_bytes_mask'


def call(nvrtc, name, *arguments):
    """Calls a function of NVRTC.

    Raises:
        RuntimeError: The function fails.
    """
    result = getattr(nvrtc, name)(*arguments)
    if result:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise RuntimeError(f"{name}: {nvrtc.nvrtcGetErrorString(result).decode()}")


def text_of(nvrtc, program, what):
    """The text that nvrtcGet`what` returns for a program. `what`: "PTX" or "ProgramLog"."""
    size = ctypes.c_size_t()
    call(nvrtc, f"nvrtcGet{what}Size", program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    call(nvrtc, f"nvrtcGet{what}", program, buffer)
    return buffer.value.decode()


def target(module):
    """The checked-in PTX of one of MODULES."""
    return FOLDER / f"{module}.ptx"


def compile_ptx(module, library=NVRTC):
    """Compiles the kernels of a module.

    Args:
        module: One of MODULES.
        library: Path of libnvrtc.so.12.

    Returns:
        The PTX, without comments and with PTX_VERSION as its version.

    Raises:
        FileNotFoundError: NVRTC is missing.
        RuntimeError: NVRTC rejects the source. The message has its log.
    """
    if not library.exists():
        raise FileNotFoundError(
            f"{library} is missing: run tools/setup_nvidia_headers.sh {sys.executable} nvrtc"
        )
    nvrtc = ctypes.CDLL(str(library))
    source = FOLDER / f"{module}.cu"
    program = ctypes.c_void_p()
    # WHY a name without folders: the PTX must not depend on the place of the source tree.
    call(
        nvrtc,
        "nvrtcCreateProgram",
        ctypes.byref(program),
        source.read_bytes(),
        source.name.encode(),
        0,
        None,
        None,
    )
    options = [f"--gpu-architecture={ARCHITECTURE}", "--std=c++17", f"--include-path={ROOT}"]
    try:
        call(
            nvrtc,
            "nvrtcCompileProgram",
            program,
            len(options),
            (ctypes.c_char_p * len(options))(*[option.encode() for option in options]),
        )
    except RuntimeError as error:
        raise RuntimeError(f"{error}\n{text_of(nvrtc, program, 'ProgramLog')}") from error
    ptx = text_of(nvrtc, program, "PTX")
    call(nvrtc, "nvrtcDestroyProgram", ctypes.byref(program))
    ptx = re.sub(r"(?m)^\.version .*", f".version {PTX_VERSION}", ptx)
    lines = [
        line
        for line in ptx.splitlines()
        if line.strip() and not line.startswith("//") and HINT not in line
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    check = parser.parse_args().check
    for module in MODULES:
        ptx = compile_ptx(module)
        path = target(module)
        if not check:
            path.write_text(ptx)
            print(f"{path.relative_to(ROOT)}: {len(ptx)} bytes")
        elif not path.exists() or path.read_text() != ptx:
            sys.exit(f"{path.relative_to(ROOT)} is out of date: run tools/generate_ptx.py")


if __name__ == "__main__":
    main()
