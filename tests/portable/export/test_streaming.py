"""Models that are called step by step: the results of the whole sequence at once, and what cannot stream."""

import itertools
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras as rnn
from support.models import drawn
from support.selection import all_but
from tf_rnn_ops._formats import formats

SIZE, UNITS, TIME = 3, 4, 6
SEQUENCES = {"return_sequences": True}
FILES = {"tf_saved_model": "m", "onnx": "m.onnx", "litert": "m.tflite", "openvino": "m.xml"}


def in_a_row(x):
    """Every kind of layer, one after the other."""
    x = keras.layers.Dense(SIZE, activation="relu")(x)
    layers = [
        keras.layers.LSTM(UNITS, name="first", **SEQUENCES),
        keras.layers.GRU(UNITS, **SEQUENCES),
        keras.layers.SimpleRNN(UNITS, **SEQUENCES),
        keras.layers.LSTM(UNITS, activation="elu", name="loop", **SEQUENCES),
        rnn.PeepholeLSTM(UNITS, cell_clip=0.3, **SEQUENCES),
        rnn.RNN([keras.layers.LSTMCell(UNITS), keras.layers.GRUCell(2)], name="two", **SEQUENCES),
        rnn.CudnnLSTM(UNITS, num_layers=2, **SEQUENCES),
        rnn.CudnnGRU(UNITS, **SEQUENCES),
    ]
    for layer in layers:
        x = layer(x)
    return keras.layers.Dense(2)(x)


def last(x):
    return keras.layers.LSTM(UNITS)(keras.layers.GRU(UNITS, stateful=True, **SEQUENCES)(x))


def nested(x):
    inner = keras.Sequential([keras.Input((None, SIZE)), keras.layers.GRU(UNITS, **SEQUENCES)])
    return {"scores": keras.layers.Dense(2)(inner(x))}


MODELS = {"in_a_row": (in_a_row, None), "last": (last, 2), "nested": (nested, None)}


def run(call, states, x, steps, name="x"):
    """The outputs of each call. Each call gets the states of the previous call."""
    found = []
    for begin in range(0, x.shape[1], steps):
        found.append(call({name: x[:, begin : begin + steps], **states}))
        states = {state: found[-1][f"{state}_next"] for state in states}
    return found


USUAL = [
    ("tf_saved_model", "nested", 3),
    ("onnx", "in_a_row", 1),
    ("litert", "in_a_row", 3),
    ("openvino", "last", 1),
]


@pytest.mark.parametrize(
    "case", all_but(list(itertools.product(FILES, MODELS, [1, 3])), *USUAL), ids=str
)
def test_steps_equal_the_whole_sequence(case, tmp_path):
    format, name, steps = case
    load = formats.writer(format).load
    layers, batch = MODELS[name]
    inputs = keras.Input(batch_shape=(batch, None, SIZE), name="x")
    model = drawn(keras.Model(inputs, layers(inputs)))
    signature = [keras.InputSpec(shape=(batch or 2, steps, SIZE), dtype="float32", name="x")]
    path = str(tmp_path / FILES[format])
    options = {"input_signature": signature, "streaming": True, "print_fn": None}
    report = rnn.export(model, path, format, **options)
    assert report.difference < 1e-6
    states = {
        **({"first_h": UNITS, "first_c": UNITS, "two_0_h": UNITS} if name == "in_a_row" else {}),
    }
    x = np.random.default_rng(1).standard_normal((2, TIME, SIZE)).astype(np.float32)
    names = names_of_inputs(model, format, path)
    assert states.keys() <= names.keys()
    zeros = {state: np.zeros(shape, np.float32) for state, shape in names.items() if state != "x"}
    results = run(load(path), zeros, x, steps)
    reset(model)
    want = model(x)
    output = "scores" if name == "nested" else "output_0"
    want = np.asarray(want["scores"] if name == "nested" else want)
    pieces = [result[output] for result in results]
    got = pieces[-1] if name == "last" else np.concatenate(pieces, 1)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


def reset(model):
    for layer in model.layers:
        if getattr(layer, "stateful", False):
            layer.reset_state()


def names_of_inputs(model, format, path):
    """The shapes of the inputs of a file by name, of a batch of 2."""
    del model
    if format == "tf_saved_model":
        function = tf.saved_model.load(path).signatures["serving_default"]
        found = {n: s.shape.as_list() for n, s in function.structured_input_signature[1].items()}
    elif format == "onnx":
        import onnxruntime

        found = {i.name: i.shape for i in onnxruntime.InferenceSession(path).get_inputs()}
    elif format == "litert":
        from ai_edge_litert import interpreter

        runner = interpreter.Interpreter(model_path=path).get_signature_runner()
        found = {n: i["shape"] for n, i in runner.get_input_details().items()}
    else:
        import openvino

        inputs = openvino.Core().read_model(path).inputs
        found = {next(iter(i.get_names())): list(i.get_shape()) for i in inputs}
    return {name: [int(n) for n in shape] for name, shape in found.items()}


def states_in_and_out(**options):
    x, h, c = (
        keras.Input((None, SIZE), name="x"),
        keras.Input((UNITS,), name="h"),
        keras.Input((UNITS,), name="c"),
    )
    layer = keras.layers.LSTM(UNITS, return_state=True, return_sequences=True, name="lstm")
    y, new_h, new_c = layer(x, initial_state=[h, c])
    y = keras.layers.GRU(UNITS, name="gru", **SEQUENCES)(y)
    return keras.Model([x, h, c], [y, new_h, new_c] if options.get("all", True) else [y, new_h])


@pytest.mark.parametrize("format", ["tf_saved_model", *(n for n in FILES if n != "tf_saved_model")])
def test_states_of_the_model_keep_their_names(format, tmp_path):
    load = formats.writer(format).load
    model, path = drawn(states_in_and_out()), str(tmp_path / FILES[format])
    signature = [
        [
            keras.InputSpec(shape=(2, 2, SIZE), dtype="float32", name="x"),
            keras.InputSpec(shape=(2, UNITS), dtype="float32", name="h"),
            keras.InputSpec(shape=(2, UNITS), dtype="float32", name="c"),
        ]
    ]
    options = {"input_signature": signature, "streaming": True, "print_fn": None}
    assert rnn.export(model, path, format, **options).difference < 1e-6
    x = np.random.default_rng(1).standard_normal((2, TIME, SIZE)).astype(np.float32)
    zeros = {name: np.zeros((2, UNITS), np.float32) for name in ("h", "c", "gru_h")}
    results = run(load(path), zeros, x, 2)
    y, h, c = model([x, zeros["h"], zeros["c"]])
    got = np.concatenate([result["output_0"] for result in results], 1)
    for found, want in ((got, y), (results[-1]["h_next"], h), (results[-1]["c_next"], c)):
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-6)


def test_the_model_is_left_as_it_was(tmp_path):
    inputs = keras.Input(batch_shape=(2, None, SIZE), name="x")
    model = keras.Model(inputs, rnn.LSTM(UNITS, stateful=True, name="lstm")(inputs))
    x = np.ones((2, 1, SIZE), np.float32)
    first = np.asarray(model(x))
    states = [np.array(state) for state in model.get_layer("lstm").states]
    rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)
    layer = model.get_layer("lstm")
    assert layer.stateful and not layer.return_state and "call" not in vars(layer)
    for state, before in zip(layer.states, states):
        np.testing.assert_array_equal(state, before)
    reset(model)
    np.testing.assert_array_equal(model(x), first)


def backwards(x):
    return keras.layers.GRU(UNITS, go_backwards=True, name="culprit")(x)


def both(x):
    return keras.layers.Bidirectional(keras.layers.GRU(UNITS), name="culprit")(x)


def both_of_a_stack(x):
    return rnn.CudnnGRU(UNITS, direction="bidirectional", name="culprit")(x)


def masked(x):
    return keras.layers.GRU(UNITS, name="culprit")(keras.layers.Masking()(x))


def shared(x):
    layer = keras.layers.GRU(SIZE, name="culprit", **SEQUENCES)
    return layer(layer(x))


def from_an_encoder(x):
    _, state = keras.layers.GRU(UNITS, return_state=True)(x)
    return keras.layers.GRU(UNITS, name="culprit")(x, initial_state=state)


def time_first(x):
    return rnn.CudnnGRU(UNITS, time_major=True, name="culprit")(x)


def with_lengths(x):
    lengths = keras.ops.sum(keras.ops.ones_like(x[:, :, 0], dtype="int32"), 1)
    return rnn.CudnnGRU(UNITS, name="culprit")(x, sequence_lengths=lengths)


class Doubled(keras.layers.GRU):
    def call(self, sequences, initial_state=None, mask=None, training=False):
        return super().call(sequences, initial_state, mask, training) * 2


class Direct(keras.layers.Wrapper):
    """Calls the method of a layer, as TimeDistributed does."""

    def call(self, x):
        return self.layer.call(x)

    def compute_output_shape(self, shape):
        return self.layer.compute_output_shape(shape)


def a_call_of_its_own(x):
    return Doubled(UNITS, name="culprit")(x)


def not_the_layer_itself(x):
    return keras.layers.GRU(UNITS)(Direct(keras.layers.GRU(UNITS, name="culprit", **SEQUENCES))(x))


def before_a_gru(layer):
    """A layer whose output a GRU reads."""
    return lambda x: keras.layers.GRU(UNITS)(layer(x))


def attention(x):
    x = keras.layers.MultiHeadAttention(1, UNITS, name="culprit")(x, x)
    return keras.layers.GRU(UNITS)(x)


REFUSED = {
    "time_first": (time_first, "its time comes before the batch"),
    "same": (
        before_a_gru(keras.layers.Conv1D(UNITS, 3, padding="same", name="culprit")),
        "Conv1D combines steps, of which the file sees only those of one call",
    ),
    "pooling": (
        before_a_gru(keras.layers.MaxPooling1D(2, name="culprit")),
        "MaxPooling1D combines steps",
    ),
    "attention": (attention, "MultiHeadAttention combines steps"),
    "a_call_of_its_own": (a_call_of_its_own, "class Doubled has a method `call` of its own"),
    "not_the_layer_itself": (not_the_layer_itself, "'direct.*' does not call the layer itself"),
    "lengths": (with_lengths, "gets sequence_lengths, and a stream has no steps beyond a length"),
    "backwards": (backwards, "reads its input backwards, from the last step"),
    "both": (both, "also reads its input backwards, from the last step"),
    "both_of_a_stack": (both_of_a_stack, "also reads its input backwards, from the last step"),
    "masked": (masked, "cannot stream, because it gets a mask: build the model"),
    "shared": (shared, "is called more than once"),
    "from_an_encoder": (from_an_encoder, "is computed by the model"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_stream(name, tmp_path):
    layers, why = REFUSED[name]
    inputs = keras.Input((None, SIZE))
    model = keras.Model(inputs, layers(inputs))
    with pytest.raises(ValueError, match=f"'culprit'.* {why}") as caught:
        rnn.export(model, tmp_path / "m", streaming=True, verify=False, print_fn=None)
    text = str(caught.value)
    assert len(text.splitlines()) == 1 and "\x1b" not in text and text.endswith("."), text
    assert not list(tmp_path.iterdir())


def attention_to_a_memory(x, memory):
    x = keras.layers.Dense(UNITS)(x)
    x = keras.layers.MultiHeadAttention(1, UNITS)(x, memory)
    return keras.layers.GRU(UNITS, **SEQUENCES)(x)


def convolutions_of_one_step(x, memory):
    x = keras.layers.Conv1D(UNITS, 1)(x)
    scale = keras.layers.Dense(UNITS)(keras.layers.Flatten()(memory))
    return keras.layers.GRU(UNITS, **SEQUENCES)(x, initial_state=None) * scale[:, None]


@pytest.mark.parametrize("layers", [attention_to_a_memory, convolutions_of_one_step])
def test_layers_that_combine_steps_of_a_memory(layers, tmp_path):
    """The length of the memory is known, so it is a plain input."""
    x, memory = keras.Input((None, SIZE), name="x"), keras.Input((3, UNITS), name="memory")
    model = drawn(keras.Model([x, memory], layers(x, memory)))
    rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)


def _gelu(x, memory):
    return keras.layers.LSTM(UNITS, activation="gelu", **SEQUENCES)(x)


def _unrolled(x, memory):
    return keras.layers.LSTM(UNITS, unroll=True, **SEQUENCES)(x)


def _products(x, memory):
    return keras.layers.Dot(axes=(2, 2))([keras.layers.LSTM(SIZE, **SEQUENCES)(x), memory])


@pytest.mark.parametrize("layers", [_gelu, _unrolled, _products])
def test_layers_that_a_stepper_lacks(layers, tmp_path):
    """The advice in the error of a stepper."""
    x, memory = keras.Input((3, SIZE), name="x"), keras.Input((5, SIZE), name="memory")
    model = drawn(keras.Model([x, memory], keras.layers.Dense(2)(layers(x, memory))))
    with pytest.raises(ValueError, match="A stepper cannot run the layer .*SavedModel"):
        rnn.export(model, tmp_path / "m.rnn", streaming=True, print_fn=None)
    for name in ("m", "m.onnx"):
        rnn.export(model, tmp_path / name, streaming=True, print_fn=None)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_states_that_keras_casts(policy, tmp_path):
    keras.config.set_dtype_policy(policy)
    try:
        model = drawn(states_in_and_out())
    finally:
        keras.config.set_dtype_policy("float32")
    rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)


def test_one_input_as_the_state_of_two_layers(tmp_path):
    x, h = keras.Input((None, SIZE), name="x"), keras.Input((UNITS,), name="h")
    y, first = keras.layers.GRU(UNITS, return_state=True, **SEQUENCES)(x, initial_state=h)
    z, second = keras.layers.GRU(UNITS, return_state=True, **SEQUENCES)(y, initial_state=h)
    with pytest.raises(ValueError, match="'h' must be the initial state of one layer"):
        rnn.export(
            keras.Model([x, h], [z, first, second]),
            tmp_path / "m",
            streaming=True,
            verify=False,
            print_fn=None,
        )


def test_windows_over_frequencies_stream(tmp_path):
    x = keras.Input((None, 8, 1), name="x")
    y = keras.layers.Conv2D(2, (1, 3), padding="same")(x)
    y = keras.layers.MaxPooling2D((1, 2))(y)
    model = drawn(keras.Model(x, keras.layers.GRU(UNITS)(keras.layers.Reshape((-1, 8))(y))))
    report = rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)
    assert not report.note and 0 < report.difference < 1e-6


def test_a_network_of_windows(tmp_path):
    """The LSTM inside begins with zeros at each step, as in Keras."""
    x = keras.Input((None, 5, SIZE), name="x")
    windows = keras.layers.TimeDistributed(keras.layers.LSTM(UNITS))(x)
    model = drawn(keras.Model(x, keras.layers.GRU(UNITS)(windows)))
    report = rnn.export(model, tmp_path / "m", streaming=True, time=2, print_fn=None)
    assert not report.note and 0 < report.difference < 1e-6


def test_a_known_number_of_steps(tmp_path):
    """The check passes states from call to call in the same way."""
    model = drawn(keras.Sequential([keras.Input((3, SIZE)), keras.layers.GRU(UNITS)]))
    report = rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)
    assert not report.note and 0 < report.difference < 1e-6


def test_a_number_of_steps_that_the_model_needs(tmp_path):
    x = keras.Input((3, 2, SIZE))
    y = keras.layers.GRU(UNITS, **SEQUENCES)(keras.layers.Reshape((3, 2 * SIZE))(x))
    model = drawn(keras.Model(x, y))
    report = rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)
    assert report.note == (
        "The model has one number of steps, so no state was passed from call to call."
    )


def test_layers_that_need_one_number_of_steps(tmp_path):
    x = keras.Input((None, SIZE))
    y = keras.layers.LayerNormalization(axis=[1, 2], name="culprit")(
        keras.layers.Reshape((4, SIZE))(x)
    )
    model = keras.Model(x, keras.layers.GRU(UNITS)(y))
    with pytest.raises(ValueError, match="'culprit' cannot stream, because LayerNormalization"):
        rnn.export(model, tmp_path / "m", streaming=True, time=4, verify=False, print_fn=None)


def test_another_number_of_steps_and_batch_size_than_in_training(tmp_path):
    x = keras.Input(batch_shape=(3, 5, SIZE), name="x")
    layer = keras.layers.LSTM(UNITS, stateful=True, return_sequences=True)
    model = drawn(keras.Model(x, layer(x)))
    states = [state.assign(np.ones(state.shape)) for state in layer.states]
    signature = [keras.InputSpec(shape=(1, 2, SIZE), dtype="float32", name="x")]
    path = str(tmp_path / "m")
    options = {"input_signature": signature, "streaming": True, "print_fn": None}
    assert 0 < rnn.export(model, path, **options).difference < 1e-6
    names = names_of_inputs(model, "tf_saved_model", path)
    zeros = {name: np.zeros(shape, np.float32) for name, shape in names.items() if name != "x"}
    sequence = np.random.default_rng(1).standard_normal((1, TIME, SIZE)).astype(np.float32)
    results = run(formats.writer("tf_saved_model").load(path), zeros, sequence, 2)
    same = keras.layers.LSTM.from_config({**layer.get_config(), "stateful": False})
    same.build((1, TIME, SIZE))
    same.set_weights(layer.get_weights())
    got = np.concatenate([result["output_0"] for result in results], 1)
    np.testing.assert_allclose(got, same(sequence), rtol=0, atol=1e-6)
    assert all(np.all(np.asarray(state) == 1) for state in states)


def test_a_cell_that_begins_with_other_states(tmp_path):
    class Begun(keras.layers.GRUCell):
        def get_initial_state(self, batch_size=None):
            return [keras.ops.ones((batch_size, self.units))]

    x = keras.Input((None, SIZE))
    model = keras.Model(x, keras.layers.RNN(Begun(UNITS), name="culprit")(x))
    with pytest.raises(ValueError, match="'culprit' cannot stream.* other states than zeros"):
        rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)


class InAnotherThread(keras.layers.Layer):
    """Calls the model in another thread whenever it is traced. convert() cannot copy this layer."""

    def __init__(self, function):
        super().__init__()
        self.function, self.results = function, []

    def call(self, x):
        def run():
            self.results.append(self.function())

        if not isinstance(x, keras.KerasTensor) and not tf.executing_eagerly():
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        return x


def test_a_model_that_another_thread_calls_meanwhile(tmp_path):
    """The model is not copied, and none of its layers changes while its stream is traced."""
    x = np.ones((2, 5, SIZE), np.float32)
    inputs = keras.Input(batch_shape=(2, None, SIZE), name="x")
    layers = {
        "conv": keras.layers.Conv1D(UNITS, 3, padding="causal"),
        "gru": keras.layers.GRU(UNITS, **SEQUENCES),
        "lstm": keras.layers.LSTM(UNITS, stateful=True, return_state=True),
    }
    attributes = []

    def run():
        attributes.append({n: {**vars(one)} for n, one in layers.items()})
        y = layers["gru"](layers["conv"](x))
        layers["lstm"].reset_state()
        return [np.asarray(one) for one in layers["lstm"](y)]

    spy = InAnotherThread(run)
    y = spy(layers["gru"](spy(layers["conv"](inputs))))
    model = drawn(keras.Model(inputs, layers["lstm"](y)[0]))
    with pytest.raises(ValueError, match="cannot be copied"):
        rnn.convert(model)
    spy.results.clear()  # of the time before the weights were drawn
    want = run()
    layers["lstm"].reset_state()
    rnn.export(model, tmp_path / "m", streaming=True, verify=False, print_fn=None)
    assert len(spy.results) > 2
    for results in spy.results:
        for got, one in zip(results, want, strict=True):
            np.testing.assert_allclose(got, one, rtol=0, atol=1e-6)
    for name in layers:
        for seen in attributes:
            for key in ("stateful", "return_state", "padding", "call"):
                assert seen[name].get(key) is attributes[0][name].get(key)
    function = keras.layers.Layer.__call__
    assert function.__module__.startswith("keras."), function


def test_an_output_with_the_name_of_the_next_state(tmp_path):
    x = keras.Input((None, SIZE))
    model = keras.Model(x, {"gru_h_next": keras.layers.GRU(UNITS, name="gru")(x)})
    with pytest.raises(
        ValueError, match="'gru_h_next' of the model has the name of the next value"
    ):
        rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)


def test_a_model_without_states(tmp_path):
    model = keras.Sequential([keras.Input((None, SIZE)), keras.layers.Dense(2)], name="flat")
    with pytest.raises(ValueError, match="'flat' cannot stream, because it has no recurrent layer"):
        rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)


def test_states_that_are_not_returned(tmp_path):
    model = states_in_and_out(all=False)
    with pytest.raises(ValueError, match="'lstm' cannot stream.* is the input 'c', but its state"):
        rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)


def test_a_layer_that_looks_at_other_steps_is_found_out(tmp_path):
    inputs = keras.Input((None, SIZE))
    x = keras.layers.Lambda(lambda x: keras.ops.cumsum(x, 1), output_shape=(None, SIZE))(inputs)
    model = keras.Model(inputs, keras.layers.GRU(UNITS, **SEQUENCES)(x))
    with pytest.raises(ValueError, match="The file and the model have different results"):
        rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("time", [1, 2])
def test_a_batch_of_one_call_passes_states(time, tmp_path):
    """A file that is wrong from the second call on, and one that is right."""
    for name, layers in (
        ("wrong", [keras.layers.Lambda(lambda x: tf.cumsum(x, 1), output_shape=(None, SIZE))]),
        ("right", []),
    ):
        gru = keras.layers.GRU(UNITS, **SEQUENCES)
        model = drawn(keras.Sequential([keras.Input((None, SIZE)), *layers, gru]))
        options = {"streaming": True, "time": time, "print_fn": None}
        options["verify_inputs"] = np.ones((1, time, SIZE))
        if name == "wrong":
            with pytest.raises(ValueError, match="have different results"):
                rnn.export(model, tmp_path / name, **options)
        else:
            report = rnn.export(model, tmp_path / name, **options)
            assert report.difference < 1e-6 and "verify_inputs" in report.note


def test_sequences_of_different_numbers_of_calls(tmp_path):
    a, b = keras.Input((None, SIZE), name="a"), keras.Input((None, SIZE), name="b")
    outputs = [keras.layers.GRU(UNITS)(a), keras.layers.GRU(UNITS)(b)]
    batch = {"a": np.ones((1, 1, SIZE)), "b": np.ones((1, 3, SIZE))}
    with pytest.raises(ValueError, match="steps for 1 and for 3 calls"):
        rnn.export(
            keras.Model({"a": a, "b": b}, outputs), tmp_path / "m",
            streaming=True, verify_inputs=batch, print_fn=None,
        )  # fmt: skip


def test_a_sequence_of_the_user(tmp_path):
    model = keras.Sequential([keras.Input((None, SIZE)), keras.layers.GRU(UNITS)])
    signature = [keras.InputSpec(shape=(2, 3, SIZE), dtype="float32")]
    options = {"input_signature": signature, "streaming": True, "print_fn": None}
    report = rnn.export(model, tmp_path / "m", verify_inputs=np.ones((2, 9, SIZE)), **options)
    assert report.difference < 1e-6
    with pytest.raises(ValueError, match="a multiple of the 3 steps of a call, but .* has 8 steps"):
        rnn.export(model, tmp_path / "n", verify_inputs=np.ones((2, 8, SIZE)), **options)
