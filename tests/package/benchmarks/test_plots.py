"""The content of the plots."""

import re

import pytest

from benchmarks import plots

ROW = {
    "problem": {"cell": "lstm", "T": 1, "B": 2, "I": 3, "H": 4},
    "mode": "training",
    "threads": 2,
    "seconds": {
        "tf_rnn_ops": [0.9, 1.0, 5.0],
        "tf_rnn_ops Keras": [2.0],
        "Keras": [8.0],
        "Keras jit": [6.0],
        "PyTorch": [1.5],
        "oneDNN": [1.25],
        "TF BlockLSTMV2": [4.0],
    },
}


def test_each_is_compared_with_what_replaces_it():
    assert plots.ratios(ROW) == {
        "Keras": 3.0,  # the faster one, with XLA
        "the fastest other library": 1.25,
        "TensorFlow": 4.0,  # without its own series: compared with our first variant
    }


def test_a_row_without_others_has_no_ratios():
    assert plots.ratios({**ROW, "seconds": {"tf_rnn_ops": [1.0]}}) == {}


def test_shapes_are_named_in_words():
    assert plots.words({"B": 2, "T": 1, "H": 4}) == "batch 2, 1 step, 4 units"
    stack = {"B": 2, "T": 5, "H": 4, "L": 2, "D": 2}
    assert plots.words(stack) == "batch 2, 5 steps, 4 units, 4 layers"


def test_one_plot_for_each_series_and_number_of_threads(tmp_path):
    alone = {**ROW, "mode": "inference", "seconds": {"tf_rnn_ops": [1.0]}}
    results = {"machine": {"cpu": "A CPU"}, "rows": [ROW, {**ROW, "threads": 1}, alone]}
    plots.draw(results, tmp_path)
    names = [f"speedup_{n}_{t}.svg" for n in ("keras", "library", "tensorflow") for t in (1, 2)]
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    drawn = (tmp_path / "speedup_keras_2.svg").read_text()
    assert "A CPU, 2 threads" in drawn and "training 3.0 x" in drawn
    assert "LSTM, batch 2, 1 step, 4 units" in drawn


@pytest.mark.parametrize("name", ["paths", "speedup_keras", "short_calls"])
def test_the_figures_of_the_documents_are_those_of_their_data(tmp_path, monkeypatch, name):
    images = plots.IMAGES
    for data in images.glob("*.json"):
        (tmp_path / data.name).write_bytes(data.read_bytes())
    monkeypatch.setattr(plots, "IMAGES", tmp_path)
    plots.main()
    # Other versions of matplotlib draw other paths; the numbers and names are text.
    texts = [
        re.findall(r">([^<>\n]+)</text>", (folder / f"{name}.svg").read_text())
        for folder in (images, tmp_path)
    ]
    assert texts[0] == texts[1] and len(texts[0]) > 10
