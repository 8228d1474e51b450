#!/usr/bin/env python3
"""Compiles cc/gpu/elementwise/kernels.cu to kernels.ptx in the same folder.

NVRTC does it, from the folder that tools/setup_nvidia_headers.sh PYTHON nvrtc makes; it needs no
GPU. The text depends on NVRTC's version, so that script fixes it.

    tools/generate_ptx.py            writes the file
    tools/generate_ptx.py --check    fails when it is out of date
"""

import argparse
import ctypes
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = ROOT / "cc/gpu/elementwise/kernels.cu"
TARGET = ROOT / "cc/gpu/elementwise/kernels.ptx"
NVRTC = ROOT / ".tools/nvidia/nvrtc/lib/libnvrtc.so.12"

# Pascal: the oldest with all that the kernels use. The driver compiles it for what is there.
ARCHITECTURE = "compute_60"
# WHY: a driver refuses PTX of a newer version than its own. The kernels use nothing that 6.3
# (CUDA 10.0) lacks, which ptxas checks in the tests.
PTX_VERSION = "6.3"


def call(nvrtc, name, *arguments):
    """Calls a function of NVRTC.

    Raises:
      RuntimeError: When it fails.
    """
    result = getattr(nvrtc, name)(*arguments)
    if result:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise RuntimeError(f"{name}: {nvrtc.nvrtcGetErrorString(result).decode()}")


def text_of(nvrtc, program, what):
    """What NVRTC has for a program under nvrtcGet`what`: "PTX" or "ProgramLog"."""
    size = ctypes.c_size_t()
    call(nvrtc, f"nvrtcGet{what}Size", program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    call(nvrtc, f"nvrtcGet{what}", program, buffer)
    return buffer.value.decode()


def compile_ptx(library=NVRTC):
    """Compiles the kernels.

    Args:
      library: Path of libnvrtc.so.12.

    Returns:
      The PTX, without comments and with PTX_VERSION as its version.

    Raises:
      FileNotFoundError: When NVRTC is not there.
      RuntimeError: When NVRTC refuses the source; its log is in the text.
    """
    if not library.exists():
        raise FileNotFoundError(
            f"{library} is not there: run tools/setup_nvidia_headers.sh {sys.executable} nvrtc"
        )
    nvrtc = ctypes.CDLL(str(library))
    program = ctypes.c_void_p()
    # A name without folders: it must not matter where the tree lies.
    call(
        nvrtc,
        "nvrtcCreateProgram",
        ctypes.byref(program),
        SOURCE.read_bytes(),
        SOURCE.name.encode(),
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
    lines = [line for line in ptx.splitlines() if line.strip() and not line.startswith("//")]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    check = parser.parse_args().check
    ptx = compile_ptx()
    if not check:
        TARGET.write_text(ptx)
        print(f"{TARGET.relative_to(ROOT)}: {len(ptx)} bytes")
    elif not TARGET.exists() or TARGET.read_text() != ptx:
        sys.exit(f"{TARGET.relative_to(ROOT)} is out of date: run tools/generate_ptx.py")


if __name__ == "__main__":
    main()
