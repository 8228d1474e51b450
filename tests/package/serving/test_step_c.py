"""Builds examples/step_c and compares what it prints with a stepper in Python."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tf_rnn_ops.stepper
from support import subproc
from support.shared import folder_of_all_workers

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "step_c"
FEATURES = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the program and a model."""

    def build(folder):
        environment = subproc.environment()
        subprocess.run([EXAMPLE / "build.sh", folder, sys.executable], check=True, env=environment)
        done = subproc.run([EXAMPLE / "write_model.py", folder / "model.rnn"], env=environment)
        assert done.returncode == 0, done.stderr

    return folder_of_all_workers(tmp_path_factory, "step_c", build)


def run(folder, *arguments, text=""):
    # WHY an empty environment: the program must not depend on variables that Python has set.
    return subprocess.run(
        [folder / "step", *arguments],
        input=text,
        env={},
        capture_output=True,
        text=True,
        check=False,
    )


def outputs_of(done):
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert {name for name, *_ in lines} == {"output_0"}
    return np.array([numbers for _, *numbers in lines], np.float32)


def in_python(folder, frames):
    stepper = tf_rnn_ops.stepper.load(folder / "model.rnn")
    return np.concatenate([stepper(frame.reshape(1, 1, -1))[0] for frame in frames])


def test_frames_of_the_standard_input(folder):
    frames = np.random.default_rng(0).normal(size=(7, FEATURES)).astype(np.float32)
    text = "\n".join(" ".join(f"{x:.9g}" for x in frame) for frame in frames)
    done = run(folder, folder / "model.rnn", text=text)
    np.testing.assert_array_equal(outputs_of(done), in_python(folder, frames))


def test_made_up_frames(folder):
    frames = np.sin(np.arange(5 * FEATURES, dtype=np.float64)).reshape(5, FEATURES)
    done = run(folder, folder / "model.rnn", "5")
    expected = in_python(folder, frames.astype(np.float32))
    np.testing.assert_allclose(outputs_of(done), expected, atol=1e-6)


def test_half_a_frame(folder):
    done = run(folder, folder / "model.rnn", text="1 2 3")
    assert done.returncode == 1 and not done.stdout
    assert done.stderr.startswith("step: ")


def test_a_cut_file(folder, tmp_path):
    (tmp_path / "cut.rnn").write_bytes((folder / "model.rnn").read_bytes()[:-4])
    done = run(folder, tmp_path / "cut.rnn", "1")
    assert done.returncode == 1 and not done.stdout
    assert done.stderr.startswith("step: ")
