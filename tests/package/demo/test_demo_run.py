"""The demo as a user runs it, for two epochs, and its answers to bad input."""

import re
import shutil

import numpy as np
import pytest

import vowels

pytestmark = pytest.mark.thorough

PNG = b"\x89PNG\r\n\x1a\n"


def row(text, label):
    return re.search(rf"^{re.escape(label)} +([\d.]+) +([\d.]+)", text, re.MULTILINE).groups()


def test_two_epochs(run_demo, tmp_path):
    output = tmp_path / "new" / "folder"
    process = run_demo("--epochs", 2, "--output", output)
    assert (process.returncode, process.stderr) == (0, "")
    said = process.stdout
    # Both models start from the same function.
    assert float(re.search(r"differ by at most (\S+)", said).group(1)) < 1e-5
    for name in ("tf_rnn_ops", "stock Keras"):
        assert re.search(rf"^{name} +\[#+\] epoch +2/2 +loss", said, re.MULTILINE)
    ours, stock = map(float, row(said, "test accuracy"))
    right, stock_right = map(int, row(said, "right of 370"))
    assert (ours, stock) == (round(right / 370, 4), round(stock_right / 370, 4))
    # Two epochs are far from the target but far beyond the 0.24 of always naming one speaker.
    assert min(ours, stock) > 0.5
    assert "target" not in said
    for name in ("loss.png", "confusion.png"):
        assert (output / name).read_bytes().startswith(PNG)
    assert (output / "tensorflow.log").is_file()

    assert "all 370 predictions are identical" in said
    again, data = tmp_path / "again.npy", tmp_path / "copy.npz"
    shutil.copy(vowels.DEFAULT_PATH, data)
    model = output / "japanese_vowels.keras"
    loaded = run_demo(model, again, "--data", data, script="predict.py")
    assert loaded.returncode == 0, loaded.stderr
    logits = np.load(again)
    assert logits.shape == (370, 9)
    assert right == int((logits.argmax(axis=1) == vowels.load()[1].speakers).sum())


@pytest.mark.parametrize(
    ("arguments", "status", "named"),
    [
        (["--help"], 0, ""),
        (["--epochs=0"], 2, "'0'"),
        (["--epochs=many"], 2, "'many'"),
        (["--data", "none.npz"], 1, "none.npz"),
        (["--data", "broken.keras"], 1, "broken.keras"),
        (["--output", "broken.keras"], 1, "broken.keras"),
    ],
)
def test_bad_arguments(arguments, status, named, run_demo, tmp_path):
    (tmp_path / "broken.keras").write_bytes(b"no model")
    process = run_demo(*arguments, cwd=tmp_path)
    assert process.returncode == status
    assert named in process.stderr and "Traceback" not in process.stderr
    # Nothing is left behind by a run that could not start.
    assert not (tmp_path / "demo_output").exists()


def test_broken_model(run_demo, tmp_path):
    model = tmp_path / "broken.keras"
    model.write_bytes(b"no model")
    process = run_demo(model, tmp_path / "out.npy", script="predict.py")
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1].startswith("predict.py: ")
    assert "Traceback" not in process.stderr
