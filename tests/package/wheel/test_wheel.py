"""The wheel as a user meets it: its tag, its metadata, and an install in a clean environment."""

import email
import filecmp
import importlib.metadata
import os
import pathlib
import re
import runpy
import subprocess
import sys
import sysconfig
import venv

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import tf_rnn_ops
from tf_rnn_ops import __main__

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_the_tests_import_the_package_of_the_wheel(unpacked):
    """Other tests of this folder read the imported package."""
    imported, of_wheel = pathlib.Path(tf_rnn_ops.__file__).parent, unpacked / "tf_rnn_ops"
    assert imported != ROOT / "tf_rnn_ops"
    names = [path.relative_to(of_wheel) for path in of_wheel.rglob("*.*")]
    assert [
        name for name in names if not filecmp.cmp(imported / name, of_wheel / name, False)
    ] == []


@pytest.fixture(scope="module")
def metadata(unpacked):
    (path,) = unpacked.glob("tf_rnn_ops-*.dist-info/METADATA")
    return email.message_from_string(path.read_text())


def test_tag_is_manylinux_for_any_python(wheel):
    python, abi, platform = wheel.stem.split("-")[-3:]
    assert (python, abi) == ("py3", "none")
    assert platform.startswith("manylinux") and platform.endswith("x86_64")


def test_tag_is_no_newer_than_that_of_tensorflow(wheel):
    """manylinux_2_27 for TensorFlow 2.21: pip of an older system would reject a newer tag."""
    tags = wheel.stem.split("-")[-1].split(".")
    versions = [
        tuple(map(int, re.findall(r"manylinux_(\d+)_(\d+)_", tag)[0]))
        for tag in tags
        if tag.startswith("manylinux_")
    ]
    assert versions and min(versions) <= (2, 27)


def test_tag_is_what_auditwheel_finds(wheel):
    show = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)],
        check=True,
        capture_output=True,
        text=True,
    )
    # auditwheel wraps its lines. libtensorflow_framework comes with TensorFlow, so `show`, which
    # knows of no exclusions, may call the wheel linux_x86_64; the symbol versions speak below it.
    found = " ".join(show.stdout.split())
    tag = wheel.stem.split("-")[-1].split(".")[0]
    assert f'"{tag}"' in found


def _versions():
    return runpy.run_path(str(ROOT / "tf_rnn_ops" / "native" / "versions.py"))


def _by_extra(metadata):
    """{extra: {package: SpecifierSet}}, with "" for what every user needs."""
    found = {}
    for line in metadata.get_all("Requires-Dist"):
        requirement = Requirement(line)
        (extra,) = re.findall(r'extra == "(\w+)"', str(requirement.marker)) or [""]
        found.setdefault(extra, {})[requirement.name] = requirement.specifier
    return found


def test_no_hard_dependency_on_a_tensorflow(metadata):
    found = _by_extra(metadata)
    assert {extra: set(packages) for extra, packages in found.items()} == {
        "": {"numpy"},
        "cpu": {"tensorflow-cpu", "keras"},
        "gpu": {"tensorflow", "keras"},
        "onnx": {"tf2onnx", "onnx", "onnxruntime", "onnxscript"},
        "litert": {"ai-edge-litert"},
        "openvino": {"openvino"},
    }
    assert found["cpu"]["keras"] == found["gpu"]["keras"] == SpecifierSet(_versions()["KERAS"])
    assert "tensorflow[and-cuda]" in " ".join(metadata.get_all("Requires-Dist"))


def test_pip_may_take_the_tensorflows_that_have_a_library_and_no_other(metadata, unpacked):
    have = {
        re.search(r"\.tf(\d+\.\d+)\.so$", path.name)[1]
        for path in (unpacked / "tf_rnn_ops").glob("_tf_rnn_ops.tf*.so")
    }
    tried = {f"2.{minor}" for minor in range(16, 30)}
    assert have and have <= tried
    found = _by_extra(metadata)
    for specifier in (found["cpu"]["tensorflow-cpu"], found["gpu"]["tensorflow"]):
        assert {v for v in tried if f"{v}.0" in specifier and f"{v}.1" in specifier} == have


def test_size(wheel):
    """An index and its users want less than 10 MB."""
    assert wheel.stat().st_size < 10_000_000


def test_every_python_file_of_the_source_is_in_the_wheel(unpacked):
    def modules(root):
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in (root / "tf_rnn_ops").rglob("*.py")
            if "__pycache__" not in path.parts
        }

    assert modules(unpacked) == modules(ROOT)


def test_the_header_of_the_stepper_is_in_the_wheel(unpacked):
    header = unpacked / "tf_rnn_ops" / "include" / "rnn_step.h"
    assert header.read_bytes() == (ROOT / "cc" / "step" / "rnn_step.h").read_bytes()


def test_the_licences_are_in_the_wheel(unpacked, metadata):
    assert metadata["License-Expression"] == "Apache-2.0 AND BSD-3-Clause AND MPL-2.0"
    (folder,) = unpacked.glob("tf_rnn_ops-*.dist-info/licenses")
    texts = {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert set(texts) == set(metadata.get_all("License-File"))
    for name, first in (
        ("LICENSE", "Apache License\n"),
        ("LICENSES/MPL-2.0.txt", "Mozilla Public License Version 2.0\n"),
        ("LICENSES/BSD-3-Clause-protobuf.txt", "Copyright 2008 Google Inc."),
    ):
        assert texts[name].lstrip().startswith(first), name
    for project in ("Eigen", "Protocol Buffers", "XLA", "Abseil", "ml_dtypes"):
        assert project in texts["NOTICE"]


def test_what_an_index_shows(metadata):
    assert Version(metadata["Version"]).public == _versions()["VERSION"]
    assert metadata["Author"]
    classifiers = metadata.get_all("Classifier")
    assert any(c.startswith("Development Status") for c in classifiers)
    assert metadata["Description-Content-Type"] == "text/markdown"
    links = re.findall(r"\]\(([^)\s]+)\)", metadata.get_payload())
    assert all(re.match(r"https://|#", link) for link in links), links


def test_the_console_script(unpacked):
    (folder,) = unpacked.glob("tf_rnn_ops-*.dist-info")
    (script,) = importlib.metadata.Distribution.at(folder).entry_points
    assert (script.group, script.name) == ("console_scripts", "tf-rnn-ops")
    assert script.load() is __main__.main


@pytest.mark.parametrize("address", [None, "https://example.org/tree/"])
def test_links_of_the_readme_for_an_index(address):
    for_index = runpy.run_path(str(ROOT / "tools" / "readme.py"))["for_index"]
    text = "[a](docs/a.md#b)![h](i.svg) and [c](https://d.org/e) or [f](#g)"
    rest = " and [c](https://d.org/e) or [f](#g)"
    tree = "https://example.org/tree"
    want = "a" if address is None else f"[a]({tree}/docs/a.md#b)![h]({tree}/i.svg)"
    assert for_index(text, address) == want + rest


def without_pythonpath():
    """The environment, in which pip does not find the package that the tests import."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


@pytest.fixture(scope="module")
def clean_python(wheel, tmp_path_factory):
    """A Python that has this wheel, and TensorFlow from the environment of the tests."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    command = [sys.executable, "-m", "pip", "--python", str(python), *install]
    subprocess.run(command, check=True, env=without_pythonpath())
    (site,) = folder.glob("lib/python*/site-packages")
    # Behind the clean environment's own packages, so another tf_rnn_ops there does not count.
    (site / "tensorflow.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


SMOKE = """
import pathlib, sys
import numpy as np
import tensorflow as tf
import tf_rnn_ops

assert pathlib.Path(tf_rnn_ops.__file__).is_relative_to(sys.prefix), tf_rnn_ops.__file__
assert pathlib.Path(tf_rnn_ops.get_lib()).is_relative_to(sys.prefix), tf_rnn_ops.get_lib()
T, B, I, H = 3, 2, 4, 5
size = int(tf_rnn_ops.raw_ops.CudnnRNNParamsSize(
    num_layers=1, num_units=H, input_size=I, T=tf.float32, S=tf.int32)[0])
assert size == 4 * H * (I + H + 2), size
y = tf_rnn_ops.raw_ops.CudnnRNNV3(
    input=np.ones((T, B, I), np.float32),
    input_h=np.zeros((1, B, H), np.float32),
    input_c=np.zeros((1, B, H), np.float32),
    params=np.zeros(size, np.float32),
    sequence_lengths=np.array([T, T - 1], np.int32),
)
# All weights zero: the candidate is tanh(0), so every state stays zero.
assert y.output.shape == (T, B, H) and not np.any(y.output), y.output
print("isa", tf_rnn_ops.cpu_isa())
"""


@pytest.mark.parametrize("isa", ["baseline", None])
def test_smoke_from_another_folder(clean_python, tmp_path, isa):
    environment = without_pythonpath()
    environment.pop("TF_RNN_OPS_CPU_ISA", None)
    if isa:
        environment["TF_RNN_OPS_CPU_ISA"] = isa
    run = subprocess.run(
        [str(clean_python), "-c", SMOKE],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    chosen = run.stdout.split()[-1]
    assert chosen == isa if isa else chosen in {"baseline", "avx2", "avx512"}
