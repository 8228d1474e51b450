"""`python -m tf_rnn_ops export`."""

import importlib
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras as rnn
from support.models import drawn
from tf_rnn_ops._commands import compare, portable
from tf_rnn_ops._commands.export import main
from tf_rnn_ops._formats import formats


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A Keras model in a file, and the SavedModel of it."""
    folder = tmp_path_factory.mktemp("models")
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4, name="one")])
    drawn(model).save(folder / "m.keras")
    assert main([str(folder / "m.keras"), str(folder / "saved"), "--no-verify"]) == 0
    return folder


def test_a_keras_model(folder, tmp_path, capsys):
    assert main([str(folder / "m.keras"), str(tmp_path / "m")]) == 0
    out = capsys.readouterr().out
    assert "one" in out and "LayerRNNPacked" in out and "Largest difference" in out
    assert (tmp_path / "m" / "saved_model.pb").exists()


def test_bad_input_is_one_line(folder, tmp_path, capsys):
    saved, target = str(folder / "saved"), str(tmp_path / "m")
    for arguments, text in (
        (["nowhere.keras", target], "nowhere.keras does not exist"),
        ([str(folder / "m.keras"), saved], "exists: give a new path"),
        ([saved, str(folder / "m.keras"), "--format", "onnx"], "exists: give a new path"),
        ([saved, target], "is a SavedModel already"),
        ([saved, f"{target}.xml", "--weight-format", "int8"], "weight_format must be None"),
        ([saved, f"{target}.h5"], "filepath must end in .onnx"),
        ([str(folder / "m.keras"), target, "--signature", "x"], "--signature is for a SavedModel"),
        ([str(tmp_path), target], "not a SavedModel"),
        ([saved, f"{target}.onnx", "--time", "0"], "--time is for a .keras file"),
        ([saved, f"{target}.onnx", "--tolerance", "0"], "--tolerance is for a .keras file"),
    ):
        assert main(arguments) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert text in line, line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("part", ["text", "config.json", "model.weights.h5", "half"])
@pytest.mark.parametrize("command", [main, compare.main])
def test_a_damaged_file_is_one_line(command, part, folder, tmp_path, capsys):
    content = bytearray((folder / "m.keras").read_bytes())
    if part == "half":
        del content[len(content) // 2 :]
    elif part == "text":
        content = b"This is not a model."
    else:
        where = content.index(part.encode()) + len(part)
        content[where : where + 20] = bytes(20)
    (tmp_path / "m.keras").write_bytes(content)
    arguments = [str(tmp_path / "m.keras"), *([str(tmp_path / "m")] if command is main else [])]
    assert command(arguments) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert "m.keras cannot be read: " in line and not (tmp_path / "m").exists()


# Errors as Keras, TensorFlow and this package raise them, and what a user needs of them.
_LAYER = "Exception encountered when calling Reshape.call().\n\n\x1b[1mThe size must be 4\x1b[0m\n\nArguments: 1"
_GRAPH = "Graph execution error:\n\nDetected at node x defined at (most recent call last):\nThe op fails\n\t [[x]]"
ERRORS = [
    (RuntimeError("Keras has no such name."), "Keras has no such name."),
    (ValueError(_LAYER), "The size must be 4."),
    (tf.errors.InvalidArgumentError(None, None, _GRAPH), "The op fails."),
]


@pytest.mark.parametrize(("error", "text"), ERRORS)
def test_errors_are_one_line(error, text, folder, tmp_path, capsys, monkeypatch):
    def fails(*args, **options):
        raise error

    monkeypatch.setattr(rnn, "export", fails)
    monkeypatch.setattr(rnn, "compare", fails)
    file = str(folder / "m.keras")
    for command, arguments in ((main, [file, str(tmp_path / "m")]), (compare.main, [file])):
        assert command(arguments) == 2
        line = capsys.readouterr().err.splitlines()[-1]
        assert line.endswith(f": {text}") and "\x1b" not in line
        assert command([*arguments, "--traceback"]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert lines[-1] == line and any("in fails" in one for one in lines)


CLASS_OF_A_USER = """
import keras

@keras.saving.register_keras_serializable("user")
class Twice(keras.layers.Layer):
    def call(self, x):
        return 2 * x
"""


def test_a_class_of_a_user_is_imported(tmp_path, capsys, monkeypatch):
    (tmp_path / "layers_of_a_user.py").write_text(CLASS_OF_A_USER)
    monkeypatch.syspath_prepend(tmp_path)

    def forget():
        sys.modules.pop("layers_of_a_user", None)
        keras.saving.get_custom_objects().pop("user>Twice", None)

    inner = [keras.Input((5, 3)), importlib.import_module("layers_of_a_user").Twice()]
    file, target = str(tmp_path / "m.keras"), str(tmp_path / "m")
    keras.Sequential([keras.Sequential(inner), keras.layers.LSTM(4)]).save(file)
    for command, arguments in (
        (main, [file, target, "--no-verify"]),
        (compare.main, [file, "--repeats", "1"]),
    ):
        forget()
        assert command(arguments) == 2
        line = capsys.readouterr().err.splitlines()[-1]
        assert "Could not locate class 'Twice'" in line and "--import" in line
        assert "could not be deserialized" not in line and "config" not in line
        assert command([*arguments, "--import", "layers_of_a_user"]) == 0
    forget()


@pytest.mark.parametrize("command", [main, compare.main, portable.main])
def test_a_module_that_cannot_be_imported(command, folder, tmp_path, capsys):
    targets = [] if command is compare.main else [str(tmp_path / "m")]
    assert command([str(folder / "m.keras"), *targets, "--import", "no.such.module"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--import" in line and "'no.such.module'" in line


@pytest.mark.parametrize("end", [".onnx", ".tflite", ".xml"])
def test_outputs_with_the_names_of_inputs(end, tmp_path, capsys):
    """As of a server that passes its states from call to call."""
    layer = rnn.LSTM(3, return_sequences=True, return_state=True)
    specs = [tf.TensorSpec(s) for s in ((1, 4, 2), (1, 3), (1, 3))]

    @tf.function(input_signature=specs)
    def serve(chunk, h, c):
        y, new_h, new_c = layer(chunk, initial_state=[h, c])
        return {"scores": y, "h": new_h, "c": new_c, "c_out": new_h}

    given = {
        name: np.random.default_rng(k).standard_normal(spec.shape).astype("float32")
        for k, (name, spec) in enumerate(zip(("chunk", "h", "c"), specs))
    }
    want = serve(**{name: tf.constant(one) for name, one in given.items()})
    module = tf.Module()
    module.layer, module.serve = layer, serve
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=serve)
    path = tmp_path / f"m{end}"
    assert main([str(tmp_path / "saved"), str(path)]) == 0
    renamed = {} if end == ".tflite" else {"h": "h_out", "c": "c_out_out"}
    out = capsys.readouterr().out
    for name, new in renamed.items():
        assert f"The output {name!r} is named {new!r}" in out
    got = formats.writer(formats.of(path, None)).load(str(path))(given)
    assert got.keys() == {renamed.get(name, name) for name in want}
    for name, one in want.items():
        np.testing.assert_allclose(got[renamed.get(name, name)], one, rtol=0, atol=1e-6)


def test_options_of_a_keras_model(folder, tmp_path, capsys):
    arguments = [str(folder / "m.keras"), str(tmp_path / "m"), "--batch-size", "2", "--time", "3"]
    rows = np.ones((2, 3, 3), np.float32)
    name = _inputs_of(folder / "saved")[0]
    np.savez(tmp_path / "x.npz", **{name: rows})
    assert main([*arguments, "--streaming", "--verify-inputs", str(tmp_path / "x.npz")]) == 0
    shapes = {
        name: spec.shape.as_list()
        for name, spec in tf.saved_model.load(str(tmp_path / "m"))
        .signatures["serving_default"]
        .structured_input_signature[1]
        .items()
    }
    assert shapes == {name: [2, 3, 3], "one_h": [2, 4], "one_c": [2, 4]}
    assert "Largest difference" in capsys.readouterr().out


def _inputs_of(path):
    signature = tf.saved_model.load(str(path)).signatures["serving_default"]
    return list(signature.structured_input_signature[1])


def test_bad_options_of_a_keras_model(folder, tmp_path, capsys):
    keras_file, target = str(folder / "m.keras"), str(tmp_path / "m")
    np.savez(tmp_path / "wrong.npz", y=np.ones(3))
    (tmp_path / "text.npz").write_text("no")
    before = sorted(tmp_path.iterdir())
    for arguments, text in (
        (["--verify-inputs", str(tmp_path / "wrong.npz")], "must have the arrays"),
        (["--verify-inputs", str(tmp_path / "text.npz")], "is not a file of np.savez"),
        (["--verify-inputs", str(tmp_path / "none.npz")], "none.npz does not exist"),
        (["--verify-inputs", str(tmp_path / "wrong.npz"), "--no-verify"], "exclude each other"),
        (["--batch-size", "0"], "batch_size must be a positive integer"),
        (["--time", "-2"], "time must be a positive integer"),
        (["--tolerance", "-1"], "tolerance must be"),
        (["--opset", "17"], "opset is for the format 'onnx'"),
    ):
        assert main([keras_file, target, *arguments]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert text in line, line
    for option in (
        ["--batch-size", "2"],
        ["--time", "2"],
        ["--streaming"],
        ["--unsafe"],
        ["--tolerance", "1"],
        ["--verify-inputs", "x"],
    ):
        assert main([str(folder / "saved"), target, *option]) == 2
        assert f"{option[0]} is for a .keras file" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_a_lambda_is_loaded_if_asked_for(tmp_path, capsys):
    x = keras.Input((None, 3))
    model = keras.Model(x, keras.layers.LSTM(4)(keras.layers.Lambda(lambda x: 2 * x)(x)))
    model.save(tmp_path / "m.keras")
    arguments = [str(tmp_path / "m.keras"), str(tmp_path / "m")]
    assert main(arguments) == 2
    assert "--unsafe loads it" in capsys.readouterr().err
    assert main([*arguments, "--unsafe"]) == 0
    assert compare.main([arguments[0], "--repeats", "1"]) == 2
    assert "--unsafe loads it" in capsys.readouterr().err
    assert compare.main([arguments[0], "--repeats", "1", "--time", "3", "--unsafe"]) == 0


def test_the_format_follows_from_the_name(folder, tmp_path, capsys, monkeypatch):
    from tf_rnn_ops._formats import formats

    asked = []

    def writer(name):
        asked.append(name)
        raise ImportError("not here")

    monkeypatch.setattr(formats, "writer", writer)
    for target, options in (("m.onnx", []), ("m.xml", []), ("m.x", ["--format", "onnx"])):
        assert main([str(folder / "saved"), str(tmp_path / target), *options]) == 2
    assert asked == ["onnx", "openvino", "onnx"]


def test_loops_of_a_saved_model_are_listed_or_rejected(tmp_path, capsys, monkeypatch):
    """A SavedModel of Keras's own layers has loops that no writer sees."""
    from tf_rnn_ops._formats import formats, saved_model

    model = keras.Sequential([keras.Input((5, 3)), keras.layers.GRU(4, name="one")])
    model.export(tmp_path / "saved", verbose=False)
    monkeypatch.setattr(formats, "writer", lambda name: saved_model)
    arguments = [str(tmp_path / "saved"), str(tmp_path / "m.onnx")]
    assert main([*arguments, "--no-loops"]) == 2
    assert "is a loop in the SavedModel" in capsys.readouterr().err
    assert not (tmp_path / "m.onnx").exists()
    assert main(arguments) == 0
    _, line = capsys.readouterr().out.splitlines()
    assert "one" in line and line.endswith("While -> loop, because it is a loop in the SavedModel")


@pytest.mark.parametrize("end", [".onnx", ".tflite", ".xml"])
def test_each_signature_of_a_saved_model(end, tmp_path):
    words = keras.Input(batch_shape=(1, 5), dtype="int32", name="words")
    encoder = keras.Model(words, keras.layers.GRU(4)(keras.layers.Embedding(9, 3)(words)))
    x = keras.Input(batch_shape=(1, 1, 3), name="x")
    decoder = keras.Model(x, keras.layers.Dense(2)(keras.layers.GRU(6)(x)))
    archive = keras.export.ExportArchive()
    given = {}
    for name, model in (("encode", encoder), ("decode", decoder)):
        copy = rnn.convert(drawn(model))
        archive.track(copy)
        (spec,) = model.inputs
        signature = [tf.TensorSpec(spec.shape, spec.dtype, spec.name)]
        archive.add_endpoint(name, copy.__call__, signature)
        given[name] = {spec.name: np.ones(spec.shape, spec.dtype)}
    archive.write_out(str(tmp_path / "saved"), verbose=False)
    for name, model in (("encode", encoder), ("decode", decoder)):
        path = tmp_path / f"{name}{end}"
        assert main([str(tmp_path / "saved"), str(path), "--signature", name]) == 0
        got = formats.writer(formats.of(path, None)).load(str(path))(given[name])
        (want,) = given[name].values()
        np.testing.assert_allclose(got["output_0"], model(want), rtol=0, atol=1e-6)


@pytest.mark.parametrize("end", [".onnx", ".tflite", ".xml"])
def test_the_only_signature_of_a_saved_model(end, tmp_path):
    module = tf.Module()
    module.w = tf.Variable(tf.fill([3, 4], 2.0))
    module.infer = tf.function(lambda x: {"y": x @ module.w}, [tf.TensorSpec([2, 3], name="x")])
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures={"infer": module.infer})
    path = tmp_path / f"m{end}"
    assert main([str(tmp_path / "saved"), str(path), "--signature", "infer"]) == 0
    ones = np.ones((2, 3), np.float32)
    got = formats.writer(formats.of(path, None)).load(str(path))({"x": ones})
    np.testing.assert_array_equal(got["y"], np.full((2, 4), 6.0))


@pytest.mark.parametrize("end", [".onnx", ".tflite", ".xml"])
def test_a_signature_of_a_saved_model_of_tensorflow_1(end, tmp_path):
    """It has no objects, only graphs with signatures."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2, 3], "x")
        y = x @ v1.get_variable("w", initializer=tf.ones([3, 4]), use_resource=True)
        y = tf.nn.bias_add(y[..., None], tf.constant([0.0, 1.0, 2.0, 3.0]), "NCHW")
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(tmp_path / "saved"))
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
        other = v1.saved_model.predict_signature_def({"x": x}, {"z": 2 * x})
        signatures = {"product": signature, "double": other}
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=signatures)
        builder.save()
    path = str(tmp_path / f"m{end}")
    assert main([str(tmp_path / "saved"), path, "--signature", "product"]) == 0
    ones = np.ones((2, 3), np.float32)
    got = formats.writer(formats.of(tmp_path / path, None)).load(path)({"x": ones})
    np.testing.assert_array_equal(got["y"], [[[3.0], [4.0], [5.0], [6.0]]] * 2)


def test_overwrite(folder, tmp_path, capsys):
    target = tmp_path / "m"
    target.mkdir()
    arguments = [str(folder / "m.keras"), str(target), "--no-verify"]
    assert main(arguments) == 2 and not list(target.iterdir())
    assert main([*arguments, "--overwrite"]) == 0 and (target / "saved_model.pb").is_file()
    (tmp_path / "m.onnx").mkdir()
    for source in ("m.keras", "saved"):
        assert main([str(folder / source), str(tmp_path / "m.onnx"), "--overwrite"]) == 2
        assert "m.onnx must be a file to be replaced" in capsys.readouterr().err
