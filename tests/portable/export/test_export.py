"""tf_rnn_ops.keras.export without other packages: the report, SavedModels, made-up batches, bad input."""

import importlib.util
import os
import pathlib
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras as rnn
from support.models import drawn
from tf_rnn_ops._comparison import random_batch
from tf_rnn_ops._formats import formats, saved_model
from tf_rnn_ops._formats.exported_layer import ExportedLayer
from tf_rnn_ops._python import atomic_write
from tf_rnn_ops.keras._export import export as tool
from tf_rnn_ops.keras._export import signatures
from tf_rnn_ops.keras._export.check import verification


@pytest.fixture(scope="module")
def model():
    words = keras.Input((None,), dtype="int32", name="Words.of")
    x = keras.layers.Embedding(9, 3, mask_zero=True)(words)
    x = keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True), name="both")(x)
    x = rnn.GRU(4, activation="elu", name="loop")(x)
    return drawn(keras.Model(words, {"y": keras.layers.Dense(2)(x)}))


def _quiet(model, path, *arguments, **options):
    return rnn.export(model, path, *arguments, print_fn=None, **options)


def test_report(model, tmp_path):
    printed = []
    report = rnn.export(model, tmp_path / "new" / "model", print_fn=printed.append)
    assert printed == [report.table()] and report.printed
    assert repr(report) == str(report) == f"<{tmp_path}/new/model: recurrent layers: 3, loops: 1>"
    assert [node.target_op for node in report.layers] == [
        "LayerRNNPacked",
        "LayerRNNPacked",
        "loop",
    ]
    assert [node.name for node in report.layers] == [
        row.layer for row in rnn.explain(model, print_fn=None)
    ]
    assert "activation=elu" in report.layers[2].reason and "[3, 7]" in report.inputs
    assert report.difference <= report.tolerance < 1e-3 and report.largest > 0.1
    assert report.file_ms > 0 and report.model_ms > 0
    files = [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert report.size == sum(path.stat().st_size for path in files)
    for part in ("activation=elu", "Largest difference", "[3, 7]", f"{report.size:,} bytes"):
        assert part in printed[0]
    assert "<table>" in tool.Exported("f", "onnx", list(report.layers), 1)._repr_html_()


def test_the_saved_model_is_the_model(model, tmp_path):
    _quiet(model, tmp_path / "m", verify=False)
    words = np.array([[3, 1, 0, 0], [5, 2, 8, 1], [0, 0, 0, 0]], np.int32)
    (got,) = saved_model.load(tmp_path / "m")({"Words_of": words}).values()
    np.testing.assert_allclose(got, model(words)["y"], atol=1e-6)
    assert saved_model.recurrent_nodes(tmp_path / "m")[0][1] == "LayerRNNPacked"


def test_not_verified(model, tmp_path):
    report = _quiet(model, tmp_path / "m", verify=False)
    assert report.difference is None and str(report).endswith("The file was not run.")


def test_inputs_and_outputs_of_several_names(tmp_path):
    a, b = keras.Input((None, 3), name="a"), keras.Input((4,), name="b")
    y = keras.layers.LSTM(4, return_state=True)(a, initial_state=[b, b])
    model = keras.Model({"a": a, "b": b}, y)
    _quiet(model, tmp_path / "m")
    given = {"a": np.ones((2, 5, 3), np.float32), "b": np.ones((2, 4), np.float32)}
    _quiet(model, tmp_path / "given", verify_inputs=given)
    got = saved_model.load(tmp_path / "m")(given)
    assert sorted(got) == ["output_0", "output_1", "output_2"]
    for k, want in enumerate(model(given)):
        np.testing.assert_allclose(got[f"output_{k}"], want, atol=1e-6)


class Own(keras.Model):
    """A model that from_config cannot create."""

    def __init__(self, units, layer):
        super().__init__()
        self.inner, self.dense = layer(units), keras.layers.Dense(2)

    def call(self, x, training=None):
        return self.dense(self.inner(x))


def test_models_of_a_class_of_their_own(tmp_path):
    """Such a model cannot be copied: Keras's layers run our ops while it is traced."""
    model = Own(4, keras.layers.GRU)
    with pytest.raises(ValueError, match="must be built"):
        _quiet(model, tmp_path / "m")
    model(np.ones((1, 2, 3), "float32"))
    for name, signature in (
        ("a", None),
        ("b", [keras.InputSpec(shape=(None, None, 3), dtype="float32")]),
    ):
        report = _quiet(model, tmp_path / name, input_signature=signature)
        assert [node.target_op for node in report.layers] == ["LayerRNNPacked"]
    assert type(model.inner) is keras.layers.GRU


def test_states_of_the_model_stay(tmp_path):
    x = keras.Input(batch_shape=(2, 3, 3))
    layer = keras.layers.LSTM(4, stateful=True)
    model = keras.Model(x, layer(x))
    before = [np.full((2, 4), 0.3, np.float32), np.full((2, 4), -0.2, np.float32)]
    layer.reset_state()
    for state, value in zip(layer.states, before):
        state.assign(value)
    _quiet(model, tmp_path / "m")
    for state, value in zip(layer.states, before):
        np.testing.assert_array_equal(state, value)


class Nested(keras.Model):
    """A model of a class of its own, whose layers TensorFlow gives other scopes."""

    def __init__(self):
        super().__init__(name="nested")
        self.first = keras.layers.GRU(3, return_sequences=True, name="gru_1")
        self.both = keras.layers.Bidirectional(
            keras.layers.LSTM(3, return_sequences=True, name="lstm_1_1", dropout=0.5), name="both_2"
        )
        self.inner = keras.Sequential([keras.layers.LSTM(3, name="lstm_1")], name="inner_1")

    def call(self, x):
        return self.inner(self.both(self.first(x)))


@pytest.mark.parametrize("name", ["m", "m.onnx"])
def test_layers_have_the_names_of_explain(name, tmp_path):
    own = Nested()
    own(np.ones((1, 5, 3), "float32"))
    x = keras.Input((5, 3))
    lstm = keras.layers.LSTM(3, return_sequences=True, name="lstm_1_1")
    y = Nested().both(keras.layers.Masking()(lstm(x)))
    functional = keras.Model(x, rnn.CudnnLSTM(2, num_layers=2, name="stack_1")(y))
    x = keras.Input((None, 3))
    stream = keras.Sequential([x, keras.layers.GRU(3, name="gru_1_1")])
    for k, model in enumerate((own, functional, stream)):
        streaming = model is stream
        report = _quiet(model, tmp_path / str(k) / name, streaming=streaming, verify=False)
        want = [row.layer for row in rnn.explain(model, print_fn=None)]
        assert [layer.name for layer in report.layers] == want


def test_slow_models_are_timed_in_few_calls(model, tmp_path, monkeypatch):
    turns = []
    original = verification.take_turns

    def take_turns(calls, repeats, warm_up):
        turns.append(repeats)
        return original(calls, 1, warm_up=0)

    monkeypatch.setattr(verification, "take_turns", take_turns)
    _quiet(model, tmp_path / "a")
    monkeypatch.setattr(verification, "_SECONDS", 1e-6)
    _quiet(model, tmp_path / "b")
    assert turns[0] > turns[1] == 1


# ---- batches that are made up ----


def test_made_up_batches():
    words = keras.Input((None,), dtype="int32", name="words")
    x = keras.Input((None, 2), name="x")
    lengths = keras.Input((), dtype="int64", name="lengths")
    mask = keras.Input((None,), dtype="bool", name="mask")
    y = keras.layers.Embedding(3, 2, mask_zero=True)(words) + keras.layers.Masking(-1.0)(x)
    y = rnn.CudnnLSTM(2)(y, sequence_lengths=lengths), keras.layers.LSTM(2)(x, mask=mask)
    model = keras.Model([words, x, lengths, mask], y)
    ((drawn, floats, steps, valid),) = random_batch.batch_for(model, signatures.of(model, None))
    right = np.arange(drawn.shape[1]) < np.sum(drawn > 0, 1, keepdims=True)
    assert drawn.dtype == np.int32 and drawn.max() == 2
    for rows in (drawn > 0, ~np.all(floats == -1, 2), valid):
        np.testing.assert_array_equal(rows, right)
    assert len(set(right.sum(1))) == len(right) and right.any(1).all()
    assert steps.dtype == np.int64 and np.all((steps >= 1) & (steps <= drawn.shape[1]))


def test_made_up_words_besides_an_input_of_integers():
    words, x = keras.Input((None,)), keras.Input((None, 2), dtype="int32")
    y = keras.layers.Embedding(3, 2)(words) + keras.layers.Rescaling(0.5)(x)
    model = keras.Model([words, x], keras.layers.LSTM(2)(y))
    ((drawn, _),) = random_batch.batch_for(model, signatures.of(model, None))
    assert drawn.dtype == np.float32 and set(np.unique(drawn)) == {0, 1, 2}


def test_made_up_sizes_and_types():
    specs = [
        tf.TensorSpec([2, None, 3], tf.float16, "a"),
        tf.TensorSpec([None, 4, 5, 6], tf.bfloat16, "b"),
        tf.TensorSpec([None, 1], tf.string, "c"),
        tf.TensorSpec([None], tf.float32, "d"),
        tf.TensorSpec([], tf.float32, "e"),
        tf.TensorSpec([None, 2, 3], tf.int32, "f"),
        tf.TensorSpec([None, 2, 3], tf.bool, "g"),
    ]
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    arrays = random_batch.batch_for(model, specs)
    for spec, array in zip(specs, arrays):
        assert spec.shape.is_compatible_with(array.shape)
        assert tf.as_dtype(array.dtype) == spec.dtype or spec.dtype == tf.string
    assert np.all(arrays[3] == np.floor(arrays[3])) and arrays[3].min() == 1  # may be lengths


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(None, None), (None, 3, 4)])
def test_made_up_values_differ(dtype, shape):
    """A file that reverses or permutes an input has another result."""
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    spec = tf.TensorSpec(shape, dtype)
    (array,) = random_batch.batch_for(model, [spec])
    assert not np.array_equal(array[0], array[0, ::-1]) or (dtype, len(shape)) == ("bool", 2)
    if shape == (None, None) and dtype != "complex64":  # so that it may be a mask
        np.testing.assert_array_equal(array != 0, np.sort(array != 0, 1)[:, ::-1])
    if (dtype, len(shape)) == ("uint8", 3):
        (array,) = random_batch.batch_for(model, [spec], batch_size=30)
        assert array.max() > 200  # also what a file with int8 for uint8 would change


def _of_words(layer, dtype, *more):
    model = keras.Sequential([keras.Input((None,), dtype=dtype), layer, *more])
    (words,) = random_batch.batch_for(model, signatures.of(model, None))
    return np.unique(words[0])


def test_made_up_words_are_known():
    layers = keras.layers
    lookup = layers.IntegerLookup(vocabulary=[10, 20, 30])
    assert set(_of_words(lookup, "int64", layers.Embedding(4, 2))) == {10, 20, 30}
    assert set(_of_words(layers.StringLookup(vocabulary=["x", "y"]), "string")) == {"x", "y"}
    for zero in (True, False):
        found = _of_words(layers.Embedding(5, 2, mask_zero=zero), "int32")
        assert found.max() < 5 and found.size > 3 and (found.min() > 0 or not zero)
    assert set(_of_words(layers.Embedding(1, 2), "int32")) == {0}
    assert _of_words(layers.Embedding(300, 2), "uint8").size > 3  # an input has fewer values
    texts = _of_words(layers.TextVectorization(vocabulary=[f"w{k}" for k in range(5000)]), "string")
    assert len(texts) > 3 and texts[0].startswith("w")
    assert _of_words(layers.CategoryEncoding(2, output_mode="multi_hot"), "int32").max() < 2


def test_a_model_of_strings(tmp_path):
    """Strings without words would be a batch without time steps."""
    layers = keras.layers
    words = layers.TextVectorization(vocabulary=["a", "b"])
    model = keras.Sequential(
        [keras.Input((1,), dtype="string"), words, layers.Embedding(4, 2, mask_zero=True)]
    )
    model.add(layers.LSTM(2))
    assert _quiet(model, tmp_path / "m").difference < 1e-6


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_an_input_in_the_wrong_order_is_found_out(dtype, tmp_path, broken):
    x = keras.Input((None, 3), dtype=dtype)
    scaled = keras.layers.Rescaling(1 / 255)(x)
    model = drawn(keras.Model(x, keras.layers.GRU(4)(scaled)))

    def load(path):
        call = saved_model.load(path)
        return lambda feed: call({name: array[..., ::-1] for name, array in feed.items()})

    broken(load=load)
    _refused(model, tmp_path / "m", "have different results")


# ---- bad input ----


def _refused(model, path, what, *arguments, error=ValueError, **options):
    with pytest.raises(error, match=what) as caught:
        _quiet(model, path, *arguments, **options)
    assert len(str(caught.value).splitlines()) == 1, caught.value
    return caught


def test_bad_input(model, tmp_path):
    path = tmp_path / "new" / "m"
    _refused("a model", path, "model must be a Keras 3 model", error=TypeError)
    _refused(keras.Sequential([keras.layers.LSTM(2)]), path, "must be built")
    _refused(model, path, r"format must be one of \['tf_saved_model'.*'pickle'", "pickle")
    _refused(model, path, "weight_format must be None", weight_format="int8")
    _refused(model, path, "input_signature must be a list", input_signature="words")
    _refused(model, path, "specs with shape and dtype.*words", input_signature=["words"])
    wrong = [tf.TensorSpec([None, None, 3], tf.float32)] * 2
    _refused(
        model, path, "cannot be called with the inputs.*as input_signature", input_signature=wrong
    )
    rank = [tf.TensorSpec([None], tf.int32)]
    _refused(model, path, "with the inputs.*[Ii]nput shape", input_signature=rank)
    _refused(model, path, "structure", verify_inputs=[np.ones((2, 3), "int32")] * 2)
    batch = np.ones((2, 3), "int32")
    _refused(model, path, "verify must be True or False", verify=batch, error=TypeError)
    _refused(model, path, "no effect with verify=False", verify=False, verify_inputs=batch)
    _refused(
        model, path, r"shape \(None, None\).*\(2, 3, 4\)", verify_inputs=np.ones((2, 3, 4), "int32")
    )
    text = np.array([["a"]])
    _refused(
        model,
        path,
        "verify_inputs must fit the signature.*'Words_of' has the type",
        verify_inputs=text,
    )
    empty = np.ones((0, 3), "int32")
    _refused(model, path, r"verify_inputs must not be empty.*\(0, 3\)", verify_inputs=empty)
    _refused(model, path, "'loop' becomes a loop, because activation=elu", loops=False)
    _refused(model, path, r"format must be one of.*\['onnx'\]", ["onnx"])
    for name in ("batch_size", "time"):
        for value in (0, -1, 1.5, "1"):
            _refused(model, path, f"{name} must be a positive integer or None", **{name: value})
    _refused(
        model, path, "tolerance must be a number from 0 on or None, but it is -1", tolerance=-1
    )
    _refused(model, path, "opset is for the format 'onnx', but it is 18", opset=18)
    _refused(model, f"{path}.onnx", "opset must be 15 to 18 or None, but it is 9", opset=9)
    for name in ("m.onnx", "m.tflite", "m.xml"):
        _refused(model, tmp_path / name, "The end of 'm.* is that of the format", "tf_saved_model")
    with pytest.raises(TypeError, match="print_fn must be a function or None, but it is 'no'"):
        rnn.export(model, path, print_fn="no")
    assert not list(path.parent.iterdir())


def test_the_reason_of_a_model_that_cannot_be_traced(tmp_path):
    """Keras writes lines of code before it."""
    layer = keras.layers.LSTM(2, unroll=True, return_sequences=True)
    model = keras.Sequential([keras.Input((None, 3)), layer])
    _refused(model, tmp_path / "m", "Cannot unroll", streaming=True)


def test_a_batch_that_the_model_cannot_run(tmp_path):
    x = keras.Input((None, 2))
    lengths = keras.Input((), dtype="int32")
    model = keras.Model([x, lengths], rnn.CudnnLSTM(2)(x, sequence_lengths=lengths))
    batch = [np.ones((2, 3, 2), np.float32), np.array([9, 9])]
    _refused(
        model,
        tmp_path / "m",
        r"does not run on inputs of the shapes \[2, 3, 2\], \[2\].*batch as verify_inputs",
        verify_inputs=batch,
    )
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_saved_is_not_a_wrong_signature(tmp_path, monkeypatch):
    values = tf.lookup.KeyValueTensorInitializer(tf.constant([1], tf.int64), [2.0])
    table = tf.lookup.StaticHashTable(values, 0.0)
    layer = keras.layers.Lambda(lambda x: table.lookup(x), output_shape=(3,))
    untracked = keras.Sequential([keras.Input((3,), dtype="int64"), layer])
    found = _refused(untracked, tmp_path / "m", "cannot be saved: .*untracked", batch_size=1)
    assert "input_signature" not in str(found.value)
    for error in (OSError("No space left"), tf.errors.ResourceExhaustedError(None, None, "full")):

        def fails(*args, error=error, **options):
            raise error

        monkeypatch.setattr(tf.saved_model, "save", fails)
        model = keras.Sequential([keras.Input((3, 2)), keras.layers.LSTM(2)])
        _refused(model, tmp_path / "m", "cannot be written: (No space left|full)", error=OSError)
    assert not list(tmp_path.iterdir())


def test_paths(model, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("as it was")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    replaced = "exists: give a new path, or overwrite=True.$"
    _refused(model, tmp_path / "there", replaced, error=FileExistsError)
    for name in ("file", "link"):  # which overwrite=True would not replace by a folder
        _refused(model, tmp_path / name, "exists: give a new path.$", error=FileExistsError)
    for name in ("", ".", "..", "/"):
        for overwrite in (False, True):
            _refused(model, name, "filepath must end in the name .* '[./]+'.$", overwrite=overwrite)
    _refused(model, tmp_path / "file" / "m", "cannot be written: Not a directory", error=OSError)
    _refused(model, f"{tmp_path}/a\0b", "cannot be written: embedded null byte")
    _refused(model, None, "filepath must be a path, but it is None", error=TypeError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "there"]
    assert (tmp_path / "file").read_text() == "as it was"


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("m", "folder"),
        ("m", "SavedModel"),
        ("m", "link"),
        ("m.rnn", "file"),
        ("m.rnn", "link"),
        ("m.rnn", "link to a file"),
        ("m.rnn", "link to nothing"),
    ],
)
def test_overwrite(name, there, tmp_path):
    """It is replaced when the new one has been checked, and stays otherwise. The target of a link stays."""
    model = keras.Sequential([keras.Input((None, 3)), rnn.GRU(2)])
    path, elsewhere = tmp_path / name, tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "file").write_text("as it was")
    if there == "link to a file":
        path.symlink_to(tmp_path / "file")
    elif "link" in there:
        path.symlink_to(elsewhere if there == "link" else tmp_path / "nothing")
    elif there == "file":
        path.write_text("as it was")
    else:
        path.mkdir()
    if there == "SavedModel":
        (path / "saved_model.pb").write_text("as it was")
        (path / "more").write_text("as it was")
    streaming = name == "m.rnn"
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="verify_inputs must fit"):
        _quiet(model, path, overwrite=True, streaming=streaming, verify_inputs=np.ones((2, 4, 9)))
    assert sorted(tmp_path.rglob("*")) == before and path.is_symlink() == ("link" in there)
    report = _quiet(model, path, overwrite=True, streaming=streaming)
    assert report.difference < 1e-6 and not path.is_symlink() and path.is_file() == streaming
    assert sorted(one.name for one in tmp_path.iterdir()) == ["elsewhere", "file", name]
    assert not list(elsewhere.iterdir()) and not (path / "more").exists()
    assert (tmp_path / "file").read_text() == "as it was"
    with pytest.raises(TypeError, match="overwrite must be True or False, but it is a str"):
        _quiet(model, path, overwrite="yes")


@pytest.mark.parametrize(
    ("name", "there", "what"),
    [
        ("m", "folder", "a folder with other content"),
        ("m", "link", "a folder with other content"),
        ("m", "file", "a file"),
        ("m", "link to nothing", "a link to nothing"),
        ("m.rnn", "folder", "a folder"),
        ("m.rnn", "pipe", "a device or the like"),
    ],
)
def test_overwrite_replaces_nothing_else(model, name, there, what, tmp_path, monkeypatch):
    """It is an error before the work, and nothing changes."""
    path, data = tmp_path / name, tmp_path / "data"
    if there == "folder":
        data = path
    data.mkdir()
    (data / "keep.csv").write_text("as it was")
    if "link" in there:
        path.symlink_to(data if there == "link" else tmp_path / "nothing")
    elif there == "pipe":
        os.mkfifo(path)
    elif there == "file":
        path.write_text("as it was")
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(tool, "Job", None)  # a call of it would be another error
    wanted = "be a file" if name == "m.rnn" else "be the folder of a SavedModel or an empty folder"
    message = f"/{name} must {wanted} to be replaced, but it is {what}: give a new path.$"
    _refused(model, path, message, error=FileExistsError, overwrite=True)
    _refused(model, path, "exists: give a new path.$", error=FileExistsError)
    assert sorted(tmp_path.rglob("*")) == before


def test_overwrite_keeps_what_it_cannot_replace(tmp_path, monkeypatch):
    def fails(*args):
        raise OSError

    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "saved_model.pb").write_text("as it was")
    monkeypatch.setattr(pathlib.Path, "replace", fails)
    with (
        pytest.raises(OSError),
        atomic_write.atomic_write(tmp_path / "m", True, True) as unfinished,
    ):
        unfinished.mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m" / "saved_model.pb").read_text() == "as it was"


def test_the_format_follows_from_the_end_of_the_path():
    for name, want in (
        ("m", "tf_saved_model"),
        ("m.1", "tf_saved_model"),
        ("m.v2", "tf_saved_model"),
        ("a.keras/m-1.0rc1", "tf_saved_model"),
        ("m.onnx", "onnx"),
        ("m.ONNX", "onnx"),
        ("m.tflite", "litert"),
        ("m.TFLite", "litert"),
        ("a.onnx/m.xml", "openvino"),
    ):
        assert formats.of(pathlib.Path(name), None) == want
        assert formats.of(pathlib.Path(name), want) == want
    for end in (".keras", ".h5", ".hdf5", ".pb", ".tflit", ".pt", ".SavedModel"):
        with pytest.raises(ValueError, match=f"filepath must end in .onnx.*ends in '{end}'"):
            formats.of(pathlib.Path(f"m{end}"), None)
        assert formats.of(pathlib.Path(f"m{end}"), "tf_saved_model") == "tf_saved_model"
    for name, format in (("m.XML", None), ("m", "openvino"), ("m.bin", "openvino")):
        with pytest.raises(ValueError, match=f"filepath must end in .xml .* '{name}'"):
            formats.of(pathlib.Path(name), format)


@pytest.mark.parametrize("name", ["m.ONNX", "m.TFLITE"])
def test_capitals_in_the_end_of_the_path(name, tmp_path):
    model = keras.Sequential([keras.Input((3, 2), batch_size=1), keras.layers.LSTM(2)])
    report = _quiet(model, tmp_path / name)
    assert (tmp_path / name).is_file() and report.difference < 1e-6


def test_what_a_format_lacks_is_found_before_the_work(model, tmp_path, monkeypatch):
    def fails(*args, **options):
        raise AssertionError

    monkeypatch.setattr(formats, "writer", fails)
    for name in ("m", "m.xml"):
        _refused(
            model, tmp_path / name, "weight_format must be None .*'int8'", weight_format="int8"
        )
    _refused(
        model,
        tmp_path / "m.onnx",
        "weight_format must be None or 'int8'.*'int4'",
        weight_format="int4",
    )


def test_the_home_folder(model, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    report = _quiet(model, "~/m", verify=False)
    assert report.path == str(tmp_path / "m") and (tmp_path / "m" / "saved_model.pb").exists()


def test_ctrl_c_in_the_middle_leaves_no_file(tmp_path):
    with pytest.raises(KeyboardInterrupt), atomic_write.atomic_write(tmp_path / "m") as unfinished:
        unfinished.write_text("half")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


@pytest.fixture
def broken(monkeypatch):
    """A format whose writer is that of SavedModels with other functions."""

    def make(**functions):
        module = type(saved_model)("broken")
        for name in ("write", "load"):
            setattr(module, name, functions.get(name, getattr(saved_model, name)))
        monkeypatch.setattr(formats, "writer", lambda name: module)

    return make


def test_a_writer_that_fails_leaves_nothing(model, tmp_path, broken):
    def write(source, target, **options):
        pathlib.Path(target).mkdir(exist_ok=True)
        (pathlib.Path(target).parent / "more.bin").write_bytes(b"half")
        raise ValueError("It does not work.")

    broken(write=write)
    _refused(model, tmp_path / "new" / "m", "It does not work.")
    assert not list((tmp_path / "new").iterdir())


def test_other_results_are_refused(model, tmp_path, broken):
    def load(path):
        call = saved_model.load(path)
        return lambda inputs: {n: a + 1e-2 for n, a in call(inputs).items()}

    broken(load=load)
    _refused(
        model, tmp_path / "m", r"have different results: .*'y' differs by 1\.\d*e-02.*call 1 of"
    )
    assert not list(tmp_path.iterdir())
    broken(load=lambda path: lambda inputs: {})
    _refused(model, tmp_path / "m", "there is no output 'y', but none")
    broken(load=lambda path: lambda inputs: {"y": np.zeros((2, 3))})
    found = _refused(
        model,
        tmp_path / "m",
        r"'y' has the shape \(2, 3\) instead of \(3, 2\)",
    )
    assert "tolerance" not in str(found.value)  # no tolerance fixes a shape


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_each_call_of_a_file_is_compared(wrong, model, tmp_path, broken):
    """Runtimes have given wrong results at the first call, at other sizes, and at later calls."""
    calls = []

    def load(path):
        call = saved_model.load(path)

        def counted(inputs):
            calls.append({name: array.shape for name, array in inputs.items()})
            off = 1e-2 if len(calls) == wrong + 1 else 0.0
            return {name: array + off for name, array in call(inputs).items()}

        return counted

    broken(load=load)
    _refused(model, tmp_path / "m", f"differs by .*call {wrong + 1} of the file")
    assert [shapes["Words_of"] for shapes in calls] == [(3, 7), (1, 4), (3, 7)][: wrong + 1]


def test_a_tolerance_that_is_given(model, tmp_path, broken):
    def load(path):
        call = saved_model.load(path)
        return lambda inputs: {n: a + 1e-2 for n, a in call(inputs).items()}

    broken(load=load)
    report = _quiet(model, tmp_path / "m", tolerance=0.02)
    assert report.tolerance == 0.02 and 0.009 < report.difference < 0.011 and report.output == "y"
    told = "The tolerance is larger than all numbers of 'y': give a smaller one."
    assert told not in report.note
    assert told in _quiet(model, tmp_path / "n", tolerance=1e6).note


class InGraphsOnly(keras.layers.Layer):
    def call(self, x):
        if tf.executing_eagerly():
            raise RuntimeError("not eagerly")
        return x


def test_other_results_of_a_model_that_does_not_run_eagerly(tmp_path, broken):
    def load(path):
        call = saved_model.load(path)
        return lambda inputs: {n: a + 1e-2 for n, a in call(inputs).items()}

    x = keras.Input((4, 3))
    model = keras.Model(x, keras.layers.GRU(2)(InGraphsOnly()(x)))
    broken(load=load)
    _refused(model, tmp_path / "m", "have different results: .*'output_0' differs by")


def test_what_a_writer_puts_beside_the_file_moves_with_it(model, tmp_path, broken):
    def write(source, target, **options):
        shutil.copytree(source, target)
        pathlib.Path(target).with_suffix(".bin").write_bytes(b"1234")
        return [ExportedLayer("a", "LSTM", "LSTM")]

    broken(write=write)
    (tmp_path / "m.bin").write_text("as it was")
    _refused(model, tmp_path / "m.xml", "m.bin exists: give a new path, or", error=FileExistsError)
    assert [path.name for path in tmp_path.iterdir()] == ["m.bin"]
    (tmp_path / "m.bin").unlink()
    (tmp_path / "m.bin").mkdir()
    kept = "m.bin must be a file to be replaced, but it is a folder"
    _refused(model, tmp_path / "m.xml", kept, error=FileExistsError, overwrite=True)
    (tmp_path / "m.bin").rmdir()
    report = _quiet(model, tmp_path / "m.xml", "openvino")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.bin", "m.xml"]
    assert report.layers[0] == ExportedLayer("a", "LSTM", "LSTM", "")


def test_absent_packages(model, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = r"needs the package tf2onnx: pip install 'tf_rnn_ops\[onnx\]'$"
    _refused(model, tmp_path / "m.onnx", message, "onnx", error=ImportError)
    assert formats.why_not_run("onnx").endswith(": pip install 'tf_rnn_ops[onnx]'")
    assert formats.why_not_run("tf_saved_model") == ""


def test_a_file_that_cannot_be_run_here(model, tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "why_not_run", lambda name: "The file was not run, because.")
    report = _quiet(model, tmp_path / "m")
    assert report.difference is None
    assert (
        report.note
        == "The input 'Words.of' is named 'Words_of' in the file. The file was not run, because."
    )
