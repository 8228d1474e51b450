"""Finds the libraries that TensorFlow cannot open, so that it registers no GPU.

TensorFlow names missing libraries only in its log, if at all. This module tries each library in a child
process, with the search rules of TensorFlow's own loader, so that nothing is loaded into this process.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys
from typing import Any

# The libraries that TensorFlow 2.21 opens before it registers a GPU, with the pip package and folder.
DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1")
LIBRARIES = {
    "libcudart.so.12": ("nvidia-cuda-runtime-cu12", "cuda_runtime"),
    "libcublas.so.12": ("nvidia-cublas-cu12", "cublas"),
    "libcublasLt.so.12": ("nvidia-cublas-cu12", "cublas"),
    "libcufft.so.11": ("nvidia-cufft-cu12", "cufft"),
    "libcusolver.so.11": ("nvidia-cusolver-cu12", "cusolver"),
    "libcusparse.so.12": ("nvidia-cusparse-cu12", "cusparse"),
    "libcudnn.so.9": ("nvidia-cudnn-cu12", "cudnn"),
}
_DRIVER_ERRORS = {
    34: "it is a stub for linking, not a driver",
    100: "the driver finds no NVIDIA device",
    802: "the system is not ready yet (is the fabric manager running?)",
    803: "the driver in the kernel is older than this library",
    804: "this library does not fit the device or the driver in the kernel",
    999: "an unknown error: is the device visible in this container?",
}

# The program of the child: argv[1] is {name: [folders]}. It prints {name: [path or null, error or null]},
# the mapped files, cuDNN's version, the result of cuInit and the number of devices.
_CHILD = r"""
import ctypes, json, os, sys

found = {}
for name, folders in json.loads(sys.argv[1]).items():
    errors = []
    places = [os.path.join(folder, name) for folder in folders]
    for place in [name] + [place for place in places if os.path.exists(place)]:
        try:
            ctypes.CDLL(place)
            found[name] = [place, None]
            break
        except OSError as error:
            errors.append(str(error))
    else:
        found[name] = [None, errors[-1]]
result = {"found": found, "maps": {}, "cudnn": None, "init": None, "devices": None}
with open("/proc/self/maps") as maps:
    for line in maps:
        path = line.split(None, 5)[-1].strip()
        base = os.path.basename(path)
        for name in found:
            if base == name or base.startswith(name + "."):
                result["maps"][name] = path
if found.get("libcudnn.so.9", [None])[0]:
    cudnn = ctypes.CDLL(found["libcudnn.so.9"][0])
    cudnn.cudnnGetVersion.restype = ctypes.c_size_t
    result["cudnn"] = cudnn.cudnnGetVersion()
if found.get("libcuda.so.1", [None])[0]:
    cuda = ctypes.CDLL(found["libcuda.so.1"][0])
    result["init"] = cuda.cuInit(0)
    count = ctypes.c_int()
    if result["init"] == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
        result["devices"] = count.value
print(json.dumps(result))
"""


def run_path(library: str | pathlib.Path) -> list[str]:
    """Returns the folders in the run path of a 64-bit ELF file, $ORIGIN resolved, in order."""
    data = pathlib.Path(library).read_bytes()
    if data[:4] != b"\x7fELF" or data[4] != 2:
        raise ValueError(f"{library} is not a 64-bit ELF file")
    (header_at,) = struct.unpack_from("<Q", data, 32)
    header_size, headers = struct.unpack_from("<HH", data, 54)
    segments = [
        struct.unpack_from("<IIQQQQ", data, header_at + k * header_size) for k in range(headers)
    ]
    loads = [(address, offset, size) for kind, _, offset, address, _, size in segments if kind == 1]
    entries = {}
    for kind, _, offset, _, _, size in segments:
        if kind == 2:  # PT_DYNAMIC
            pairs = struct.iter_unpack("<QQ", data[offset : offset + size])
            entries.update({tag: value for tag, value in pairs if tag in (5, 15, 29)})
    path = entries.get(29, entries.get(15))  # DT_RUNPATH has priority over DT_RPATH
    if path is None:
        return []
    strings = next(
        entries[5] - address + offset
        for address, offset, size in loads
        if address <= entries[5] < address + size
    )
    text = data[strings + path : data.index(b"\0", strings + path)].decode()
    origin = str(pathlib.Path(library).resolve().parent)
    folders = [os.path.normpath(part.replace("$ORIGIN", origin)) for part in text.split(":")]
    return list(dict.fromkeys(folders))


def _packages(tensorflow_folder: str | pathlib.Path) -> pathlib.Path:
    """The folder of NVIDIA's pip packages, next to TensorFlow's own."""
    return pathlib.Path(tensorflow_folder).resolve().parent / "nvidia"


def probe(tensorflow_folder: str | pathlib.Path) -> dict[str, Any]:
    """Tries to open every library with TensorFlow's search rules.

    Args:
        tensorflow_folder: The folder of the installed tensorflow package.

    Returns:
        A dict: `found`, {library: (path or None, error or None)}; `maps`, {library: its file}; `cudnn`,
        cuDNN's version or None; `init`, the result of cuInit or None; `devices`, the number of devices of
        the driver or None.

    Raises:
        RuntimeError: The child process failed.
    """
    try:
        folders = run_path(pathlib.Path(tensorflow_folder) / "libtensorflow_framework.so.2")
    except OSError:
        folders = []
    wanted = {name: folders for name in (*DRIVER, *LIBRARIES)}
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, json.dumps(wanted)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if child.returncode != 0:
        reason = child.stderr.strip().splitlines()[-1:] or [f"exit status {child.returncode}"]
        raise RuntimeError(f"the process that tries the libraries failed: {reason[0]}")
    result: dict[str, Any] = json.loads(child.stdout)
    return result


def _missing_text(name: str, error: str, tensorflow_folder: str | pathlib.Path) -> str:
    """One or two sentences: the problem with a library and its solution."""
    package, folder = LIBRARIES[name]
    installed = _packages(tensorflow_folder) / folder / "lib" / name
    if not installed.exists():
        return f"{name} cannot be opened ({error}). Install it with: pip install {package}"
    return (
        f"{name} is installed as {installed}, but TensorFlow's library does not look there "
        f"({error}). Start Python with LD_LIBRARY_PATH={installed.parent}, or call "
        f'ctypes.CDLL("{installed}") before importing tensorflow'
    )


def version_text(number: int) -> str:
    """Returns cuDNN's version number in the form MAJOR.MINOR.PATCH.

    Example:
        >>> from tf_rnn_ops.native import gpu_info
        >>> gpu_info.version_text(91900)
        '9.19.0'
    """
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def diagnose(tensorflow_folder: str | pathlib.Path) -> list[tuple[str, str]]:
    """Explains why there is no GPU.

    Args:
        tensorflow_folder: The folder of a tensorflow package that was built with CUDA.

    Returns:
        A list of (title, text) pairs: the driver, then each library that cannot be opened, or one line
        that all libraries can be opened.
    """
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    result = probe(tensorflow_folder)
    libraries = result["found"]
    facts = []
    if hidden is not None and hidden.split(",")[0].strip() in ("", "-1"):
        facts.append(("GPU hidden", f"CUDA_VISIBLE_DEVICES={hidden} hides every device"))
    driver, error = libraries["libcuda.so.1"]
    if driver is None:
        facts.append(("GPU driver", f"there is none: {error}"))
    elif result["init"] != 0:
        reason = _DRIVER_ERRORS.get(result["init"], "see cuInit's list of errors")
        facts.append(("GPU driver", f"cuInit returned {result['init']}: {reason}"))
    else:
        facts.append(("GPU driver", f"{result['devices']} device(s)"))
    if driver is not None and libraries["libnvidia-ml.so.1"][0] is None:
        facts.append(("GPU driver", f"libnvidia-ml.so.1: {libraries['libnvidia-ml.so.1'][1]}"))
    missing = [name for name in LIBRARIES if libraries[name][0] is None]
    for name in missing:
        facts.append(("GPU library", _missing_text(name, libraries[name][1], tensorflow_folder)))
    if not missing:
        facts.append(("GPU libraries", f"all {len(LIBRARIES)} that TensorFlow needs can be opened"))
    if result["cudnn"] is not None:
        path = result["maps"].get("libcudnn.so.9", libraries["libcudnn.so.9"][0])
        facts.append(("cuDNN", f"version {version_text(result['cudnn'])} at {path}"))
    return facts
