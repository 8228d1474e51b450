"""Unpacks the files for a build from a TensorFlow that is not installed, and describes it.

    python tools/fetch_tensorflow.py 2.20 x86_64

The wheel comes from the configured package index. Its headers and libtensorflow_framework, and
libtensorflow_cc if the ops for XLA can be built, are written to .tools/tensorflow. The wheel is not
imported, so it may be for any Python and any machine. Prints KEY=value lines for Bazel, as
tools/tf_info.py does for an installed TensorFlow.
"""

import argparse
import importlib.metadata as metadata
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import wheel_description

TARGET = pathlib.Path(__file__).resolve().parents[1] / ".tools" / "tensorflow"
LIBRARY = "libtensorflow_framework.so.2"
XLA_LIBRARY = "libtensorflow_cc.so.2"
# Packages without this header lack parts of XLA (see third_party/tf/tf_configure.bzl).
XLA_HEADER = "tensorflow/include/xla/ffi/api/ffi.h"
# A Python for which every supported TensorFlow has a wheel. The libraries do not use Python's ABI.
PYTHON = ("3.12", "cp312")
PLATFORMS = ("manylinux_2_27", "manylinux2014")
# The macro in tf.sysconfig.get_compile_flags() of the wheels.
DEFINES = "_GLIBCXX_USE_CXX11_ABI=1"


def requirement(version, machine):
    """The requirement for pip, from a minor version or a requirement such as tf-nightly-cpu==2.22.0.dev1."""
    if "=" in version:
        return version
    package = "tensorflow-cpu" if machine == "x86_64" else "tensorflow"
    return f"{package}~={version}.0"


def folder_of(version, machine):
    """The folder of an unpacked TensorFlow, from a minor version or a requirement, and the processor."""
    return TARGET / f"{requirement(version, machine)}-{machine}"


def _run_with_progress(command, text):
    """Returns the exit status. Prints a line every 30 seconds."""
    began = time.monotonic()
    with subprocess.Popen(command) as process:
        while True:
            try:
                return process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                print(f"still {text}: {time.monotonic() - began:.0f} s", file=sys.stderr)


def download(wanted, machine, folder):
    """Returns the path of the wheel."""
    version, abi = PYTHON
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    command += ["--no-deps", "--only-binary=:all:", "--implementation=cp"]
    command += [f"--python-version={version}", f"--abi={abi}", f"--dest={folder}"]
    command += [f"--platform={platform}_{machine}" for platform in PLATFORMS]
    if _run_with_progress([*command, wanted], f"downloading {wanted}"):
        sys.exit(f"cannot download {wanted} for {machine}: is a package index reachable?")
    (wheel,) = pathlib.Path(folder).glob("*.whl")
    return wheel


def unpack(wheel, folder):
    """Writes the headers, the libraries and the version into `folder`, all or nothing."""
    new = folder.with_name(folder.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        libraries = [LIBRARY] + ([XLA_LIBRARY] if XLA_HEADER in names else [])
        wanted = {f"tensorflow/{library}" for library in libraries}
        for name in names:
            if name.startswith("tensorflow/include/") or name in wanted:
                archive.extract(name, new)
    if not (new / "tensorflow" / LIBRARY).is_file():
        sys.exit(f"{wheel.name} has no {LIBRARY}")
    (new / "version").write_text(wheel.name.split("-")[1])
    new.rename(folder)


def ensure(version, machine):
    """Returns the folder of a TensorFlow, and downloads it if it is missing."""
    folder = folder_of(version, machine)
    if not folder.exists():
        wanted = requirement(version, machine)
        TARGET.mkdir(parents=True, exist_ok=True)
        print(f"downloading {wanted} for {machine}: about 300 MB", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=TARGET) as downloads:
            unpack(download(wanted, machine, downloads), folder)
    return folder


def ensure_kernel_eigen():
    """Downloads the newest supported TensorFlow unless it is installed. The kernels need its Eigen."""
    newest = wheel_description.SUPPORTED[-1]
    for name in metadata.packages_distributions().get("tensorflow", []):
        if wheel_description.minor(metadata.version(name)) == newest:
            return
    ensure(newest, platform.machine())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "version", nargs="?", help="2.20, or a requirement: tf-nightly-cpu==2.22.0.dev20260905"
    )
    parser.add_argument(
        "machine",
        nargs="?",
        choices=("x86_64", "aarch64"),
        help="the machine that the package is for",
    )
    parser.add_argument("--no-download", action="store_true", help="fail where it is not there yet")
    parser.add_argument(
        "--for-kernels",
        action="store_true",
        help="get the newest supported TensorFlow, unless this Python has it; print nothing",
    )
    options = parser.parse_args()
    if options.for_kernels:
        return ensure_kernel_eigen()
    if options.machine is None:
        parser.error("VERSION and MACHINE are needed")
    folder = folder_of(options.version, options.machine)
    if options.no_download and not folder.exists():
        wanted = requirement(options.version, options.machine)
        sys.exit(f"{wanted} for {options.machine} is not in .tools/tensorflow")
    folder = ensure(options.version, options.machine)
    print(f"TF_VERSION={(folder / 'version').read_text()}")
    print(f"TF_MACHINE={options.machine}")
    print(f"TF_INCLUDE_DIR={folder}/tensorflow/include")
    print(f"TF_LIBRARY_DIR={folder}/tensorflow")
    print(f"TF_LIBRARY_NAME={LIBRARY}")
    print(f"TF_DEFINES={DEFINES}")


if __name__ == "__main__":
    main()
