"""Builds examples/serving_c and runs a SavedModel in it, in a process without Python."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tf_rnn_ops
from support import subproc
from support.shared import folder_of_all_workers

pytestmark = pytest.mark.thorough

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "serving_c"
STEPS, BATCH, INPUT_SIZE, WIDTH = 5, 2, 3, 8
LENGTH = 3


@pytest.fixture(scope="module")
def programs(tmp_path_factory):

    def build(folder):
        command = [EXAMPLE / "build.sh", folder, sys.executable]
        subprocess.run(command, check=True, env=subproc.environment())

    return folder_of_all_workers(tmp_path_factory, "serving_c", build)


@pytest.fixture
def program(programs):
    return programs / "run_saved_model"


def write(folder, *args):
    done = subproc.run([EXAMPLE / "write_model.py", folder, *args], env=subproc.environment())
    assert done.returncode == 0, done.stderr


def run(program, library, model):
    command = [program, library, model, "StatefulPartitionedCall:0"]
    command += [f"serving_default_x:0={STEPS},{BATCH},{INPUT_SIZE}:0.5"]
    command += [f"serving_default_lengths:0={BATCH}:{LENGTH}i"]
    # WHY an empty environment: the program must not depend on variables that Python has set.
    env = {"PATH": os.environ["PATH"], "TF_CPP_MIN_LOG_LEVEL": "2"}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def parse(stdout):
    first, rest = stdout.split("\n", 1)
    shape = [int(word) for word in first.removeprefix("shape ").split()]
    return np.array(rest.split(), np.float32).reshape(shape)


def in_python(model):
    import tensorflow as tf

    tf_rnn_ops.enable_stock_ops()
    predict = tf.saved_model.load(str(model)).signatures["serving_default"]
    x = np.full((STEPS, BATCH, INPUT_SIZE), 0.5, np.float32)
    lengths = np.full(BATCH, LENGTH, np.int32)
    return predict(x=tf.constant(x), lengths=tf.constant(lengths))["output"].numpy()


@pytest.mark.parametrize("ours", [False, True], ids=["stock", "ours"])
def test_runs_without_python(program, ours, tmp_path):
    write(tmp_path / "model", *(["--ours"] if ours else []))
    library = tf_rnn_ops.get_lib() if ours else tf_rnn_ops.get_stock_lib()
    done = run(program, library, tmp_path / "model")
    assert done.returncode == 0, done.stderr
    assert "tf_rnn_ops: using" not in done.stderr  # it found the kernels of this CPU
    got = parse(done.stdout)
    np.testing.assert_array_equal(got, in_python(tmp_path / "model"))
    assert np.all(got[LENGTH:] == 0) and np.any(got[:LENGTH] != 0)


def test_a_library_runs_on_the_kernels_of_the_baseline_alone(program, tmp_path):
    write(tmp_path / "model")
    library = shutil.copy(tf_rnn_ops.get_stock_lib(), tmp_path)
    baseline = pathlib.Path(tf_rnn_ops.get_stock_lib()).with_name("_tf_rnn_ops_baseline.so")
    done = run(program, library, tmp_path / "model")
    assert done.returncode == 1
    assert f"{baseline.name}: cannot open shared object file" in done.stderr
    shutil.copy(baseline, tmp_path)
    done = run(program, library, tmp_path / "model")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(
        parse(done.stdout), in_python(tmp_path / "model"), rtol=1e-5, atol=1e-6
    )


def test_without_the_kernels_the_program_says_what_is_missing(program, tmp_path):
    write(tmp_path / "model")
    done = run(program, tf_rnn_ops.get_lib(), tmp_path / "model")
    assert done.returncode == 1
    assert "CudnnRNNV3" in done.stderr


def test_requests_in_batches(programs, tmp_path):
    write(tmp_path / "model", "--ours")
    command = [programs / "serve_batched", tf_rnn_ops.get_lib(), tmp_path / "model", "5", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # The program compares each output with that of a call of its own.
    assert float(re.search(r"largest difference +(\S+)", done.stdout)[1]) < 1e-5


def test_a_failing_batch_fails_its_requests(programs, tmp_path):
    write(tmp_path / "model")  # TensorFlow's ops, which have no kernel for a CPU here
    command = [programs / "serve_batched", tf_rnn_ops.get_lib(), tmp_path / "model", "5", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert any(line.startswith("serve_batched: ") for line in done.stderr.splitlines())
    assert "CudnnRNNV3" in done.stderr
