#!/usr/bin/env python3
"""Compiles the .cu files of cc/gpu/kernels to .ptx files in the same folder, and the persistent kernels
to an archive.

It uses NVRTC from the folder that tools/setup_nvidia_headers.sh PYTHON nvrtc makes, and needs no GPU. The
PTX depends on NVRTC's version, which that script fixes.

    tools/generate_ptx.py            writes the files
    tools/generate_ptx.py --check fails when one is out of date
"""

import argparse
import ctypes
import pathlib
import re
import struct
import subprocess
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "cc/gpu/kernels"
MODULES = ("kernels", "layer_kernels")
PERSISTENT = FOLDER / "persistent"
ARCHIVE = PERSISTENT / "kernels.ptx.z"
ARCHIVE_NAME = PERSISTENT / "archive_name.h"
NVRTC = ROOT / ".tools/nvidia/nvrtc/lib/libnvrtc.so.12"

# Pascal is the oldest architecture with all features that the kernels use. The driver compiles the PTX for
# the GPU.
ARCHITECTURE = "compute_60"
# WHY: a driver rejects PTX of a newer version than its own. The kernels only use features of 6.3 (CUDA
# 10.0), as ptxas checks in the tests.
PTX_VERSION = "6.3"
# The persistent kernels use mma.sync of TF32 and bfloat16, which came with Ampere and PTX 7.0 (CUDA 11.0).
PERSISTENT_ARCHITECTURE = "compute_80"
PERSISTENT_PTX_VERSION = "7.0"
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


def without_noise(ptx, version):
    """The PTX with another version line, and without comments."""
    ptx = re.sub(r"(?m)^\.version .*", f".version {version}", ptx)
    lines = [
        line
        for line in ptx.splitlines()
        if line.strip() and not line.lstrip().startswith("//") and HINT not in line
    ]
    return "\n".join(lines) + "\n"


def compile_source(path, options, library=NVRTC):
    """The PTX of a source.

    Args:
        path: The source.
        options: Options of NVRTC besides the language and the include path.
        library: Path of libnvrtc.so.12.

    Raises:
        FileNotFoundError: NVRTC is missing.
        RuntimeError: NVRTC rejects the source. The message has its log.
    """
    if not library.exists():
        raise FileNotFoundError(
            f"{library} is missing: run tools/setup_nvidia_headers.sh {sys.executable} nvrtc"
        )
    nvrtc = ctypes.CDLL(str(library))
    program = ctypes.c_void_p()
    # WHY a name without folders: the PTX must not depend on the place of the source tree.
    call(
        nvrtc,
        "nvrtcCreateProgram",
        ctypes.byref(program),
        path.read_bytes(),
        path.name.encode(),
        0,
        None,
        None,
    )
    options = [*options, "--std=c++17", f"--include-path={ROOT}"]
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
    return ptx


def compile_ptx(module):
    """The PTX of the kernels of one of MODULES."""
    ptx = compile_source(FOLDER / f"{module}.cu", [f"--gpu-architecture={ARCHITECTURE}"])
    return without_noise(ptx, PTX_VERSION)


def persistent_kernels():
    """The rows of kernel_list.h: (pass, cell, operand, width, tile, general)."""
    source = f'#include "{FOLDER}/kernel_list.h"\nRNN_OPS_PERSISTENT_KERNELS(K)\n'
    command = ["c++", "-E", "-P", "-x", "c++", "-"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    return [
        tuple(part.strip() for part in row.split(",")) for row in re.findall(r"K\(([^)]*)\)", text)
    ]


def compile_persistent(row):
    """The PTX of a row of persistent_kernels()."""
    direction, cell, operand, width, tile, general = row
    macros = {
        "NAME": "_".join(row),
        "ARGS": f"Persistent{direction}",
        "RUN": f"Run{direction}",
        "CELL": cell,
        "OPERAND": f"{operand}Operand",
        "WIDTH": width,
        "TILE": tile,
        "GENERAL": general,
    }
    options = [f"--define-macro=RNN_OPS_{name}={value}" for name, value in macros.items()]
    options.append(f"--gpu-architecture={PERSISTENT_ARCHITECTURE}")
    return without_noise(compile_source(PERSISTENT / "kernel.cu", options), PERSISTENT_PTX_VERSION)


def with_relative_registers(ptx):
    """The text of the archive, see cc/gpu/launch/persistent_kernels.cc."""
    last = {}

    def relative(match):
        kind, number = match[1], int(match[2])
        step = number - last.get(kind, 0)
        last[kind] = number
        return f"%{kind}{step:+d}"

    return re.sub(r"%([a-z]+)(\d+)", relative, ptx)


def archive(texts):
    """The bytes that cc/gpu/launch/persistent_kernels.cc reads, of the PTX of all persistent kernels."""
    texts = [with_relative_registers(text).encode() for text in texts]
    streams = [zlib.compress(text, 9) for text in texts]
    sizes = [size for text, stream in zip(texts, streams) for size in (len(stream), len(text))]
    return struct.pack(f"<{1 + len(sizes)}I", len(texts), *sizes) + b"".join(streams)


def texts_of(data):
    """The texts in an archive: the PTX with relative registers."""
    (count,) = struct.unpack_from("<I", data)
    sizes = struct.unpack_from(f"<{2 * count}I", data, 4)
    at, texts = 4 + 8 * count, []
    for compressed, size in zip(sizes[::2], sizes[1::2]):
        texts.append(zlib.decompress(data[at : at + compressed]).decode())
        assert len(texts[-1]) == size
        at += compressed
    return texts


def name_header(texts):
    """The header with the name of the archive's symbol, which has the checksum of the texts in the archive."""
    checksum = 0
    for text in texts:
        checksum = zlib.crc32(text.encode(), checksum)
    return f"""// Made by tools/generate_ptx.py. The name has a checksum, so that a library of ops does not load
// next to the archive of another build.
#pragma once

#define RNN_OPS_PERSISTENT_ARCHIVE kPersistentArchive_{checksum:08x}
"""


def write():
    """Writes all files."""
    for module in MODULES:
        target(module).write_text(compile_ptx(module))
    ARCHIVE.write_bytes(archive(map(compile_persistent, persistent_kernels())))
    ARCHIVE_NAME.write_text(name_header(texts_of(ARCHIVE.read_bytes())))
    for path in (*map(target, MODULES), ARCHIVE, ARCHIVE_NAME):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


def outdated():
    """The files that are missing or differ from what the sources give.

    Two versions of zlib may compress one text differently, so the texts are compared.
    """
    files = (*map(target, MODULES), ARCHIVE, ARCHIVE_NAME)
    paths = [path for path in files if not path.exists()]
    if paths:
        return paths
    paths = [path for path in map(target, MODULES) if path.read_text() != compile_ptx(path.stem)]
    wanted = [with_relative_registers(compile_persistent(row)) for row in persistent_kernels()]
    if texts_of(ARCHIVE.read_bytes()) != wanted:
        paths.append(ARCHIVE)
    if ARCHIVE_NAME.read_text() != name_header(wanted):
        paths.append(ARCHIVE_NAME)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    if not parser.parse_args().check:
        write()
        return
    for path in outdated():
        sys.exit(f"{path.relative_to(ROOT)} is missing or out of date: run tools/generate_ptx.py")


if __name__ == "__main__":
    main()
