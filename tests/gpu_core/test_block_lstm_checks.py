"""block_lstm_checks.py itself, on a pretended driver and cuBLAS: what it would do on a GPU, it does."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="block_lstm_checks.py takes its memory from PyTorch")

from test_checks import COMPILE, DRIVER, HERE, TESTS  # noqa: E402

BLAS = (TESTS / "gpu_mock" / "blas.cc", HERE / "blas_rest.cc")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """A folder with the core, a pretended driver and a pretended cuBLAS."""
    folder = tmp_path_factory.mktemp("gpu_core")
    mock = [*COMPILE, f"-I{TESTS / 'gpu_mock'}"]
    built = [
        subprocess.Popen([HERE / "build.sh", folder], stdout=subprocess.DEVNULL),
        subprocess.Popen(
            [*mock, "-Wl,-soname,libcuda.so.1", *DRIVER, "-o", folder / "libcuda.so.1", "-ldl"]
        ),
        subprocess.Popen(
            [*mock, "-Wl,-soname,libcublas.so.12", *BLAS, "-o", folder / "libcublas.so.12", "-ldl"]
        ),
    ]
    assert [process.wait() for process in built] == [0, 0, 0]
    return folder


def run_checks(libraries, script=HERE / "block_lstm_checks.py", **variables):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries), **variables}
    command = [sys.executable, script, libraries / "libcore.so", "--pretend"]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_all_pass(libraries):
    done = run_checks(libraries)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    passed, failed = done.stdout.splitlines()[-1].split(", ")
    assert int(passed.split()[0]) > 200
    assert failed == "0 failed"


def test_a_wrong_result_fails(libraries):
    text = (HERE / "block_lstm_checks.py").read_text()
    # As if the library did not clip.
    clip = 'settings.get("cell_clip", 0.0)'
    assert text.count(clip) == 1
    wrong = libraries / "wrong_checks.py"
    wrong.write_text(text.replace(clip, "0.01"))
    done = run_checks(libraries, wrong, PYTHONPATH=f"{TESTS}{os.pathsep}{HERE}")
    assert done.returncode == 1, done.stderr
    assert "FAIL (1, 1, 1, 1) steps=1" in done.stdout


def test_without_cublas_the_error_says_what_to_do(libraries):
    done = run_checks(libraries, TF_RNN_OPS_CUBLAS="/no/such/library.so")
    assert done.returncode == 1
    assert "/no/such/library.so" in done.stdout
    assert "pip install nvidia-cublas-cu12" in done.stdout
