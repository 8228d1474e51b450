"""The list of the projects whose code is in a wheel, in CycloneDX's format, for .dist-info/sboms (PEP
770).

The shared objects contain code from headers in TensorFlow's package (NOTICE). The headers name their
versions.
"""

import datetime
import os
import pathlib
import re
import time
import uuid
from typing import NamedTuple

import fetch_tensorflow
import wheel_description

NAME = "tf_rnn_ops.cdx.json"


class Headers(NamedTuple):
    """The headers of a TensorFlow: its full version and the include folder."""

    tensorflow: str
    folder: pathlib.Path


class Project(NamedTuple):
    """A project whose headers are compiled into the libraries.

    Attributes:
        namespaces: The C++ namespaces of its code.
        versions: The files and patterns of the version. The first match counts. None if the headers do not
            have the version.
    """

    name: str
    license: str
    address: str
    namespaces: tuple[str, ...]
    versions: tuple[tuple[str, str], ...] = ()

    def version(self, folder):
        """The version in the headers of a folder; None for a project without one.

        Raises:
            ValueError: The headers no longer have the version at the expected place.
        """
        for file, pattern in self.versions:
            path = folder / file
            text = path.read_text() if path.exists() else ""
            parts = [part for found in re.finditer(pattern, text) for part in found.groups()]
            if parts:
                # protobuf's parts have leading zeros.
                return re.sub(r"\b0+(?=\d)", "", ".".join(parts))
        if self.versions:
            files = " or ".join(file for file, _ in self.versions)
            raise ValueError(f"{folder} has no version of {self.name}; expected it in {files}")
        return None


EIGEN = Project(
    "eigen",
    "MPL-2.0",
    "https://gitlab.com/libeigen/eigen",
    ("Eigen",),
    (
        ("Eigen/Version", r'EIGEN_VERSION_STRING "(.+)"'),
        ("Eigen/src/Core/util/Macros.h", r"define EIGEN_(?:WORLD|MAJOR|MINOR)_VERSION (\d+)"),
    ),
)
OTHERS = (
    Project(
        "abseil-cpp",
        "Apache-2.0",
        "https://github.com/abseil/abseil-cpp",
        ("absl",),
        (("absl/base/config.h", r"define ABSL_LTS_RELEASE_(?:VERSION|PATCH_LEVEL) (\d+)"),),
    ),
    Project("ml_dtypes", "Apache-2.0", "https://github.com/jax-ml/ml_dtypes", ("ml_dtypes",)),
    Project(
        "protobuf",
        "BSD-3-Clause",
        "https://github.com/protocolbuffers/protobuf",
        ("google",),
        # For example 6031001, which means 6.31.1.
        (("google/protobuf/stubs/common.h", r"_PROTOBUF_VERSION (\d+)(\d{3})(\d{3})\n"),),
    ),
)
# XLA and StreamExecutor are folders of TensorFlow's repository.
TENSORFLOW = Project(
    "tensorflow",
    "Apache-2.0",
    "https://github.com/tensorflow/tensorflow",
    ("tensorflow", "tsl", "xla", "stream_executor"),
)
PROJECTS = (EIGEN, *OTHERS, TENSORFLOW)


def configured(root=wheel_description.ROOT):
    """The results of configure.sh, {name of a variable: value}."""
    text = (root / ".tf_configure.bazelrc").read_text()
    return dict(re.findall(r'^common --repo_env=(\w+)="(.*)"$', text, re.MULTILINE))


def headers_of(wheel, found):
    """The headers that the libraries of ops of a wheel are compiled with, one for each TensorFlow.

    Args:
        wheel: The wheel.
        found: The results of configure.sh.
    """
    at_hand = wheel_description.minor(found["TF_VERSION"]), found["TF_MACHINE"]
    for version in wheel.tensorflows:
        if (version, wheel.machine) == at_hand:
            yield Headers(found["TF_VERSION"], pathlib.Path(found["TF_INCLUDE_DIR"]))
        else:
            folder = fetch_tensorflow.folder_of(version, wheel.machine)
            yield Headers((folder / "version").read_text(), folder / "tensorflow" / "include")


def contents(wheel, found):
    """The (project, version) pairs whose code is in a wheel, sorted.

    Args:
        wheel: The wheel.
        found: The results of configure.sh.
    """
    if not wheel.tensorflows:
        return []
    inside = {(EIGEN, EIGEN.version(pathlib.Path(found["KERNEL_EIGEN_DIR"])))}
    for headers in headers_of(wheel, found):
        inside |= {(project, project.version(headers.folder)) for project in (EIGEN, *OTHERS)}
        inside.add((TENSORFLOW, headers.tensorflow))
    return sorted(inside, key=lambda pair: (pair[0].name, pair[1] or ""))


def document(wheel, inside):
    """The text of the document.

    Args:
        wheel: The wheel.
        inside: The (project, version) pairs.
    """
    from cyclonedx.builder.this import this_component
    from cyclonedx.factory.license import LicenseFactory
    from cyclonedx.model import ExternalReference, ExternalReferenceType, XsUri
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.tool import ToolRepository
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    license_of = LicenseFactory().make_from_string
    version = wheel.version
    root = Component(
        name="tf_rnn_ops",
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref="tf_rnn_ops",
        licenses=[license_of(wheel.license)],
        purl=PackageURL("pypi", None, "tf-rnn-ops", version),
    )
    parts = [
        Component(
            name=project.name,
            version=version,
            type=ComponentType.LIBRARY,
            bom_ref="@".join(filter(None, (project.name, version))),
            licenses=[license_of(project.license)],
            purl=PackageURL("generic", None, project.name, version),
            external_references=[
                ExternalReference(type=ExternalReferenceType.VCS, url=XsUri(project.address))
            ],
        )
        for project, version in inside
    ]
    # With SOURCE_DATE_EPOCH the same wheel gives the same list.
    seconds = float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    name = " ".join(
        [version, wheel.machine, *wheel.tensorflows, *(part.bom_ref.value for part in parts)]
    )
    bom = Bom(
        components=parts,
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, name),
        metadata=BomMetaData(
            component=root,
            tools=ToolRepository(components=[this_component()]),
            timestamp=datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc),
        ),
    )
    bom.register_dependency(root, parts)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def write(folder, wheel):
    """Writes the list of the contents of a wheel.

    Args:
        folder: The .dist-info folder, in which it makes `sboms`.
        wheel: The wheel.
    """
    inside = contents(wheel, configured() if wheel.tensorflows else {})
    target = pathlib.Path(folder) / "sboms"
    target.mkdir(parents=True, exist_ok=True)
    (target / NAME).write_text(document(wheel, inside))
