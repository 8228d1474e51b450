"""The diagnosis of a GPU that TensorFlow failed to register, on installations made of empty libraries."""

import os
import shutil
import subprocess

import pytest

from tf_rnn_ops.native import gpu_info

EMPTY = "int tf_rnn_ops_test_empty;"
CUDA = """
int cuInit(unsigned flags) {{ return {code}; }}
int cuDeviceGetCount(int* count) {{ *count = 2; return 0; }}
"""
CUDNN = "unsigned long cudnnGetVersion() { return 91900; }"


class Installation:
    """site-packages with a tensorflow whose run path has every NVIDIA package but cuSOLVER's."""

    def __init__(self, folder, driver_code=0):
        self.site = folder / "site-packages"
        self.tensorflow = self.site / "tensorflow"
        self.driver_folder = folder / "driver"
        packages = sorted({package for _, package in gpu_info.LIBRARIES.values()})
        run_path = [f"$ORIGIN/../nvidia/{name}/lib" for name in packages if name != "cusolver"]
        self.compile(
            self.tensorflow / "libtensorflow_framework.so.2",
            EMPTY,
            "-Wl,--enable-new-dtags",
            f"-Wl,-rpath,{':'.join(run_path)}",
        )
        for name, (_, package) in gpu_info.LIBRARIES.items():
            source = CUDNN if name == "libcudnn.so.9" else EMPTY
            self.compile(self.library(name, package), source)
        self.compile(self.driver_folder / "libcuda.so.1", CUDA.format(code=driver_code))
        self.compile(self.driver_folder / "libnvidia-ml.so.1", EMPTY)

    def library(self, name, package):
        return self.site / "nvidia" / package / "lib" / name

    def compile(self, path, source, *options):
        path.parent.mkdir(parents=True, exist_ok=True)
        command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path), *options]
        subprocess.run([*command, f"-Wl,-soname,{path.name}"], input=source, text=True, check=True)

    def diagnose(self, monkeypatch, *folders):
        path = os.pathsep.join(str(folder) for folder in (self.driver_folder, *folders))
        monkeypatch.setenv("LD_LIBRARY_PATH", path)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        return gpu_info.diagnose(self.tensorflow)


def test_run_path(tmp_path):
    installation = Installation(tmp_path)
    folders = gpu_info.run_path(installation.tensorflow / "libtensorflow_framework.so.2")
    assert str(installation.site / "nvidia" / "cublas" / "lib") in folders
    assert not any("cusolver" in folder for folder in folders)


def test_run_path_of_no_library(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 100)
    with pytest.raises(ValueError, match="not a 64-bit ELF file"):
        gpu_info.run_path(tmp_path / "file")


def test_cusolver_outside_the_run_path(tmp_path, monkeypatch):
    installation = Installation(tmp_path)
    facts = installation.diagnose(monkeypatch)
    assert ("GPU driver", "2 device(s)") in facts
    (text,) = [text for title, text in facts if title == "GPU library"]
    path = installation.library("libcusolver.so.11", "cusolver")
    assert f"LD_LIBRARY_PATH={path.parent}" in text and f'ctypes.CDLL("{path}")' in text


def test_the_cure_for_cusolver_works(tmp_path, monkeypatch):
    installation = Installation(tmp_path)
    facts = dict(installation.diagnose(monkeypatch, installation.site / "nvidia/cusolver/lib"))
    assert "GPU library" not in facts
    assert facts["GPU libraries"].startswith("all 7 ")
    path = installation.library("libcudnn.so.9", "cudnn")
    assert facts["cuDNN"] == f"version 9.19.0 at {path}"


@pytest.mark.parametrize(
    ("name", "package", "content", "reasons"),
    [
        ("libcufft.so.11", "cufft", None, ["pip install nvidia-cufft-cu12"]),
        ("libcublas.so.12", "cublas", b"not a library", ["invalid ELF header", "too short"]),
    ],
)
def test_missing_or_broken_library(name, package, content, reasons, tmp_path, monkeypatch):
    installation = Installation(tmp_path)
    library = installation.library(name, package)
    library.unlink()
    if content:
        library.write_bytes(content)
    texts = [text for title, text in installation.diagnose(monkeypatch) if title == "GPU library"]
    assert any(name in text for text in texts)
    assert any(reason in text for text in texts for reason in reasons)


def test_no_driver(tmp_path, monkeypatch):
    installation = Installation(tmp_path)
    shutil.rmtree(installation.driver_folder)
    assert "libcuda.so.1" in dict(installation.diagnose(monkeypatch))["GPU driver"]
    # Nor a library of TensorFlow.
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    assert "libcuda.so.1" in dict(gpu_info.diagnose(tmp_path / "nothing"))["GPU driver"]


@pytest.mark.parametrize(("code", "reason"), [(100, "no NVIDIA device"), (803, "older")])
def test_driver_that_refuses(code, reason, tmp_path, monkeypatch):
    facts = dict(Installation(tmp_path, driver_code=code).diagnose(monkeypatch))
    assert facts["GPU driver"].startswith(f"cuInit returned {code}: ")
    assert reason in facts["GPU driver"]


def test_hidden_devices(tmp_path, monkeypatch):
    installation = Installation(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(installation.driver_folder))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert gpu_info.diagnose(installation.tensorflow)[0][0] == "GPU hidden"
