"""NVIDIA's headers and compilers for the checks of this folder, which need no GPU."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def nvidia():
    """Folders by part: cudnn, cuda, nvcc, cublas, nvrtc. Downloaded where they are not there yet."""

    def folder(*parts):
        script = ROOT / "tools" / "setup_nvidia_headers.sh"
        done = subprocess.run([script, sys.executable, *parts], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [ROOT / ".tools" / "nvidia" / part for part in parts]

    return folder
