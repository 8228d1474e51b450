"""NVIDIA's headers and compilers for the checks of this folder, which need no GPU."""

import importlib.util
import pathlib
import re
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


@pytest.fixture(scope="session")
def generator(nvidia):
    """tools/generate_ptx.py, with its compiler."""
    nvidia("nvrtc")
    path = ROOT / "tools" / "generate_ptx.py"
    spec = importlib.util.spec_from_file_location("generate_ptx", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def spilled(nvidia, tmp_path):
    """Bytes of registers that ptxas moves to memory: (PTX, architecture). Fails if ptxas does not take it."""

    def run(text, architecture, name="kernels"):
        (nvcc,) = nvidia("nvcc")
        path = tmp_path / f"{name}.ptx"
        path.write_text(text)
        command = [nvcc / "bin/ptxas", "-v", f"-arch=sm_{architecture}", path, "-o", "/dev/null"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [int(n) for n in re.findall(r"(\d+) bytes spill stores", done.stderr)]

    return run
