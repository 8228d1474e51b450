"""Models in OpenVINO: a sequence node for each layer that has one, and the results of the layers."""

import itertools

import export_formats
import export_networks as networks
import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras as rnn
from support import subproc
from support.selection import all_but
from tf_rnn_ops._formats import formats
from tf_rnn_ops.portable.openvino import node_types, telemetry

LOOP = "loop"


@pytest.fixture(scope="module")
def openvino():
    return formats.writer("openvino")


def export(model, tmp_path, signature, **options):
    path = str(tmp_path / "m.xml")
    options = {"print_fn": None, "verify": False} | options
    return path, rnn.export(model, path, "openvino", input_signature=signature, **options)


FIRST_CALLS = list(
    itertools.product([1, 3], [networks.TIME, None], ["lstm", "gru", "peephole_clip"])
)
USUAL = [(3, None, "lstm"), (1, None, "gru"), (1, networks.TIME, "peephole_clip")]


@pytest.mark.parametrize("case", all_but(FIRST_CALLS, *USUAL), ids=str)
def test_the_first_call_of_a_masked_model(case, tmp_path, openvino):
    """OpenVINO 2026.4 gives wrong results at the first call behind a condition, and ends the process in a Gather."""
    batch, time, cell = case
    inputs = keras.Input(batch_shape=(batch, time, 3), name="x")
    layer = networks.LAYERS[cell](**networks.SEQUENCES)
    outputs = keras.layers.Bidirectional(layer)(keras.layers.Masking()(inputs))
    model = keras.Model(inputs, {"y": outputs})
    path, _ = export(model, tmp_path, None)
    call = openvino.load(path)
    rng = np.random.default_rng(3)
    for steps in [networks.TIME] * 2 if time else [5, 5, 7, 3, 7]:
        x = rng.standard_normal((batch, steps, 3)).astype(np.float32)
        x[0, 1] = 0
        export_formats.assert_equal(call({"x": x}), model, x)


@pytest.mark.parametrize("axis", [1, -2, -1])
def test_gathers_of_a_batch_of_one(axis, tmp_path, openvino):
    x = keras.Input(batch_shape=(1, 5, 3), name="x")
    index = keras.Input(batch_shape=(1, 2), dtype="int32", name="index")
    gather = keras.layers.Lambda(
        lambda a: tf.gather(a[0], a[1], axis=axis, batch_dims=1),
        output_shape=(5, 2) if axis == -1 else (2, 3),
    )
    model = keras.Model([x, index], {"y": gather([x, index])})
    path = str(tmp_path / "m.xml")
    rnn.export(model, path, print_fn=None)
    given = {"x": np.arange(15, dtype=np.float32).reshape(1, 5, 3)}
    given["index"] = np.array([[2, 0]], np.int32)
    want = tf.gather(given["x"], given["index"], axis=axis, batch_dims=1)
    np.testing.assert_array_equal(openvino.load(path)(given)["y"], want)


@pytest.mark.parametrize("axis, batch_dims, ones", [(1, -1, 1), (-2, -1, 1), (2, 2, 2), (2, -1, 2)])
def test_gathers_of_batch_axes_of_one(axis, batch_dims, ones, tmp_path, openvino):
    """OpenVINO's node read out of bounds, and the process ended."""
    shape, indices = [1] * ones + [5, 3], [1] * ones + [2]

    def gather(x, index):
        return {"y": tf.gather(x, index, axis=axis, batch_dims=batch_dims)}

    specs = [tf.TensorSpec(shape, tf.float32, "x"), tf.TensorSpec(indices, tf.int32, "index")]
    module = tf.Module()
    module.gather = tf.function(gather, input_signature=specs)
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.gather)
    openvino.write(str(tmp_path / "saved"), str(tmp_path / "m.xml"))
    x = np.arange(15, dtype=np.float32).reshape(shape)
    index = np.array([4, 1], np.int32).reshape(indices)
    got = openvino.load(str(tmp_path / "m.xml"))({"x": x, "index": index})["y"]
    np.testing.assert_array_equal(got, x.reshape(5, 3)[[4, 1]].reshape([1] * ones + [2, 3]))


@pytest.mark.parametrize("cell", all_but(["lstm", "gru"], "gru"))
def test_masks_in_float16(cell, tmp_path, openvino):
    """The number that opens a gate in the padding must be finite in float16."""
    keras.config.set_dtype_policy("float16")
    try:
        inputs = keras.Input((None, 3), name="x")
        layer = networks.LAYERS[cell](**networks.SEQUENCES)
        outputs = keras.layers.Bidirectional(layer)(keras.layers.Masking()(inputs))
        model = keras.Model(inputs, {"y": outputs})
    finally:
        keras.config.set_dtype_policy("float32")
    path, _ = export(model, tmp_path, None)
    (x,) = networks.padding(np.random.default_rng(3), networks.BATCH, networks.TIME)
    x = x.astype(np.float16)
    export_formats.assert_equal(openvino.load(path)({"x": x}), model, x, atol=4e-3)


@pytest.mark.parametrize("dtype", ["bfloat16", "mixed_bfloat16"])
def test_bfloat16_is_rejected(dtype, tmp_path):
    """OpenVINO's converter writes casts without a type, or fails in an op that reads one."""
    inputs = keras.Input((None, 3))
    initializer = {"recurrent_initializer": "glorot_uniform"}
    layer = keras.layers.LSTM(4, dtype=dtype, **initializer)
    model = keras.Model(inputs, layer(keras.layers.Masking(dtype=dtype)(inputs)))
    with pytest.raises(ValueError, match="has no bfloat16 for some ops: put the weights into"):
        export(model, tmp_path, None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cell", all_but(["lstm", "gru"], "lstm"))
def test_float64_is_computed_in_float32(cell, tmp_path):
    inputs = keras.Input((None, 3), dtype="float64", name="x")
    layer = networks.LAYERS[cell](dtype="float64")
    path, report = export(keras.Model(inputs, {"y": layer(inputs)}), tmp_path, None, verify=True)
    assert report.layers[0].target_op == LOOP
    assert 1e-12 < report.difference < report.tolerance < 1e-3


def test_a_mode_without_a_node_is_a_loop(tmp_path, monkeypatch):
    """As of a new cell that the writer does not know."""
    monkeypatch.delitem(node_types.SEQUENCES, "gru")
    inputs = keras.Input((None, 3), name="x")
    model = keras.Model(inputs, {"y": networks.LAYERS["gru"]()(inputs)})
    _, report = export(model, tmp_path, None, verify=True)
    assert report.layers[0].target_op == LOOP
    assert report.layers[0].reason == "OpenVINO has no node for rnn_mode='gru'"
    assert report.difference < report.tolerance


def types_of(model):
    return [op.get_type_name() for op in model.get_ops()]


@pytest.mark.parametrize("sizes", [(2, 5), (None, None)], ids=["known", "open"])
def test_both_directions_without_lengths_are_one_node(sizes, tmp_path, openvino):
    import openvino as ov

    inputs = keras.Input(batch_shape=(*sizes, 3))
    options = {"num_layers": 2, "direction": "bidirectional", "return_sequences": True}
    model = keras.Model(inputs, rnn.CudnnLSTM(4, **options)(inputs))
    path, _ = export(model, tmp_path, None)
    ops = ov.Core().read_model(path).get_ops()
    nodes = [op for op in ops if op.get_type_name() == "LSTMSequence"]
    assert [node.get_attributes()["direction"] for node in nodes] == ["bidirectional"] * 2
    x = np.random.default_rng(0).standard_normal((2, 5, 3)).astype(np.float32)
    got = openvino.load(path)({"input_0": x})["output_0"]
    np.testing.assert_allclose(got, model(x), rtol=0, atol=1e-6)


def test_extensions_read_a_loaded_model(tmp_path, openvino):
    import openvino as ov

    from tf_rnn_ops.portable import openvino_extensions

    model, _, signature, (x, *_) = networks.make(*networks.NETWORKS["stacks"], (None, None))
    model.export(str(tmp_path / "m"), input_signature=signature, verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    with telemetry.off():
        converted = ov.convert_model(loaded, extension=openvino_extensions())
    precision = {"INFERENCE_PRECISION_HINT": "f32"}
    results = ov.Core().compile_model(converted, "CPU", precision)({"x": x})
    ports = enumerate(converted.outputs)
    got = {name: results[k] for k, port in ports for name in port.get_names()}
    export_formats.assert_equal(got, model, x)


def test_extensions_reject_a_folder(tmp_path, openvino):
    """OpenVINO would take each output of a node for the first one."""
    import openvino as ov

    from tf_rnn_ops.portable import openvino_extensions

    model = keras.Sequential([keras.Input((None, 3)), rnn.LSTM(4)])
    model.export(str(tmp_path / "m"), verbose=False)
    with (
        telemetry.off(),
        pytest.raises(Exception, match="give openvino.convert_model the model that"),
    ):
        ov.convert_model(str(tmp_path / "m"), extension=openvino_extensions())


def test_extensions_read_ops_of_tensorflow(openvino):
    """CudnnRNN of TensorFlow, in a function that is in memory."""
    import openvino as ov

    from tf_rnn_ops.portable import openvino_extensions

    layer = rnn.CudnnGRU(4, num_layers=2, return_sequences=True)
    x = np.random.default_rng(0).standard_normal((2, 5, 3)).astype(np.float32)
    want = layer(x)
    params = layer.params.numpy()

    @tf.function(input_signature=[tf.TensorSpec((2, 5, 3))])
    def gru(x):
        return tf.raw_ops.CudnnRNNV3(
            input=x,
            input_h=tf.zeros([2, 2, 4]),
            input_c=tf.zeros([]),
            params=tf.constant(params),
            sequence_lengths=tf.fill([2], 5),
            rnn_mode="gru",
            time_major=False,
            is_training=False,
        ).output

    with telemetry.off():
        converted = ov.convert_model(gru.get_concrete_function(), extension=openvino_extensions())
    assert types_of(converted).count("GRUSequence") == 2
    precision = {"INFERENCE_PRECISION_HINT": "f32"}
    got = ov.Core().compile_model(converted, "CPU", precision)(x)[0]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


USAGE_DATA = """
import os, sys
for variable in ("CI", "TF_BUILD", "JENKINS_URL"):  # OpenVINO sends nothing where one is set
    os.environ.pop(variable, None)
os.environ["HOME"] = sys.argv[1]
from openvino_telemetry.utils import sender
sent = []
sender.TelemetrySender.send = lambda self, backend, message: sent.append(message)
import keras, tf_rnn_ops.keras
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
tf_rnn_ops.keras.export(model, sys.argv[1] + "/m.xml", print_fn=None)
print(len(sent), os.path.exists(sys.argv[1] + "/intel"))
import openvino, tensorflow as tf
function = tf.function(lambda x: 2 * x, [tf.TensorSpec([3])])
openvino.convert_model(function.get_concrete_function())
print(len(sent) > 5)
"""


def test_usage_data(tmp_path):
    """An export sends none and writes none to the home folder; a later call of the user is OpenVINO's own business."""
    done = subproc.run(["-c", USAGE_DATA, tmp_path], env=subproc.environment())
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "False", "True"]
