"""The demo as a user runs it, for two epochs, and its answers to bad input."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import vowels
from support.shared import folder_of_all_workers

pytestmark = pytest.mark.thorough

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def finished(run_demo, tmp_path_factory):
    def run(folder):
        process = run_demo("--epochs", 2, "--output", folder / "new" / "folder")
        (folder / "process.json").write_text(json.dumps(vars(process)))

    folder = folder_of_all_workers(tmp_path_factory, "demo", run)
    process = json.loads((folder / "process.json").read_text())
    return subprocess.CompletedProcess(**process), folder / "new" / "folder"


def row(text, label):
    return re.search(rf"^{re.escape(label)} +([\d.]+) +([\d.]+)", text, re.MULTILINE).groups()


def test_succeeds(finished):
    process, _ = finished
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    assert "270 training and 370 test utterances, 7 to 29 frames, 2 epochs" in process.stdout


def test_both_models_start_from_the_same_function(finished):
    found = re.search(r"differ by at most (\S+)", finished[0].stdout)
    assert float(found.group(1)) < 1e-5


def test_progress_of_both_models(finished):
    for name in ("tf_rnn_ops", "stock Keras"):
        assert re.search(rf"^{name} +\[#+\] epoch +2/2 +loss", finished[0].stdout, re.MULTILINE)


def test_table(finished):
    ours, stock = map(float, row(finished[0].stdout, "test accuracy"))
    right, stock_right = map(int, row(finished[0].stdout, "right of 370"))
    assert (ours, stock) == (round(right / 370, 4), round(stock_right / 370, 4))
    # Two epochs are far from the target but far beyond the 0.24 of always naming one speaker.
    assert min(ours, stock) > 0.5
    epoch, first = (
        row(finished[0].stdout, label)[0]
        for label in ("seconds per epoch *", "first epoch, with tracing")
    )
    assert float(epoch) < float(first)


def test_fresh_process_predicts_the_same(finished, run_demo, tmp_path):
    process, output = finished
    assert "loaded in a fresh process: all 370 predictions are identical" in process.stdout
    again = tmp_path / "again.npy"
    loaded = run_demo(output / "japanese_vowels.keras", again, script="predict.py")
    assert loaded.returncode == 0, loaded.stderr
    logits = np.load(again)
    assert logits.shape == (370, 9)
    right = int((logits.argmax(axis=1) == vowels.load()[1].speakers).sum())
    assert str(right) == row(process.stdout, "right of 370")[0]


def test_plots(finished):
    for name in ("loss.png", "confusion.png"):
        assert (finished[1] / name).read_bytes().startswith(PNG)
    assert str(finished[1]) in finished[0].stdout


def test_the_log_of_tensorflow_is_in_a_file(finished):
    assert (finished[1] / "tensorflow.log").is_file()


def test_target_is_judged_only_after_a_full_training(finished):
    assert "target" not in finished[0].stdout


def test_help(run_demo):
    process = run_demo("--help")
    assert process.returncode == 0
    for option in ("--epochs", "--data", "--output", "--seed", "--holdout"):
        assert option in process.stdout


@pytest.mark.parametrize("epochs", ["0", "-1", "many", "1.5"])
def test_bad_epochs(run_demo, epochs):
    process = run_demo(f"--epochs={epochs}")
    assert process.returncode == 2
    assert f"'{epochs}' is not a positive integer" in process.stderr


def test_missing_data(run_demo, tmp_path):
    process = run_demo("--data", tmp_path / "none.npz", cwd=tmp_path)
    assert process.returncode == 1
    assert process.stderr.startswith("demo.py: There is no data file at")
    # Nothing is left behind by a run that could not start.
    assert not (tmp_path / "demo_output").exists()


def test_broken_data(run_demo, tmp_path):
    path = tmp_path / "cut.npz"
    path.write_bytes(vowels.DEFAULT_PATH.read_bytes()[:1000])
    process = run_demo("--data", path, cwd=tmp_path)
    assert process.returncode == 1
    assert process.stderr.startswith(f"demo.py: {path} cannot be read as an .npz file")


def test_output_is_a_file(run_demo, tmp_path):
    path = tmp_path / "taken"
    path.touch()
    process = run_demo("--output", path)
    assert process.returncode == 1
    assert f"cannot use the output folder {path}" in process.stderr


def test_broken_model(run_demo, tmp_path):
    model = tmp_path / "broken.keras"
    model.write_bytes(b"no model")
    process = run_demo(model, tmp_path / "out.npy", script="predict.py")
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1].startswith("predict.py: ")
    assert "Traceback" not in process.stderr


def test_data_of_another_place(run_demo, finished, tmp_path):
    copy = tmp_path / "copy.npz"
    shutil.copy(vowels.DEFAULT_PATH, copy)
    process = run_demo(
        finished[1] / "japanese_vowels.keras",
        tmp_path / "out.npy",
        "--data",
        copy,
        script="predict.py",
    )
    assert process.returncode == 0, process.stderr
