"""The differences of LiteRT's fused LSTM from a layer: states, clipping of c, masks, batches, 8 bits."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras as rnn
from support.models import drawn
from support.selection import all_but
from tf_rnn_ops._formats import formats

FUSED = "UNIDIRECTIONAL_SEQUENCE_LSTM"
BATCH, SIZE, UNITS = 2, 3, 4
SEQUENCES = {"return_sequences": True}


@pytest.fixture(scope="module")
def litert():
    return formats.writer("litert")


@pytest.fixture
def export(tmp_path, litert):
    """Writes a model of one input: (the report, a function of an array, the path)."""

    def write(outputs, inputs, **options):
        model = drawn(keras.Model(inputs, outputs))
        path = str(tmp_path / "m.tflite")
        spec = keras.InputSpec(shape=inputs.shape, dtype="float32", name="x")
        report = rnn.export(model, path, "litert", input_signature=[spec], print_fn=None, **options)
        call = litert.load(path)
        return model, report, lambda x: call({"x": x}), path

    return write


def sequences(time=6, batch=BATCH):
    return np.random.default_rng(1).standard_normal((batch, time, SIZE)).astype(np.float32)


def test_an_interpreter_needs_no_reset(export):
    """Any runner gets the results of a sequence that begins at 0, at each call."""
    from ai_edge_litert import interpreter

    inputs = keras.Input(batch_shape=(BATCH, 6, SIZE))
    model, report, _, path = export(keras.layers.LSTM(UNITS, **SEQUENCES)(inputs), inputs)
    assert [node.target_op for node in report.layers] == [FUSED]
    run = interpreter.Interpreter(model_path=path)
    run.allocate_tensors()
    (given,), (returned,) = run.get_input_details(), run.get_output_details()
    for k in range(3):
        x = sequences() * (k + 1)
        run.set_tensor(given["index"], x)
        run.invoke()
        np.testing.assert_allclose(run.get_tensor(returned["index"]), model(x), atol=1e-6)


def test_layers_of_one_input_have_states_of_their_own(export):
    """The converter merges what is computed twice."""
    inputs = keras.Input(batch_shape=(BATCH, None, SIZE))
    options = [{}, {}, {"go_backwards": True}]
    outputs = [keras.layers.LSTM(UNITS, **o, **SEQUENCES)(inputs) for o in options]
    model, report, run, _ = export(outputs, inputs)
    assert [node.target_op for node in report.layers] == [FUSED] * 3
    for k in range(3):
        x = sequences(time=3 + k)
        results = run(x)
        for n, want in enumerate(model(x)):
            np.testing.assert_allclose(results[f"output_{n}"], want, atol=1e-6)


def test_infinite_and_undefined_steps_do_not_reach_the_next_call(export):
    inputs = keras.Input(batch_shape=(BATCH, 6, SIZE))
    model, _, run, _ = export(keras.layers.LSTM(UNITS)(inputs), inputs)
    for bad in (np.nan, np.inf):
        x = sequences()
        x[0, 0] = bad
        run(x)
        np.testing.assert_allclose(run(sequences())["output_0"], model(sequences()), atol=1e-6)


def test_c_is_not_limited(export):
    inputs = keras.Input(batch_shape=(BATCH, None, SIZE))
    layer = keras.layers.LSTM(UNITS, **SEQUENCES)
    model, report, run, _ = export(layer(inputs), inputs, verify=False)
    assert [node.target_op for node in report.layers] == [FUSED]
    x = 30 * np.abs(sequences(time=60))
    found = keras.layers.LSTM(UNITS, return_state=True)
    found.build(x.shape)
    found.set_weights(layer.get_weights())
    assert np.abs(found(x)[2]).max() > 15, "the case must reach beyond the converter's limit of 10"
    np.testing.assert_allclose(run(x)["output_0"], model(x), atol=1e-5)


def test_a_row_without_a_valid_step_keeps_its_initial_state(export):
    """The fused op writes its final states into the tensors of the initial ones."""
    inputs = keras.Input(batch_shape=(BATCH, None, SIZE))
    mask = keras.ops.any(keras.ops.not_equal(inputs, 0.0), axis=-1)
    state = keras.layers.Dense(UNITS)(keras.layers.GlobalMaxPooling1D()(inputs))
    layer = keras.layers.LSTM(UNITS, return_state=True)
    found = layer(inputs, initial_state=[state, state], mask=mask)[:2]  # no node returns c
    stack = rnn.CudnnLSTM(UNITS)(keras.layers.Masking()(inputs))
    model, report, run, _ = export([*found, stack], inputs)
    assert [node.target_op for node in report.layers] == [FUSED] * 2
    x = sequences()
    x[1] = 0
    results = run(x)
    for n, want in enumerate(model(x)):
        np.testing.assert_allclose(results[f"output_{n}"], want, atol=1e-6, err_msg=str(n))


@pytest.mark.parametrize("time", [6, 7])
def test_indices_from_0_to_6(time, export):
    """The converter makes Relu6 of such a limit, also of integers, which the op does not take."""
    inputs = keras.Input(batch_shape=(BATCH, time, SIZE))
    masked = keras.layers.Masking()(inputs)
    outputs = [
        keras.layers.LSTM(UNITS, **SEQUENCES)(masked),
        rnn.CudnnLSTM(UNITS, go_backwards=True, **SEQUENCES)(masked),
    ]
    model, report, run, _ = export(outputs, inputs)
    assert [node.target_op for node in report.layers] == [FUSED] * 2
    x = sequences(time=time)
    x[1, 3:] = 0
    for n, want in enumerate(model(x)):
        np.testing.assert_allclose(run(x)[f"output_{n}"], want, atol=1e-6)


@pytest.mark.parametrize(
    ("first", "time_major"), [(keras.layers.LSTM, False), (keras.layers.GRU, True)]
)
def test_a_stack_after_a_masked_layer_of_one_row(first, time_major, export):
    """The converter loses the batch size of a sum with an unknown one only if the size is 1."""
    inputs = keras.Input(batch_shape=(1, None, SIZE))
    y = first(UNITS, **SEQUENCES)(keras.layers.Masking()(inputs))
    if time_major:
        y = keras.ops.transpose(y, (1, 0, 2))
    stack = rnn.CudnnLSTM(UNITS, num_layers=2, time_major=time_major, **SEQUENCES)
    model, report, run, path = export(stack(y), inputs)
    assert report.layers[1].target_op == FUSED
    from tf_rnn_ops._formats.litert import flatbuffer

    with open(path, "rb") as file:
        assert flatbuffer.count_ops(file.read())[FUSED] == 2 + (first is keras.layers.LSTM)
    x = sequences(batch=1)
    x[0, 4:] = 0
    np.testing.assert_allclose(run(x)["output_0"], model(x), atol=1e-6)


REASONS = {
    "batch": (
        None,
        lambda: keras.layers.LSTM(UNITS),
        "known batch size: give it in input_signature",
    ),
    "kind": (BATCH, lambda: keras.layers.GRU(UNITS), "LiteRT has a fused op for LSTM only"),
    "activation": (
        BATCH,
        lambda: keras.layers.LSTM(UNITS, activation="relu"),
        "activations tanh and sigmoid",
    ),
    "projection": (BATCH, lambda: rnn.ProjectedLSTM(UNITS, num_proj=2), "has no projection"),
    "zoneout": (BATCH, lambda: rnn.ZoneoutLSTM(UNITS, zoneout_h=0.1), "has no zoneout"),
    "c": (BATCH, lambda: keras.layers.LSTM(UNITS, return_state=True), "its final c is read"),
}


@pytest.mark.parametrize("name", REASONS)
def test_a_layer_that_is_no_fused_op_says_why(name, export, tmp_path):
    batch, make, why = REASONS[name]
    inputs = keras.Input(batch_shape=(batch, 6, SIZE))
    with pytest.raises(ValueError, match=f"The layer .* becomes a loop, because .*{why}"):
        export(make()(inputs), inputs, loops=False)
    assert not list(tmp_path.iterdir())
    _, report, _, _ = export(make()(inputs), inputs)  # which compares the results
    assert why in report.layers[0].reason and report.layers[0].target_op == "loop"


def test_weights_in_8_bits(export):
    inputs = keras.Input(batch_shape=(1, 20, 32))
    y = keras.layers.LSTM(64, **SEQUENCES)(inputs)
    outputs = keras.layers.Dense(8)(y)
    sizes, differences = [], []
    for weight_format in (None, "int8"):
        _, report, _, path = export(outputs, inputs, weight_format=weight_format)
        assert [node.target_op for node in report.layers] == [FUSED]
        sizes.append(report.size)
        differences.append(report.difference)
        tf.io.gfile.remove(path)
    assert sizes[1] < 0.4 * sizes[0]
    assert differences[0] < 1e-5 < differences[1]


def test_other_quantization_is_refused(export, tmp_path):
    inputs = keras.Input(batch_shape=(1, 6, SIZE))
    with pytest.raises(ValueError, match="weight_format must be None or 'int8', but it is 'int4'"):
        export(keras.layers.LSTM(UNITS)(inputs), inputs, weight_format="int4")
    assert not list(tmp_path.iterdir())


def test_one_step_is_no_loop(export):
    inputs = keras.Input(batch_shape=(None, 1, SIZE))
    outputs = [keras.layers.LSTM(UNITS)(inputs), keras.layers.GRU(UNITS)(inputs)]
    model, report, run, path = export(outputs, inputs, loops=False)
    assert {node.target_op for node in report.layers} == {"ordinary ops of one step"}
    from tf_rnn_ops._formats.litert import flatbuffer

    with open(path, "rb") as file:
        assert not flatbuffer.count_ops(file.read()).keys() & {"WHILE", FUSED}
    x = sequences(time=1)
    for n, want in enumerate(model(x)):
        np.testing.assert_allclose(run(x)[f"output_{n}"], want, atol=1e-6)


def test_float64_is_refused(export, tmp_path):
    inputs = keras.Input(batch_shape=(BATCH, 6, SIZE))
    with pytest.raises(ValueError, match="The layer '.*lstm.*' computes in float64, which LiteRT"):
        export(keras.layers.LSTM(UNITS, dtype="float64")(inputs), inputs)
    assert not list(tmp_path.iterdir())


def test_bidirectional_float16_is_refused(export, tmp_path):
    """LiteRT has no reversal of float16."""
    inputs = keras.Input(batch_shape=(BATCH, 6, SIZE))
    layer = keras.layers.Bidirectional(keras.layers.LSTM(UNITS, dtype="mixed_float16"))
    with pytest.raises(ValueError, match="LiteRT has no op for .*ReverseV2 of float16: put the"):
        export(layer(inputs), inputs)
    assert not list(tmp_path.iterdir())


def test_a_loop_of_keras_needs_sizes(export, tmp_path):
    inputs = keras.Input((None, 8, 8, 1))
    with pytest.raises(ValueError, match="LiteRT needs known sizes for a loop of Keras: give"):
        export(keras.layers.ConvLSTM2D(2, 3)(inputs), inputs)
    assert not list(tmp_path.iterdir())


def test_a_converter_that_fails_leaves_nothing(tmp_path, export):
    inputs = keras.Input(batch_shape=(1, 6, SIZE))
    outputs = keras.layers.Lambda(tf.math.digamma)(keras.layers.LSTM(UNITS)(inputs))
    message = "LiteRT's converter cannot convert the model: LiteRT has no op for Digamma of these"
    with pytest.raises(ValueError, match=message) as info:
        export(outputs, inputs, verify=False)
    assert "\n" not in str(info.value)
    assert not list(tmp_path.iterdir())


def test_an_unknown_signature(tmp_path, litert):
    model = keras.Sequential([keras.Input(batch_shape=(1, 6, SIZE)), rnn.LSTM(UNITS)])
    model.export(str(tmp_path / "m"), verbose=False)
    with pytest.raises(
        ValueError, match="signature must be one of .*'serving_default'.* it is 'other'"
    ):
        litert.write(str(tmp_path / "m"), str(tmp_path / "m.tflite"), signature="other")
    assert not (tmp_path / "m.tflite").exists()


@pytest.mark.parametrize("ours", [False, True])
def test_variables_of_tf_saved_model_save(ours, tmp_path, litert):
    """LiteRT's converter keeps them as variables, which have no values in the file."""
    x = keras.Input((None, 3), name="x")
    model = keras.Model(x, keras.layers.LSTM(4, **SEQUENCES)(x))
    saved = rnn.convert(model) if ours else model
    function = tf.function(
        lambda x: {"y": saved(x)}, input_signature=[tf.TensorSpec((1, 5, 3), name="x")]
    )
    tf.saved_model.save(saved, str(tmp_path / "saved"), signatures=function)
    path = str(tmp_path / "m.tflite")
    litert.write(str(tmp_path / "saved"), path)
    given = np.random.default_rng(0).standard_normal((1, 5, 3)).astype(np.float32)
    got = litert.load(path)({"x": given})["y"]
    np.testing.assert_allclose(got, model(given), rtol=0, atol=1e-6)


SIZES = range(1, 11)
MASKED = {
    "lstm": lambda x: keras.layers.LSTM(UNITS, **SEQUENCES)(x),
    "both": lambda x: keras.layers.Bidirectional(keras.layers.LSTM(UNITS, **SEQUENCES))(x),
    "gru_before": lambda x: keras.layers.GRU(UNITS, reset_after=False, **SEQUENCES)(x),
}


USUAL = [(1, "lstm"), (2, "gru_before"), (5, "lstm"), (8, "both")]


@pytest.mark.parametrize("case", all_but(list(itertools.product(SIZES, MASKED)), *USUAL), ids=str)
def test_masked_layers_of_every_number_of_steps(case, export):
    """LiteRT's converter made Relu6 of integers, which LiteRT lacks, of a clip at 6."""
    time, name = case
    inputs = keras.Input(batch_shape=(BATCH, time, SIZE))
    model, _, call, _ = export(MASKED[name](keras.layers.Masking()(inputs)), inputs, verify=False)
    x = sequences(time)
    x[0, time // 2 :] = x[1, ::2] = 0
    np.testing.assert_allclose(next(iter(call(x).values())), model(x), atol=2e-6)


USUAL = [(1, 8), (2, 3), (5, 7), (8, 1)]


@pytest.mark.parametrize("case", all_but(list(itertools.product(SIZES, SIZES)), *USUAL), ids=str)
def test_masked_layers_of_every_batch_size_and_number_of_units(case, export):
    batch, units = case
    inputs = keras.Input(batch_shape=(batch, 3, SIZE))
    layer = keras.layers.Bidirectional(keras.layers.LSTM(units, **SEQUENCES))
    model, _, call, _ = export(layer(keras.layers.Masking()(inputs)), inputs, verify=False)
    x = sequences(3, batch)
    x[:, 1] = x[0, 2] = 0
    np.testing.assert_allclose(next(iter(call(x).values())), model(x), atol=2e-6)
