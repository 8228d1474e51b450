"""Adds to pyproject.toml what is computed, and to the wheel the shared objects that Bazel builds."""

import importlib.util
import os
import pathlib
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent
PACKAGE = "tf_rnn_ops"
sys.path.insert(0, str(ROOT / "tools"))

import readme  # noqa: E402
import sbom  # noqa: E402
import wheel_description  # noqa: E402

# pip_pkg.sh has configured already, for the Python that its caller chose.
CONFIGURED = bool(os.environ.get("TF_RNN_OPS_CONFIGURED"))
VERSION_AT_HAND = """
import importlib.metadata as metadata
for name in metadata.packages_distributions().get("tensorflow", [])[:1]:
    print(metadata.version(name))
"""


def _environment() -> dict[str, str]:
    """The variables for this Python as the one that pip installs into."""
    environment = dict(os.environ)
    if importlib.util.find_spec("tensorflow") is None:
        # In the isolated environment of `pip install .`, which PYTHONPATH makes. Without it this
        # Python is the one that pip installs into, with its TensorFlow; see build_backend.py.
        environment.pop("PYTHONPATH", None)
    return environment


def _tensorflow_at_hand() -> str | None:
    """The version of the TensorFlow that is built for; None if there is none."""
    if CONFIGURED:
        return sbom.configured()["TF_VERSION"]
    command = [sys.executable, "-c", VERSION_AT_HAND]
    run = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=True)
    return run.stdout.strip() or None


# The source distribution has no libraries.
if "sdist" in sys.argv:
    WHEEL = wheel_description.Wheel(())
else:
    WHEEL = wheel_description.wheel(_tensorflow_at_hand())


def _run(*command: str, environment: dict[str, str] | None = None) -> None:
    status = subprocess.run(command, env=environment).returncode
    if status:
        sys.exit(f"{command[0]} failed with status {status}; its reason is above")


def _configure() -> None:
    """Runs configure.sh for this Python, with the headers that it looks for."""
    environment = _environment()
    fetch = str(ROOT / "tools" / "fetch_tensorflow.py")
    _run(sys.executable, fetch, "--for-kernels", environment=environment)
    _run(str(ROOT / "configure.sh"), "--python", sys.executable, environment=environment)


class BuildWithNative(build_py):
    """Copies the Python files, then builds the shared objects next to them."""

    def run(self):
        super().run()
        if not WHEEL.tensorflows:
            return
        if not CONFIGURED:
            _configure()
        target = ROOT / PACKAGE if self.editable_mode else pathlib.Path(self.build_lib) / PACKAGE
        _run(str(ROOT / "tools" / "build_native.sh"), str(target), *WHEEL.tensorflows)


class NativeDistribution(Distribution):
    """Tells setuptools whether there is native code, so that the wheel has a platform tag."""

    def has_ext_modules(self):
        return bool(WHEEL.tensorflows)


class DescribedWheel(bdist_wheel):
    """A wheel for every Python 3, since the libraries use no Python ABI, with a list of its content."""

    def get_tag(self):
        return "py3", "none", f"linux_{WHEEL.machine}" if WHEEL.tensorflows else "any"

    def run(self):
        if importlib.util.find_spec("cyclonedx") is None:
            # Before minutes of compiling.
            sys.exit(
                f"{wheel_description.SBOM_TOOL} is missing, for the list of what is in the wheel"
            )
        super().run()

    def write_wheelfile(self, wheelfile_base, *arguments, **keywords):
        super().write_wheelfile(wheelfile_base, *arguments, **keywords)
        # An editable wheel has nothing inside, and is written before anything is built.
        if "editable_wheel" not in sys.argv:
            sbom.write(wheelfile_base, WHEEL)


setup(
    version=WHEEL.version,
    long_description=readme.for_index(
        (ROOT / "README.md").read_text(), wheel_description.REPOSITORY
    ),
    long_description_content_type="text/markdown",
    license_expression=WHEEL.license,
    license_files=WHEEL.license_files,
    install_requires=WHEEL.requirements(),
    extras_require=WHEEL.extras(),
    project_urls=wheel_description.project_urls(),
    distclass=NativeDistribution,
    cmdclass={"build_py": BuildWithNative, "bdist_wheel": DescribedWheel},
)
