"""Masked layers in ONNX: results for every kind of mask, and how many nodes, bytes and names they cost."""

import collections
import itertools

import export_cases
import keras
import numpy as np
import onnx
import pytest
from export_cases import SEQUENCES, SIZE, UNITS, check

import tf_rnn_ops.keras as rnn
from support.models import drawn
from support.selection import all_but
from tf_rnn_ops._formats import onnx as writer

L = keras.layers
BATCH, TIME = 4, 6


def _both(make, **options):
    return lambda x, **call: L.Bidirectional(make(UNITS, **SEQUENCES), **options)(x, **call)


def _residual(x, **call):
    """The second layer reads a sum and a Dense of outputs of the first."""
    y = L.LSTM(SIZE, **SEQUENCES)(x, **call)
    y = L.Dropout(0.5)(L.Add()([x, y]))
    return L.Bidirectional(L.LSTM(UNITS, **SEQUENCES))(L.Dense(5, activation="relu")(y), **call)


def _two(x, **call):
    y = L.Bidirectional(L.LSTM(UNITS, **SEQUENCES))(x, **call)
    return L.Bidirectional(L.GRU(UNITS, **SEQUENCES))(y, **call)


LAYERS = {
    "lstm": lambda x, **call: L.LSTM(UNITS, **SEQUENCES)(x, **call),
    "zero": lambda x, **call: L.LSTM(UNITS, zero_output_for_mask=True, **SEQUENCES)(x, **call),
    "zero_last": lambda x, **call: L.GRU(UNITS, zero_output_for_mask=True)(x, **call),
    "both": _both(L.LSTM),
    "both_apart": _both(L.GRU, merge_mode=None),
    "both_last": lambda x, **call: L.Bidirectional(L.LSTM(UNITS))(x, **call),
    "two": _two,
    "residual": _residual,
}
MASKS = {
    "none": np.ones((BATCH, TIME), bool),
    "right": np.arange(TIME) < [[6], [4], [1], [3]],
    "left": np.arange(TIME) >= [[0], [2], [5], [3]],
    "holes": np.array([[1, 0, 1, 1, 0, 1], [0, 0, 1, 0, 1, 0], [0, 1, 1, 1, 1, 0], [1] * 6], bool),
    "empty_rows": np.array([[0] * 6, [1, 1, 0, 0, 0, 0], [0] * 6, [0, 1, 0, 1, 0, 0]], bool),
    "one_step": np.array([[1], [0], [1], [0]], bool),
    "one_row": np.array([[0, 1, 1, 0, 1, 0]], bool),
}


SIZES = [(None, None), (None, TIME), (BATCH, None), (BATCH, TIME)]
USUAL = zip(LAYERS, itertools.cycle(SIZES))


@pytest.mark.parametrize("case", all_but(list(itertools.product(LAYERS, SIZES)), *USUAL), ids=str)
def test_every_mask(case, tmp_path, rng):
    """Masks that an Embedding, a Masking or an input makes."""
    name, sizes = case
    words = keras.Input(batch_shape=sizes, dtype="int32", name="words")
    x = keras.Input(batch_shape=(*sizes, SIZE), name="x")
    mask = keras.Input(batch_shape=sizes, dtype="bool", name="mask")
    outputs = [
        LAYERS[name](L.Embedding(9, SIZE, mask_zero=True)(words)),
        LAYERS[name](L.Masking()(x)),
        LAYERS[name](x, mask=mask),
    ]
    model = drawn(keras.Model([words, x, mask], outputs))
    report = rnn.export(model, tmp_path / "m.onnx", verify=False, print_fn=None)
    assert {node.target_op for node in report.layers} <= {"LSTM", "GRU"}
    run = writer.load(tmp_path / "m.onnx")
    for kind, valid in MASKS.items():
        batch, time = valid.shape
        if any(size not in (None, own) for size, own in zip(sizes, valid.shape)):
            continue
        values = rng.standard_normal((batch, time, SIZE)).astype(np.float32)
        given = (rng.integers(1, 9, (batch, time)) * valid).astype(np.int32)
        check(run, model, {"words": given, "x": values * valid[..., None], "mask": valid})


def test_a_mask_of_one_row_for_a_batch(tmp_path, rng):
    """Keras broadcasts it."""
    x, mask = keras.Input((None, SIZE), name="x"), keras.Input((None,), dtype="bool", name="mask")
    model = drawn(keras.Model([x, mask], _two(x, mask=mask)))
    rnn.export(model, tmp_path / "m.onnx", verify=False, print_fn=None)
    values = rng.standard_normal((BATCH, TIME, SIZE)).astype(np.float32)
    run = writer.load(tmp_path / "m.onnx")
    check(run, model, {"x": values, "mask": MASKS["one_row"]})
    check(run, model, {"x": values, "mask": MASKS["holes"]})
    assert [node.op_type for node in onnx.load(tmp_path / "m.onnx").graph.node].count("TopK") == 1


def test_not_a_number_in_the_padding(tmp_path, rng):
    """A product with 0 would not remove it."""
    x, mask = keras.Input((None, SIZE), name="x"), keras.Input((None,), dtype="bool", name="mask")
    outputs = [LAYERS[name](x, mask=mask) for name in ("lstm", "both", "zero_last")]
    model = drawn(keras.Model([x, mask], outputs))
    rnn.export(model, tmp_path / "m.onnx", verify=False, print_fn=None)
    values = rng.standard_normal((BATCH, TIME, SIZE)).astype(np.float32)
    filled = np.where(MASKS["holes"][..., None], values, np.nan).astype(np.float32)
    run = writer.load(tmp_path / "m.onnx")
    got = run({"x": filled, "mask": MASKS["holes"]})
    for name, want in export_cases.results(model([values, MASKS["holes"]])).items():
        np.testing.assert_allclose(got[name], want, rtol=0, atol=2e-6)


# ---- cost ----


def _file(make, folder, masked=True, own=False):
    """A file of an Embedding, the layers of `make`, and a Dense; its own initializers in bytes."""
    words = keras.Input((None,), dtype="int32", name="words")
    y = make(L.Embedding(9, SIZE, mask_zero=masked, name="embedding")(words))
    model = keras.Model(words, L.Dense(2, name="dense")(y))
    path = folder / "m.onnx"
    if own:
        model = rnn.convert(model)
        model(np.ones((1, 2), np.int32))
        model.export(str(path), format="onnx", verbose=False)
    else:
        rnn.export(model, path, verify=False, print_fn=None)
    file = onnx.load(path)
    path.unlink()
    return file, file.ByteSize() - sum(len(one.raw_data) for one in file.graph.initializer)


def _stacked(layer, count):
    def make(x):
        for k in range(count):
            x = layer(f"layer{k}")(x)
        return x

    return make


KINDS = {
    "lstm": lambda name: L.LSTM(UNITS, name=name, **SEQUENCES),
    "gru": lambda name: L.GRU(UNITS, name=name, **SEQUENCES),
    "both": lambda name: L.Bidirectional(L.LSTM(UNITS, **SEQUENCES), name=name),
    "both_gru": lambda name: L.Bidirectional(L.GRU(UNITS, **SEQUENCES), name=name),
}


@pytest.mark.parametrize("kind", all_but(KINDS, "lstm", "both_gru"))
def test_nodes_and_bytes_of_a_layer(kind, tmp_path):
    """The indices of a mask are computed once, and each layer gathers twice."""
    none, none_bytes = _file(lambda x: x, tmp_path, masked=False)
    one, one_bytes = _file(_stacked(KINDS[kind], 1), tmp_path)
    three, three_bytes = _file(_stacked(KINDS[kind], 3), tmp_path)
    names = [[node.name for node in file.graph.node] for file in (none, one, three)]
    assert len(names[2]) - len(names[1]) <= 2 * 7
    assert three_bytes - one_bytes <= 2 * 1500
    assert len([name for name in names[1] if name.startswith("layer0")]) <= 7
    assert len([name for name in names[1] if name.startswith("mask/")]) <= 10
    assert one_bytes - none_bytes <= 4096
    for op in ("TopK", "CumSum", "ReduceSum"):
        assert [node.op_type for node in three.graph.node].count(op) == 1


@pytest.mark.parametrize("kind", all_but(["lstm", "both"], "both"))
def test_keras_own_export_has_the_same_nodes(kind, tmp_path):
    ours, _ = _file(_stacked(KINDS[kind], 2), tmp_path)
    keras_own, _ = _file(_stacked(KINDS[kind], 2), tmp_path, own=True)
    counts = [collections.Counter(n.op_type for n in f.graph.node) for f in (ours, keras_own)]
    assert counts[0] == counts[1] and not counts[0]["If"]


def test_names(tmp_path):
    """Those of the layers and of ONNX's ops and inputs, each once."""
    file, _ = _file(
        _stacked(lambda name: L.LSTM(UNITS, name=f"lstm_{name[-1]}", **SEQUENCES), 2), tmp_path
    )
    graph = file.graph
    names = [node.name for node in graph.node]
    assert len(set(names)) == len(names)
    assert [n.name for n in graph.node if n.op_type == "LSTM"] == ["lstm_0", "lstm_1"]
    assert {"lstm_0/W", "lstm_1/R", "embedding/Gather/data"} <= {t.name for t in graph.initializer}
    everything = [*names, *(t.name for t in graph.initializer)]
    everything += [name for node in graph.node for name in node.output]
    assert max(map(len, everything)) <= 40
    assert [one.name for one in graph.input] == ["words"]
    assert [one.name for one in graph.output] == ["output_0"]


def test_names_in_loops(tmp_path):
    """The names of a loop's body, which reads tensors of the graph around it."""
    words = keras.Input((None,), dtype="int32", name="words")
    x = L.Embedding(9, SIZE, mask_zero=True)(words)
    y = rnn.LayerNormLSTM(UNITS, name="first", **SEQUENCES)(x)
    model = drawn(keras.Model(words, rnn.LayerNormLSTM(UNITS, name="second")(y)))
    rnn.export(model, tmp_path / "m.onnx", verify=False, print_fn=None)
    given = (np.arange(12).reshape(2, 6) % 9).astype(np.int32)
    check(writer.load(tmp_path / "m.onnx"), model, {"words": given})
    loops = [node for node in onnx.load(tmp_path / "m.onnx").graph.node if node.op_type == "Loop"]
    assert [loop.name.split("/")[0] for loop in loops] == ["first", "second"]
