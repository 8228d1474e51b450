"""What the plots show."""

from benchmarks import plots

ROW = {
    "name": "lstm (1,2,3,4)",
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
    assert plots.bars(ROW) == [
        ("fastest other library", "oneDNN", 1.25),
        ("Keras", "Keras jit", 3.0),
        ("TensorFlow", "TF BlockLSTMV2", 4.0),  # without a row of its own: beside the first of ours
    ]


def test_a_row_without_others_has_no_bars():
    assert plots.bars({**ROW, "seconds": {"tf_rnn_ops": [1.0]}}) == []


def test_one_plot_for_each_mode_and_number_of_threads(tmp_path):
    alone = {**ROW, "mode": "inference", "seconds": {"tf_rnn_ops": [1.0]}}
    plots.draw({"rows": [ROW, {**ROW, "threads": 1}, alone]}, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "training_1.png",
        "training_1.svg",
        "training_2.png",
        "training_2.svg",
    ]
    again = tmp_path / "again"
    again.mkdir()
    plots.draw({"rows": [ROW]}, again)
    assert (again / "training_2.svg").read_bytes() == (tmp_path / "training_2.svg").read_bytes()
