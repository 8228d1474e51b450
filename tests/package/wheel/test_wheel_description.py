"""The wheel that environment variables select (tools/wheel_description.py)."""

import re

import pytest
import wheel_description
from packaging.requirements import Requirement
from packaging.version import Version

from tf_rnn_ops._formats import formats


def fits(wheel):
    """The minor versions of TensorFlow that pip may take with it."""
    requirement = Requirement(wheel.extras()["cpu"][0])
    assert requirement.name == "tensorflow-cpu"
    return [f"2.{k}" for k in range(15, 30) if f"2.{k}.1" in requirement.specifier]


@pytest.mark.parametrize(
    ("at_hand", "asked", "fitting"),
    [
        ("2.21.0", {}, ["2.21"]),
        ("2.19.1", {}, ["2.19"]),
        ("2.21.0", {"TF_RNN_OPS_TENSORFLOWS": "2.20 2.21"}, ["2.20", "2.21"]),
        ("2.21.0", {"TF_RNN_OPS_TENSORFLOWS": "2.18 2.21"}, ["2.18", "2.21"]),
        (
            "2.21.0",
            {"TF_RNN_OPS_TENSORFLOWS": "2.21 tf-nightly-cpu==2.22.0.dev1"},
            ["2.21", "2.22"],
        ),
        # No library: the Python files fit all.
        ("2.21.0", {"TF_RNN_OPS_PURE": "1"}, ["2.18", "2.19", "2.20", "2.21"]),
        (None, {}, ["2.18", "2.19", "2.20", "2.21"]),
    ],
)
def test_the_range_is_that_of_the_libraries(at_hand, asked, fitting):
    wheel = wheel_description.wheel(at_hand, asked)
    assert fits(wheel) == fitting
    assert wheel.minors == ([] if "TF_RNN_OPS_PURE" in asked else fitting)


@pytest.mark.parametrize(
    ("tensorflows", "local"),
    [
        (("2.21",), "tf2.21"),
        (("2.21", "2.20"), "tf2.20.tf2.21"),
        (("tf-nightly-cpu==2.22.0.dev1",), "tf2.22"),
        (tuple(wheel_description.SUPPORTED), None),
        ((), None),
    ],
)
def test_wheels_of_different_tensorflows_differ_in_their_version(tensorflows, local):
    version = Version(wheel_description.Wheel(tensorflows).version)
    assert version.public == wheel_description.VERSIONS["VERSION"]
    assert version.local == local


def test_a_wheel_without_libraries_has_no_code_of_others():
    wheel = wheel_description.wheel("2.21.0", {"TF_RNN_OPS_PURE": "1"})
    assert (wheel.license, wheel.license_files) == ("Apache-2.0", ["LICENSE", "NOTICE"])


def test_the_extras_of_formats_are_what_the_exporter_names():
    extras = wheel_description.wheel(None, {}).extras()
    for name, packages in {**formats._TO_WRITE, **formats._TO_LOAD}.items():
        if name not in formats.FORMATS:
            continue
        wanted = {re.split(r"[<>=]", requirement)[0] for requirement in extras[name]}
        assert {package.replace("_", "-") for package in packages} <= wanted


def test_the_processor():
    asked = {"TF_RNN_OPS_TENSORFLOWS": "2.21", "TF_RNN_OPS_MACHINE": "aarch64"}
    assert wheel_description.wheel("2.21.0", asked) == (("2.21",), "aarch64")


def test_addresses(monkeypatch):
    assert wheel_description.project_urls() == {}
    monkeypatch.setattr(wheel_description, "REPOSITORY", "https://example.org/tree/")
    urls = wheel_description.project_urls()
    assert urls["Security"] == "https://example.org/tree/SECURITY.md"
    assert urls["Source"] == "https://example.org/tree/"
