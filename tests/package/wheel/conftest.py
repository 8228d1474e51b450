"""The wheel under test, unpacked."""

import os
import pathlib
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tools"))


@pytest.fixture(scope="session")
def wheel():
    """The wheel that TF_RNN_OPS_WHEEL names, else the one in dist/."""
    named = os.environ.get("TF_RNN_OPS_WHEEL")
    wheels = [pathlib.Path(named)] if named else sorted((ROOT / "dist").glob("tf_rnn_ops-*.whl"))
    if len(wheels) != 1 or not wheels[0].is_file():
        pytest.fail(f"expected one wheel in dist/, found {len(wheels)}: run ./pip_pkg.sh")
    return wheels[0].resolve()


@pytest.fixture(scope="session")
def unpacked(wheel, tmp_path_factory):
    """The folder with the content of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder
