import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    """A function that compiles a source of this folder as a library, and returns its path."""

    def build(name):
        path = tmp_path_factory.mktemp("anomalies") / f"{name}.so"
        command = ["g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra"]
        subprocess.run([*command, str(HERE / f"{name}.cc"), "-o", str(path), "-ldl"], check=True)
        return path

    return build
