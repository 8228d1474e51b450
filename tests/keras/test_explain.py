"""explain: the table and its lines."""

import keras
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops.keras import explain
from tf_rnn_ops.keras.dispatch import cells


def test_the_table(capsys):
    module = tf_rnn_ops.keras
    inner = module.LSTM(2, return_sequences=True, name="lstm")
    model = keras.Sequential(
        [
            keras.Input((None, 3)),
            keras.layers.Bidirectional(inner, name="both"),
            module.PeepholeLSTM(2, return_sequences=True, recurrent_dropout=0.5, name="dropping"),
            module.CudnnLSTM(2, return_sequences=True, name="stack"),
            keras.layers.RNN(keras.layers.LSTMCell(2), return_sequences=True, name="cell"),
            keras.layers.LSTM(2, name="stock"),
            keras.layers.Dense(1, name="dense"),
        ]
    )
    rows = explain(model)
    assert [(row.layer, row.kind, row.path) for row in rows] == [
        ("both/forward_lstm", "LSTM", "fused"),
        ("both/backward_lstm", "LSTM", "fused"),
        ("dropping", "PeepholeLSTM", "fused, keras in training"),
        ("stack", "CudnnLSTM", "fused"),
        ("cell", "RNN", "keras"),
        ("stock", "LSTM", "keras"),
    ]
    why = {row.layer: row.reason for row in rows}
    assert why["both/forward_lstm"] == "" and "every step" in why["dropping"]
    assert "convert" in why["cell"] and "convert" in why["stock"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["layer", "class", "path", "reason"]
    assert len(lines) == 1 + len(rows) + len(rows.notes)
    for line, row in zip(lines[1:], rows):
        assert line.startswith(row.layer) and line.endswith(row.reason)


def test_subclasses():
    class MyStack(tf_rnn_ops.keras.CudnnLSTM):
        pass

    class MyLSTM(tf_rnn_ops.keras.LSTM):
        pass

    model = keras.Sequential([keras.Input((None, 3)), MyStack(2, return_sequences=True), MyLSTM(2)])
    rows = explain(model, print_fn=None)
    assert [(row.kind, row.path) for row in rows] == [("MyStack", "fused"), ("MyLSTM", "fused")]


def test_a_subclass_of_a_stock_layer():
    class MyGRU(keras.layers.GRU):
        pass

    (row,) = explain(MyGRU(2), print_fn=None)
    assert row.path == "keras" and "subclass" in row.reason and "tf_rnn_ops.keras.GRU" in row.reason
    with tf_rnn_ops.keras.accelerate():
        assert explain(MyGRU(2), print_fn=None)[0].path == "fused"


def test_nothing_to_explain(capsys):
    assert explain(keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])) == []
    assert capsys.readouterr().out == "There is no recurrent layer.\n"


def test_print_fn():
    texts = []
    explain(tf_rnn_ops.keras.LSTM(2, name="one"), print_fn=texts.append)
    assert len(texts) == 1 and "one" in texts[0]


def test_it_shows_itself_once(capsys):
    layer = tf_rnn_ops.keras.LSTM(2, name="a<b")
    printed = explain(layer)
    assert capsys.readouterr().out == printed.table() + "\n"
    assert repr(printed) == str(printed) == "<recurrent layers: 1, fused: 1>"
    assert printed._repr_html_() is None
    silent = explain(layer, print_fn=None)
    assert repr(silent) == str(silent) == printed.table()
    assert "<td>a&lt;b</td><td>LSTM</td><td>fused</td>" in silent._repr_html_()
    assert silent == printed == list(silent) and silent[0].layer == "a<b"


def test_notes_on_packed_weights():
    layers = [
        tf_rnn_ops.keras.LSTM(2, dtype="mixed_bfloat16", return_sequences=True, name="cast"),
        tf_rnn_ops.keras.CudnnGRU(2, dtype="mixed_float16", return_sequences=True, name="stack"),
        tf_rnn_ops.keras.GRU(2, dtype="bfloat16", recurrent_initializer="zeros", name="kept"),
    ]
    rows = explain(keras.Sequential([keras.Input((None, 3)), *layers]), print_fn=None)
    (note,) = (note for note in rows.notes if "packs" in note)
    assert "of cast, stack: the dtype policy" in note and note in str(rows)
    assert explain(layers[2], print_fn=None).notes == [n for n in rows.notes if "packs" not in n]


def test_notes_on_xla(monkeypatch):
    monkeypatch.setattr("tf_rnn_ops.keras.dispatch.environment.has_tpu", lambda: True)
    rows = explain(tf_rnn_ops.keras.LSTM(2), print_fn=None)
    assert [note for note in rows.notes if note.startswith("XLA (jit_compile=True): ")]


def test_bad_model():
    with pytest.raises(TypeError, match="model must be a Keras 3 model or layer, but it is a int"):
        explain(3)
    with pytest.raises(TypeError, match="print_fn must be .*1"):
        explain(tf_rnn_ops.keras.LSTM(2), print_fn=1)


def test_a_gpu_that_is_hidden_later(monkeypatch):
    devices = ["a GPU"]
    monkeypatch.setattr("tensorflow.config.get_visible_devices", lambda kind: devices)
    cell = tf_rnn_ops.keras.LSTM(2).cell
    assert cells.op_name(cell) == "CudnnRNNV3"
    devices.clear()
    assert cells.op_name(cell) == "LayerRNN"
