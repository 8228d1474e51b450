"""The wheel as a user meets it: its tag, its metadata, and an install in a clean environment."""

import email
import os
import pathlib
import re
import runpy
import subprocess
import sys
import sysconfig
import venv

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def metadata(unpacked):
    (path,) = unpacked.glob("tf_rnn_ops-*.dist-info/METADATA")
    return email.message_from_string(path.read_text())


def test_tag_is_manylinux_for_any_python(wheel):
    python, abi, platform = wheel.stem.split("-")[-3:]
    assert (python, abi) == ("py3", "none")
    assert platform.startswith("manylinux") and platform.endswith("x86_64")


def test_tag_is_no_newer_than_that_of_tensorflow(wheel):
    """manylinux_2_27 for TensorFlow 2.21: pip of an older system would refuse a newer one."""
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


def test_no_hard_dependency_on_a_tensorflow(metadata):
    requirements = metadata.get_all("Requires-Dist")
    assert [r for r in requirements if "extra ==" not in r] == ["numpy"]
    by_extra = {"cpu": set(), "gpu": set()}
    for requirement in requirements:
        if "extra ==" in requirement:
            wanted, extra = requirement.split("; extra ==")
            by_extra[extra.strip(" \"'")].add(wanted)
    first, last = (_versions()["TENSORFLOW"][i] for i in (0, -1))
    major, minor = last.split(".")
    tensorflow = f"<{major}.{int(minor) + 1},>={first}"
    keras = "keras" + ",".join(reversed(_versions()["KERAS"].split(",")))
    assert by_extra == {
        "cpu": {f"tensorflow-cpu{tensorflow}", keras},
        "gpu": {f"tensorflow[and-cuda]{tensorflow}", keras},
    }


def test_size(wheel):
    """docs/compatibility.md says how large the wheels are; an index and its users want less than 10 MB."""
    assert wheel.stat().st_size < 10_000_000


def test_every_python_file_of_the_source_is_in_the_wheel(unpacked):
    def modules(root):
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in (root / "tf_rnn_ops").rglob("*.py")
            if "__pycache__" not in path.parts
        }

    assert modules(unpacked) == modules(ROOT)


def test_the_licences_are_in_the_wheel(unpacked):
    (folder,) = unpacked.glob("tf_rnn_ops-*.dist-info/licenses")
    assert {path.name for path in folder.iterdir()} == {"LICENSE", "NOTICE"}
    assert "Eigen, Mozilla Public License 2.0" in (folder / "NOTICE").read_text()


def test_what_an_index_shows(metadata):
    assert metadata["Version"] == _versions()["VERSION"]
    assert metadata["Author"] and metadata["License-Expression"] == "Apache-2.0"
    classifiers = metadata.get_all("Classifier")
    assert any(c.startswith("Development Status") for c in classifiers)
    assert metadata["Description-Content-Type"] == "text/markdown"
    links = re.findall(r"\]\(([^)\s]+)\)", metadata.get_payload())
    assert all(re.match(r"https://|#", link) for link in links), links


@pytest.mark.parametrize("address", [None, "https://example.org/tree/"])
def test_links_of_the_readme_for_an_index(address):
    for_index = runpy.run_path(str(ROOT / "tools" / "readme.py"))["for_index"]
    text = "[a](docs/a.md#b) and [c](https://d.org/e) or [f](#g)"
    rest = " and [c](https://d.org/e) or [f](#g)"
    want = "a" if address is None else "[a](https://example.org/tree/docs/a.md#b)"
    assert for_index(text, address) == want + rest


@pytest.fixture(scope="module")
def clean_python(wheel, tmp_path_factory):
    """A Python that has this wheel, and TensorFlow from the environment of the tests."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True)
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
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
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
