"""The one description of the wheel, for setup.py, build_backend.py, sbom.py and the tests.

A wheel has the Python files. Unless it is for any machine, it also has the kernels once and the
libraries of ops once for each minor version of TensorFlow. The metadata follow from these libraries.
"""

import os
import pathlib
import platform
import re
import runpy
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
VERSIONS = runpy.run_path(str(ROOT / "tf_rnn_ops" / "native" / "versions.py"))
SUPPORTED = VERSIONS["TENSORFLOW"]
# The public address of the files of this version, with a slash at the end; None if there is none.
REPOSITORY = None
# The TensorFlow for a build if none is installed.
TENSORFLOW = f"tensorflow-cpu~={SUPPORTED[-1]}.0"
# {format: packages that tf_rnn_ops._formats imports, and for onnx those of params.from_onnx}.
EXPORTERS = {
    "onnx": ["tf2onnx>=1.17", "onnx>=1.17", "onnxruntime", "onnxscript>=0.7"],
    "litert": ["ai-edge-litert"],
    "openvino": ["openvino"],
}
# The package that writes the list of contents; see sbom.py.
SBOM_TOOL = "cyclonedx-python-lib>=11"

OWN_LICENSE = "Apache-2.0"
# Includes the licences of the headers that are compiled into the shared objects; see sbom.py.
BINARY_LICENSE = f"{OWN_LICENSE} AND BSD-3-Clause AND MPL-2.0"
OWN_LICENSE_FILES = ("LICENSE", "NOTICE")


class Wheel(NamedTuple):
    """The contents of a wheel.

    Attributes:
        tensorflows: The versions of TensorFlow with libraries of ops in the wheel. Each is a minor version
            or a full requirement such as tf-nightly-cpu==2.22.0.dev20260905. Empty for a wheel without
            libraries.
        machine: The processor of the libraries.
    """

    tensorflows: tuple[str, ...]
    machine: str = platform.machine()

    @property
    def minors(self) -> list[str]:
        """The minor versions, oldest first, such as ["2.20", "2.21"]."""
        return sorted({minor(version) for version in self.tensorflows}, key=numbers)

    @property
    def version(self) -> str:
        """The version. A local one names the TensorFlows of a wheel with libraries for some supported ones only.

        So pip, and files that list versions, tell such wheels apart.
        """
        if not self.minors or self.minors == list(SUPPORTED):
            return VERSIONS["VERSION"]
        return VERSIONS["VERSION"] + "+" + ".".join(f"tf{version}" for version in self.minors)

    @property
    def license(self) -> str:
        """The licence expression."""
        return BINARY_LICENSE if self.tensorflows else OWN_LICENSE

    @property
    def license_files(self) -> list[str]:
        """The paths of the licence files in the source tree."""
        texts = sorted(path.name for path in (ROOT / "LICENSES").iterdir())
        return [*OWN_LICENSE_FILES, *(f"LICENSES/{name}" for name in texts if self.tensorflows)]

    @property
    def op_libraries(self) -> list[str]:
        """The file names of the libraries of ops. The libraries for XLA need TensorFlow 2.20 or later."""
        found = []
        for version in self.minors:
            kinds = ["", "_stock", *(["_xla"] if numbers(version) >= (2, 20) else [])]
            found += [f"_tf_rnn_ops{kind}.tf{version}.so" for kind in kinds]
        return found

    @property
    def kernels(self) -> list[str]:
        """The file names of the kernels, the baseline first."""
        levels = ["avx2", "avx512"] if self.machine == "x86_64" else []
        return [f"_tf_rnn_ops_{level}.so" for level in ["baseline", *levels] if self.tensorflows]

    def tensorflow_range(self) -> str:
        """The range for pip of the versions of TensorFlow with a library, such as '>=2.20,<2.22'.

        A wheel without libraries fits all supported versions.
        """
        have = self.minors or list(SUPPORTED)
        major, last = numbers(have[-1])
        between = [v for v in SUPPORTED if numbers(have[0]) < numbers(v) < numbers(have[-1])]
        missing = "".join(f",!={version}.*" for version in between if version not in have)
        return f">={have[0]},<{major}.{last + 1}{missing}"

    def requirements(self) -> list[str]:
        """The requirements of every user. TensorFlow has several packages to choose from, so it is an extra."""
        return ["numpy"]

    def extras(self) -> dict[str, list[str]]:
        """The optional requirements."""
        keras = f"keras{VERSIONS['KERAS']}"
        flavours = {"cpu": "tensorflow-cpu", "gpu": "tensorflow[and-cuda]"}
        wanted = self.tensorflow_range()
        found = {extra: [f"{name}{wanted}", keras] for extra, name in flavours.items()}
        return found | EXPORTERS


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, such as (2, 21) for '2.21'."""
    return tuple(map(int, version.split(".")))


def minor(tensorflow: str) -> str:
    """The minor version, '2.21' for '2.21', '2.21.0' and 'tf-nightly-cpu==2.21.0.dev20260905'."""
    return re.search(r"\d+\.\d+", tensorflow)[0]


def wheel(at_hand: str | None, environment=os.environ) -> Wheel:
    """The wheel that the environment variables select (docs/building.md).

    Args:
        at_hand: The version of TensorFlow to build for without such variables; None for all supported
            versions.
        environment: The environment variables.
    """
    if environment.get("TF_RNN_OPS_PURE") == "1":
        return Wheel(())
    named = environment.get("TF_RNN_OPS_TENSORFLOWS", "").split()
    found = named or (SUPPORTED if at_hand is None else [minor(at_hand)])
    return Wheel(tuple(found), environment.get("TF_RNN_OPS_MACHINE") or platform.machine())


def project_urls() -> dict[str, str]:
    """The addresses for the page of the package in an index."""
    urls = {}
    if REPOSITORY is not None:
        urls = {"Source": REPOSITORY, "Changelog": f"{REPOSITORY}CHANGELOG.md"}
        urls["Security"] = f"{REPOSITORY}SECURITY.md"
    return urls
