"""Adds to pyproject.toml what is computed, and to the wheel the shared objects that Bazel builds."""

import importlib.util
import os
import pathlib
import runpy
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent
PACKAGE = "tf_rnn_ops"
VERSIONS = runpy.run_path(str(ROOT / PACKAGE / "native" / "versions.py"))
# Where the files of this version can be read, with a slash at the end; None: nowhere in public.
REPOSITORY = None
# For machines that no library fits: the Python files alone, in a wheel for any of them.
PURE = os.environ.get("TF_RNN_OPS_PURE") == "1"
# What TensorFlows to build for, such as "2.20 2.21"; empty: for the configured one. See pip_pkg.sh.
TENSORFLOWS = os.environ.get("TF_RNN_OPS_TENSORFLOWS", "").split()


def _run(*command: str, environment: dict[str, str] | None = None) -> None:
    status = subprocess.run(command, env=environment).returncode
    if status:
        sys.exit(f"{command[0]} failed with status {status}; its reason is above")


def _configure() -> None:
    """Runs configure.sh for this Python."""
    environment = dict(os.environ)
    if importlib.util.find_spec("tensorflow") is None:
        # In the isolated environment of `pip install .`, which PYTHONPATH makes. Without it this
        # Python is the one that pip installs into, with its TensorFlow; see build_backend.py.
        environment.pop("PYTHONPATH", None)
    _run(str(ROOT / "configure.sh"), "--python", sys.executable, environment=environment)


class BuildWithNative(build_py):
    """Copies the Python files, then builds the shared objects beside them."""

    def run(self):
        super().run()
        if PURE:
            return
        # pip_pkg.sh has configured already, for the Python that its caller chose.
        if not os.environ.get("TF_RNN_OPS_CONFIGURED"):
            _configure()
        target = ROOT / PACKAGE if self.editable_mode else pathlib.Path(self.build_lib) / PACKAGE
        _run(str(ROOT / "tools" / "build_native.sh"), str(target), *TENSORFLOWS)


class NativeDistribution(Distribution):
    """Tells setuptools whether there is native code, so that the wheel has a platform tag."""

    def has_ext_modules(self):
        return not PURE


class AnyPythonWheel(bdist_wheel):
    """The libraries use no Python ABI: one wheel for every Python 3."""

    def get_tag(self):
        return "py3", "none", "any" if PURE else super().get_tag()[2]


def _tensorflow_range() -> str:
    """Such as '>=2.18,<2.22'."""
    major, minor = VERSIONS["TENSORFLOW"][-1].split(".")
    return f">={VERSIONS['TENSORFLOW'][0]},<{major}.{int(minor) + 1}"


def _requirements(tensorflow: str) -> list[str]:
    return [f"{tensorflow}{_tensorflow_range()}", f"keras{VERSIONS['KERAS']}"]


def _readme() -> str:
    for_index = runpy.run_path(str(ROOT / "tools" / "readme.py"))["for_index"]
    return for_index((ROOT / "README.md").read_text(), REPOSITORY)


setup(
    version=VERSIONS["VERSION"],
    long_description=_readme(),
    long_description_content_type="text/markdown",
    # TensorFlow is the user's choice of flavour. A missing one is said at import.
    extras_require={
        "cpu": _requirements("tensorflow-cpu"),
        "gpu": _requirements("tensorflow[and-cuda]"),
    },
    project_urls={} if REPOSITORY is None else {"Source": REPOSITORY},
    distclass=NativeDistribution,
    cmdclass={"build_py": BuildWithNative, "bdist_wheel": AnyPythonWheel},
)
