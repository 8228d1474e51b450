"""The list of what is inside the wheel: valid, and complete as far as symbols tell."""

import json
import re
import subprocess

import pytest
import sbom

# Ours, and the parts of the C++ runtime that every program has.
OWN = {"rnn_ops", "std", "__gnu_cxx"}


@pytest.fixture(scope="module")
def text(unpacked):
    (path,) = unpacked.glob("tf_rnn_ops-*.dist-info/sboms/*")
    assert path.name == "tf_rnn_ops.cdx.json"
    return path.read_text()


@pytest.fixture(scope="module")
def components(text):
    return {(c["name"], c.get("version")): c for c in json.loads(text)["components"]}


def test_it_follows_the_schema(text):
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_every_licence_is_in_the_expression_of_the_wheel(text, components):
    whole = json.loads(text)["metadata"]["component"]["licenses"][0]["expression"].split(" AND ")
    ids = {part["licenses"][0]["license"]["id"] for part in components.values()}
    assert ids | {"Apache-2.0"} == set(whole)


def test_versions_are_those_of_the_headers(components):
    """By the macros, as the compiler sees them."""
    include = sbom.configured()["TF_INCLUDE_DIR"]
    source = """
    #include "Eigen/Core"
    #include "absl/base/config.h"
    #include "google/protobuf/stubs/common.h"
    @EIGEN_WORLD_VERSION@EIGEN_MAJOR_VERSION@EIGEN_MINOR_VERSION@
    @ABSL_LTS_RELEASE_VERSION@ABSL_LTS_RELEASE_PATCH_LEVEL@
    @GOOGLE_PROTOBUF_VERSION@
    """
    command = ["g++", "-std=c++17", "-E", "-P", "-isystem", include, "-x", "c++", "-"]
    run = subprocess.run(command, input=source, check=True, capture_output=True, text=True)
    eigen, absl, protobuf = (
        line.strip().strip("@").split("@") for line in run.stdout.splitlines()[-3:]
    )
    number = int(protobuf[0])
    assert ("abseil-cpp", ".".join(absl)) in components
    assert ("protobuf", f"{number // 10**6}.{number // 1000 % 1000}.{number % 1000}") in components
    # From 5.0 on the first of the three is a constant.
    spelled = (".".join(eigen), ".".join(eigen[1:]))
    assert any(name == "eigen" and version.startswith(spelled) for name, version in components)


def namespaces(path):
    """The outermost namespaces of the functions and variables that a shared object defines."""
    run = subprocess.run(
        ["nm", "--defined-only", "--format=posix", str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    mangled = [line.split()[0] for line in run.stdout.splitlines()]
    found = set()
    for name in mangled:
        # _ZN, qualifiers, then the length of a name and the name itself; Z is for a local name.
        match = re.match(r"_Z(?:T[VTIS]|GV|GR)?Z?N[KVr]*(\d+)(.*)", name)
        if match:
            found.add(match[2][: int(match[1])])
    return {name for name in found if not name.startswith("_GLOBAL_")}


def test_every_namespace_belongs_to_something_in_the_list(unpacked, components):
    listed = {name for name, _ in components}
    known = OWN.union(*(p.namespaces for p in sbom.PROJECTS if p.name in listed))
    libraries = sorted((unpacked / "tf_rnn_ops").glob("*.so"))
    unknown = {path.name: namespaces(path) - known for path in libraries}
    assert libraries and not any(unknown.values()), unknown
    # A wheel for TensorFlow 2.19 or older has no library for XLA.
    of_xla = {"google", "xla"} if any("_xla." in path.name for path in libraries) else set()
    assert {"absl", "tensorflow"} | of_xla <= set().union(*map(namespaces, libraries))
