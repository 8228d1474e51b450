"""The signature of a file: the names and sizes of the inputs of the model, as Keras's export has them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras as rnn
from support.selection import all_but
from tf_rnn_ops._formats import formats
from tf_rnn_ops.keras._export import signatures

TIME, SIZE = 5, 3


def _input(name, **options):
    return keras.Input((TIME, SIZE), name=name, **options)


def _network(*inputs):
    x = keras.layers.Add()(inputs) if len(inputs) > 1 else inputs[0]
    return keras.layers.LSTM(4)(x)


def _functional(structure):
    inputs = keras.tree.flatten(structure)
    return keras.Model(structure, _network(*inputs))


class OneArgument(keras.Model):
    def __init__(self):
        super().__init__()
        self.layer = keras.layers.LSTM(4)

    def call(self, x):
        return self.layer(x)


class DictArgument(OneArgument):
    def call(self, x):
        return self.layer(x["frames"]) + self.layer(x["Others"])


def _called(model, *arguments):
    model(*arguments)
    return model


def _batch():
    return np.ones((2, TIME, SIZE), np.float32)


def _used_in_another_model():
    inner = keras.Sequential([_input("inner"), keras.layers.LSTM(4)])
    x = keras.Input((TIME, SIZE), name="outer")
    return inner, keras.Model(x, inner(x))


AS_KERAS = {
    "one": lambda: _functional(_input("Frames")),
    "a list": lambda: _functional([_input("B"), _input("a")]),
    "a tuple": lambda: _functional((_input("b"), _input("a"))),
    "a dict": lambda: _functional({"p": _input("Q"), "q": _input("p")}),
    "nested": lambda: _functional([{"p": _input("x")}, _input("y_1")]),
    "with dots and slashes": lambda: _functional([_input("a.b"), _input("c-d")]),
    "a digit first": lambda: _functional(_input("1st")),
    "Sequential": lambda: keras.Sequential([_input("frames"), keras.layers.LSTM(4)]),
    "Sequential after a call": lambda: _called(keras.Sequential([keras.layers.LSTM(4)]), _batch()),
    "a part of another model": lambda: _used_in_another_model()[0],
    "a model of a Sequential": lambda: _used_in_another_model()[1],
    "Sequential of a Sequential": lambda: keras.Sequential(
        [_input("frames"), _used_in_another_model()[0], keras.layers.Dense(2)]
    ),
    "a class of its own": lambda: _called(OneArgument(), _batch()),
}


def _inputs_of(path):
    (signature,) = [tf.saved_model.load(str(path)).signatures["serving_default"]]
    return {
        name: spec.shape.as_list() for name, spec in signature.structured_input_signature[1].items()
    }


@pytest.mark.parametrize("name", AS_KERAS)
def test_names_and_sizes_are_those_of_the_export_of_keras(name, tmp_path):
    model = AS_KERAS[name]()
    model.export(tmp_path / "keras", verbose=False)
    rnn.export(model, tmp_path / "ours", print_fn=None)
    assert _inputs_of(tmp_path / "ours") == _inputs_of(tmp_path / "keras")


NAMES = [
    ("my input", "my_input"),
    ("Größe", "Gr__e"),
    ("_x", "arg__x"),
    ("x:0", "x_0"),
]


@pytest.mark.parametrize("given, written", NAMES)
def test_names_that_tensorflow_does_not_take(given, written, tmp_path):
    report = rnn.export(_functional(_input(given)), tmp_path / "m", print_fn=None)
    assert list(_inputs_of(tmp_path / "m")) == [written]
    assert f"The input {given!r} is named {written!r} in the file." in report.note


def test_names_that_differ_in_case(tmp_path):
    """TensorFlow's functions do not distinguish them."""
    model = _functional([_input("x"), _input("X")])
    report = rnn.export(model, tmp_path / "m", print_fn=None)
    assert sorted(_inputs_of(tmp_path / "m")) == ["X_1", "x"]
    assert "The input 'X' is named 'X_1' in the file." in report.note


def test_a_dict_of_a_class_of_its_own_has_the_names_of_its_keys(tmp_path):
    model = _called(DictArgument(), {"frames": _batch(), "Others": _batch()})
    rnn.export(model, tmp_path / "m", print_fn=None)
    assert sorted(_inputs_of(tmp_path / "m")) == ["Others", "frames"]


class TwoArguments(OneArgument):
    def call(self, x, factor):
        return self.layer(x) * factor


def test_an_argument_that_keras_has_not_recorded(tmp_path):
    model = _called(TwoArguments(), _batch(), np.ones((2, 1), np.float32))
    with pytest.raises(
        ValueError, match="'factor'.*Give the specs of its arguments as input_signa"
    ):
        rnn.export(model, tmp_path / "m", print_fn=None)


SIZES = {
    "of an Input": (lambda: keras.Sequential([_input("x", batch_size=4), keras.layers.LSTM(4)]), 4),
    "of an Input without a name": (
        lambda: keras.Sequential([keras.Input((TIME, SIZE), batch_size=4), keras.layers.LSTM(4)]),
        4,
    ),
    "of a stateful layer": (
        lambda: _called(keras.Sequential([keras.layers.LSTM(4, stateful=True)]), _batch()),
        2,
    ),
    "of an Input with a type and a name": (
        lambda: keras.Sequential(
            [
                keras.Input(batch_shape=(4, TIME, SIZE), dtype="float32", name="x"),
                keras.layers.LSTM(4),
            ]
        ),
        4,
    ),
    "of a functional model": (lambda: _functional(_input("x", batch_size=4)), 4),
    "of the first batch": (
        lambda: _called(keras.Sequential([keras.layers.LSTM(4)]), _batch()),
        None,
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_batch_sizes(name, tmp_path):
    make, want = SIZES[name]
    model = make()
    report = rnn.export(model, tmp_path / "m", print_fn=None)
    assert list(_inputs_of(tmp_path / "m").values()) == [[want, TIME, SIZE]]
    opened = "The batch size 2 of the model is open; batch_size fixes it."
    assert (opened in report.note) is (want is None)


def test_given_sizes(tmp_path):
    x = keras.Input((None, SIZE), name="x")
    model = keras.Model(x, keras.layers.LSTM(4)(x))
    rnn.export(model, tmp_path / "m", batch_size=2, time=7, print_fn=None)
    assert _inputs_of(tmp_path / "m") == {"x": [2, 7, SIZE]}


def test_a_batch_in_the_structures_of_predict_on_batch(tmp_path):
    for k, structure in enumerate(([_input("a"), _input("b")], (_input("a"), _input("b")))):
        model = _functional(structure)
        for n, batch in enumerate(([_batch(), 2 * _batch()], (_batch(), 2 * _batch()))):
            rnn.export(model, tmp_path / f"m{k}{n}", verify_inputs=batch, print_fn=None)


def test_every_batch_of_predict_on_batch(tmp_path):
    """Keras takes dicts by the names of the inputs, and a list with a single input."""
    a, b = keras.Input((None, 3), name="a.1"), keras.Input((4,), name="b")
    two = {"a.1": np.ones((2, 5, 3), "float32"), "b": np.ones((2, 4), "float32")}
    gru = keras.layers.GRU(4)(a, initial_state=b)
    one = keras.Input((None, 3), name="x")
    row = np.ones((2, 5, 3), "float32")
    for k, (inputs, output, batches) in enumerate(
        (
            ([a, b], gru, (two, list(two.values()), tuple(two.values()))),
            ({"p": a, "q": b}, gru, (dict(zip("pq", two.values())),)),
            (one, keras.layers.GRU(2)(one), (row, [row], (row,), {"x": row})),
            ([one], keras.layers.GRU(2)(one), (row, [row], {"x": row})),
        )
    ):
        model = keras.Model(inputs, output)
        for n, batch in enumerate(batches):
            model.predict_on_batch(batch)
            path = tmp_path / f"{k}.{n}"
            assert rnn.export(model, path, verify_inputs=batch, print_fn=None).difference < 1e-6
    wrong = {"a.1": two["a.1"], "c": two["b"]}
    with pytest.raises(ValueError, match=r"verify_inputs .*'b'.*'c': 'array of shape \(2, 4\)'"):
        rnn.export(keras.Model([a, b], gru), tmp_path / "m", verify_inputs=wrong, print_fn=None)


def test_a_batch_of_several_calls(tmp_path):
    """A file of a known batch size is called with every row of the batch."""
    model = _functional(_input("x", batch_size=2))
    rows = np.random.default_rng(0).standard_normal((6, TIME, SIZE)).astype(np.float32)
    rnn.export(model, tmp_path / "m", verify_inputs=rows, print_fn=None)
    with pytest.raises(ValueError, match=r"has the shape \(2, 5, 3\), but.*\(5, 5, 3\)"):
        rnn.export(model, tmp_path / "n", verify_inputs=rows[:5], print_fn=None)


def _policy():
    """A model whose next state has the name of its state, and an output that is an input."""
    x, h = keras.Input((TIME, SIZE), name="x"), keras.Input((4,), name="h")
    y, new = keras.layers.GRU(4, return_sequences=True, return_state=True)(x, initial_state=h)
    return keras.Model({"x": x, "h": h}, {"policy": keras.layers.Dense(2)(y), "h": new, "x": x})


RENAMED = {"m": [], "m.tflite": [], "m.onnx": ["h", "x"], "m.xml": ["h", "x"]}


@pytest.mark.parametrize("file", RENAMED)
def test_an_output_with_the_name_of_an_input(file, tmp_path):
    report = rnn.export(_policy(), tmp_path / file, print_fn=None)
    for name in ("h", "x"):
        sentence = f"The output {name!r} is named '{name}_out' in the file"
        assert (sentence in report.note) is (name in RENAMED[file])
    call = formats.writer(report.format).load(str(tmp_path / file))
    given = {"x": np.ones((1, TIME, SIZE), np.float32), "h": np.ones((1, 4), np.float32)}
    renamed = [f"{name}_out" if name in RENAMED[file] else name for name in ("h", "x")]
    got = call(given)
    assert sorted(got) == sorted(["policy", *renamed])
    np.testing.assert_array_equal(got[renamed[1]], given["x"])


@pytest.mark.parametrize("file", all_but(RENAMED, "m", "m.onnx"))
def test_names_with_capitals(file, tmp_path):
    """TensorFlow writes the names of the placeholders of a signature in lower case."""
    inputs = [_input("Frames"), _input("B.in")]
    model = keras.Model(
        inputs, {"Out": _network(*inputs), "frames": keras.layers.GRU(2)(inputs[1])}
    )
    report = rnn.export(model, tmp_path / file, print_fn=None)
    call = formats.writer(report.format).load(str(tmp_path / file))
    given = [np.full((1, TIME, SIZE), value, np.float32) for value in (0.3, -0.8)]
    got = call(dict(zip(("Frames", "B_in"), given, strict=True)))
    for name, want in model(given).items():
        np.testing.assert_allclose(got[name], want, rtol=0, atol=1e-6)


@pytest.mark.parametrize("file", all_but(RENAMED, "m", "m.onnx"))
def test_outputs_that_are_inputs(file, tmp_path):
    a, b, n = _input("a"), _input("b"), keras.Input((), name="n", dtype="int32")
    model = keras.Model([a, b, n], [_network(a, b), b, n, a])
    rnn.export(model, tmp_path / file, print_fn=None)


@pytest.mark.parametrize("file", all_but(RENAMED, "m", "m.onnx"))
def test_nested_outputs(file, tmp_path):
    x = _input("x")
    cells = [keras.layers.LSTMCell(4), keras.layers.GRUCell(2)]
    y, *states = keras.layers.RNN(cells, return_state=True)(x)
    rnn.export(keras.Model(x, {"y": y, "s": states}), tmp_path / file, print_fn=None)


class NestedOutputs(OneArgument):
    def call(self, x):
        y = self.layer(x)
        return {"y": y, "s": [y + 1, y + 2]}


def test_nested_outputs_of_a_class_of_its_own(tmp_path):
    model = _called(NestedOutputs(), _batch())
    report = rnn.export(model, tmp_path / "m", print_fn=None)
    got = formats.writer("tf_saved_model").load(str(tmp_path / "m"))({"args_0": _batch()})
    assert sorted(got) == ["output_0", "output_1", "output_2"] and report.output in got


def test_names_of_outputs_stay_apart(tmp_path):
    a, b = keras.Input((3,), name="h"), keras.Input((3,), name="h_out")
    outputs = {"h": keras.layers.Dense(2)(a), "h_out": keras.layers.Dense(2)(b)}
    model = keras.Model([a, b], outputs)
    rnn.export(model, tmp_path / "m.onnx", print_fn=None)
    ones = np.ones((1, 3), np.float32)
    got = formats.writer("onnx").load(str(tmp_path / "m.onnx"))({"h": ones, "h_out": 2 * ones})
    assert sorted(got) == ["h_out_out", "h_out_out_out"]
    np.testing.assert_allclose(got["h_out_out"], model([ones, 2 * ones])["h"], atol=1e-6)


def test_many_outputs_that_are_inputs(tmp_path):
    """OpenVINO orders results by the names of nodes, Identity_10 before Identity_2."""
    i, j = _input("i"), _input("j")
    model = keras.Model([i, j], [i, j, _network(i, j), *[i] * 8, j])
    rnn.export(model, tmp_path / "m.xml", print_fn=None)
    given = {"i": _batch(), "j": 2 * _batch()}
    got = formats.writer("openvino").load(str(tmp_path / "m.xml"))(given)
    for k in (0, 1, 3, 10, 11):
        np.testing.assert_array_equal(got[f"output_{k}"], given["j" if k in (1, 11) else "i"])


def test_a_known_first_size_of_another_input(tmp_path):
    """LiteRT's batch size of 1 is for open sizes only."""
    x, table = _input("x"), keras.Input(batch_shape=(TIME, 4), name="table")
    y = keras.layers.LSTM(4, return_sequences=True)(x) + table
    rnn.export(keras.Model([x, table], y), tmp_path / "m.tflite", print_fn=None)
    rnn.export(keras.Model([x, table], y), tmp_path / "m", batch_size=2, print_fn=None)
    assert _inputs_of(tmp_path / "m") == {"x": [2, TIME, SIZE], "table": [TIME, 4]}


def test_another_batch_size_than_that_of_the_model(tmp_path):
    model = _functional([_input("a", batch_size=4), _input("b", batch_size=4)])
    rnn.export(model, tmp_path / "m", batch_size=np.int64(2), print_fn=None)
    assert set(map(tuple, _inputs_of(tmp_path / "m").values())) == {(2, TIME, SIZE)}


@pytest.mark.parametrize("content", [b"", b"PK", b"text", None])
def test_a_file_that_is_no_batch(content, tmp_path):
    path = tmp_path / "x.npz"
    if content is not None:
        path.write_bytes(content)
    fault = "does not exist" if content is None else "is not a file of np.savez"
    with pytest.raises(ValueError, match=f"x.npz {fault}"):
        rnn.export(_functional(_input("x")), tmp_path / "m", verify_inputs=path, print_fn=None)


def test_batches_of_a_wrong_kind(tmp_path):
    two = _functional([_input("a"), _input("b")])
    words = keras.Input((TIME,), dtype="int32", name="words")
    ids = keras.Model(words, keras.layers.LSTM(2)(keras.layers.Embedding(5, 3)(words)))
    for model, batch, text in (
        (two, 5, "array of shape"),
        (two, {"a": 5}, "'a': 'array of shape"),
        (ids, np.full((1, TIME), 1.5), "'words' has the type int32: it has other values as int32"),
    ):
        with pytest.raises(ValueError, match=text):
            rnn.export(model, tmp_path / "m", verify_inputs=batch, print_fn=None)


@pytest.mark.parametrize("wanted", ["x", "X", "a b", "1", "", "é"])
def test_free_names_are_new(wanted):
    taken = {"x", "a_b"}
    before = set(taken)
    found = signatures.free_name(wanted, taken)
    assert found.lower() not in before and found.lower() in taken
    assert found[:1].isalpha() and found.isascii() and found.replace("_", "a").isalnum()
