"""Each layer that a stepper has, next to the model on the whole sequence."""

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as rnn
from stepper.step_models import SEQUENCES, SIZE, chain, check, model_of, run, steps_of

L = keras.layers
CONFIGS = hasattr(keras.quantizers, "Int8QuantizationConfig")

RECURRENT = {
    "lstm": lambda: L.LSTM(5, **SEQUENCES),
    "lstm without bias": lambda: L.LSTM(5, use_bias=False, **SEQUENCES),
    "lstm relu": lambda: L.LSTM(
        5, activation="relu", recurrent_activation="hard_sigmoid", **SEQUENCES
    ),
    "gru": lambda: L.GRU(5, **SEQUENCES),
    "gru reset before": lambda: L.GRU(5, reset_after=False, **SEQUENCES),
    "simple": lambda: L.SimpleRNN(5, **SEQUENCES),
    "simple linear": lambda: L.SimpleRNN(5, activation="linear", **SEQUENCES),
    "peepholes": lambda: rnn.PeepholeLSTM(5, **SEQUENCES),
    "clipped": lambda: L.RNN(rnn.PeepholeLSTMCell(5, cell_clip=0.1), **SEQUENCES),
    "projected": lambda: rnn.ProjectedLSTM(5, num_proj=2, **SEQUENCES),
    "layer norm": lambda: rnn.LayerNormLSTM(5, **SEQUENCES),
    "zoneout": lambda: rnn.ZoneoutLSTM(5, zoneout_h=0.3, zoneout_c=0.2, **SEQUENCES),
    "stack": lambda: rnn.CudnnLSTM(5, num_layers=2, **SEQUENCES),
    "stack gru": lambda: rnn.CudnnGRU(5, **SEQUENCES),
    "stack projected": lambda: rnn.CudnnLSTM(5, num_layers=2, num_proj=2, **SEQUENCES),
    "cells": lambda: L.RNN([L.LSTMCell(5), L.GRUCell(4), rnn.PeepholeLSTMCell(2)], **SEQUENCES),
    "stateful": lambda: L.LSTM(5, **SEQUENCES),
    "conv": lambda: L.Conv1D(4, 3, padding="causal"),
    "conv dilated": lambda: L.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="elu"),
    "conv groups": lambda: L.Conv1D(6, 2, padding="causal", groups=3, use_bias=False),
    "conv of one step": lambda: L.Conv1D(4, 1),
}
# Each behind an LSTM.
OTHERS = {
    "dense": [lambda: L.Dense(4)],
    "dense without bias": [lambda: L.Dense(4, use_bias=False, activation="softmax")],
    "time distributed": [lambda: L.TimeDistributed(L.Dense(4, activation="tanh"))],
    "batch norm": [lambda: L.BatchNormalization()],
    "batch norm bare": [lambda: L.BatchNormalization(center=False, scale=False)],
    "layer norm": [lambda: L.LayerNormalization()],
    "layer norm bare": [lambda: L.LayerNormalization(center=False, scale=False, epsilon=0.1)],
    "relu": [lambda: L.ReLU(max_value=0.3, negative_slope=0.1, threshold=0.05)],
    "relu at its threshold": [lambda: L.Rescaling(0.0, offset=0.5), lambda: L.ReLU(threshold=0.5)],
    "rescaling of each": [lambda: L.Dense(2), lambda: L.Rescaling([1.0, 2.0])],
    "relu without a largest": [lambda: L.ReLU(max_value=float("inf"))],
    "leaky": [lambda: L.LeakyReLU(negative_slope=0.2)],
    "elu": [lambda: L.ELU(alpha=0.7)],
    "softmax": [lambda: L.Softmax()],
    "dropout": [
        lambda: L.Dropout(0.5),
        lambda: L.GaussianNoise(1.0),
        lambda: L.SpatialDropout1D(0.5),
    ],
    "rescaling": [lambda: L.Rescaling(0.5, offset=0.1)],
    "normalization": [lambda: L.Normalization(mean=[0.1, 2, 3, 1], variance=[0.0, 1, 2, 3])],
    "normalization of all": [lambda: L.Normalization(axis=None, mean=0.1, variance=2.0)],
    "reshape": [
        lambda: L.TimeDistributed(L.Dense(4)),
        lambda: L.Reshape((-1, 2, 2)),
        lambda: L.Dense(3),
        lambda: L.Reshape((-1, 6)),
    ],
}
if hasattr(L, "RMSNormalization"):
    OTHERS["rms norm"] = [lambda: L.RMSNormalization()]
ACTIVATIONS = [
    *(
        "relu",
        "tanh",
        "sigmoid",
        "hard_sigmoid",
        "exponential",
        "softplus",
        "softsign",
        "elu",
        "selu",
    ),
    *(
        "silu",
        "hard_silu",
        "mish",
        "softmax",
        "log_softmax",
        "relu6",
        "leaky_relu",
        "gelu",
        "linear",
    ),
]


# Keras runs the layers of this package with its kernels. For those layers this test finds weights and states that are
# in the wrong place, and tests/cc/cpu finds faults of the kernels.
@pytest.mark.parametrize("name", RECURRENT)
def test_layers_with_states(name):
    layer = RECURRENT[name]()
    if name == "stateful":
        layer.stateful = True
        x = keras.Input(batch_shape=(2, None, SIZE))
        model = keras.Model(x, L.Dense(2)(layer(x)))
        check(model, steps_of(model), times=(1, 3))
    else:
        check(chain(layer, L.LSTM(3, **SEQUENCES)), times=(1, 3))


@pytest.mark.parametrize("name", OTHERS)
def test_layers_without_states(name):
    check(chain(L.LSTM(4, **SEQUENCES), *(make() for make in OTHERS[name])))


def activation_of(name):
    """A model of [B, 1, 3] with the activation of its input, and a layer with a state."""
    x = keras.Input((None, 3), name="x")
    return keras.Model(x, {"y": L.Activation(name)(x), "h": L.GRU(2)(x)})


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    # The numbers are large enough to reach the bounds of the functions.
    x = np.random.default_rng(0).uniform(-20, 20, (200, 1, 3)).astype(np.float32)
    got = rnn.stepper(activation_of(name), batch_size=len(x))(x)["y"]
    np.testing.assert_allclose(got, keras.activations.get(name)(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["relu", "relu6", "leaky_relu", "elu", "tanh", "softplus"])
def test_activations_of_infinities(name):
    infinities = np.array([[[-np.inf, np.inf, 0]]], np.float32)
    got = rnn.stepper(activation_of(name))(infinities)["y"]
    np.testing.assert_allclose(got, keras.activations.get(name)(infinities), atol=1e-6)


@pytest.mark.parametrize("cell", [L.LSTM, L.GRU, L.SimpleRNN])
def test_int8_weights_give_the_same_numbers(cell):
    model = rnn.convert(chain(cell(20, **SEQUENCES), cell(9, **SEQUENCES)), quantize="int8")
    check(model, steps_of(model, batch=3, time=8), tolerance=1e-6)


def quantized_by_keras():
    def layers(x):
        x = L.LSTM(6, **SEQUENCES)(L.Embedding(7, 5)(x))
        return L.Dense(8, activation="relu", use_bias=False)(L.Dense(9)(x))

    model = model_of(layers, dtype="int32")
    model.quantize("int8", filters=["embedding", "dense"])
    return model


def test_int8_weights_of_keras():
    model = quantized_by_keras()
    layers = [layer for layer in model.layers if isinstance(layer, (L.Dense, L.Embedding))]
    assert [layer.quantization_mode for layer in layers] == ["int8"] * 3
    check(model, np.random.default_rng(0).integers(0, 7, (3, 40)), times=(1, 4))


def test_int8_dense_is_equal_to_keras_to_the_bit():
    model = chain(L.Conv1D(40, 2, padding="causal", use_bias=False), L.Dense(30))
    conv, dense = model.layers[1:]
    # The Dense sees the input, which the kernel of the convolution copies.
    conv.kernel.assign(np.stack([np.zeros((SIZE, 40)), np.eye(SIZE, 40)]))
    dense.quantize("int8")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 50, SIZE)) * 10 ** rng.uniform(-9, 9, (4, 50, 1))
    x[0, 0], x[0, 1, 0], x[0, 2, 0], x[0, 3] = 0, np.nan, np.inf, 3e38
    x = x.astype(np.float32)
    stepper = rnn.stepper(model, batch_size=4, time=50)
    np.testing.assert_array_equal(stepper(x), model(x))


@pytest.mark.skipif(not CONFIGS, reason="this Keras has no quantization configs")
def test_int8_weights_without_int8_inputs():
    model = chain(L.LSTM(6, **SEQUENCES), L.Dense(4))
    config = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
    model.layers[-1].quantize("int8", config=config)
    check(model)


@pytest.mark.skipif(not CONFIGS, reason="this Keras has no quantization configs")
def test_another_quantizer_of_the_inputs_is_an_error():
    model = chain(L.LSTM(6, **SEQUENCES), L.Dense(4))
    quantizer = keras.quantizers.AbsMaxQuantizer(value_range=(-7, 7))
    config = keras.quantizers.Int8QuantizationConfig(activation_quantizer=quantizer)
    model.layers[-1].quantize("int8", config=config)
    with pytest.raises(ValueError, match="quantizer"):
        rnn.stepper(model)


def test_the_last_step():
    model = chain(L.GRU(5, **SEQUENCES), L.LSTM(4), L.Dense(2))
    stepper, x = rnn.stepper(model, batch_size=2, time=2), steps_of(model)
    for t in range(0, 6, 2):
        y = stepper(x[:, t : t + 2])
        np.testing.assert_allclose(y, model(x[:, : t + 2]), atol=2e-6)


def test_a_graph_with_every_way_to_combine():
    def layers(x):
        a, b = L.LSTM(SIZE, **SEQUENCES)(x), L.Dense(SIZE)(x)
        parts = [
            L.Add()([a, b, x]),
            L.Subtract()([a, b]),
            L.Multiply()([a, b]),
            L.Average()([a, b, x]),
            L.Maximum()([a, b]),
            L.Minimum()([a, b]),
            a + b,
            a * b - x,
            keras.ops.tanh(keras.ops.concatenate([a, x], axis=-1)),
        ]
        return L.Dense(4)(L.Concatenate()(parts))

    check(model_of(layers, SIZE), tolerance=5e-6)


def test_embedding():
    def layers(x):
        return L.Dense(2)(L.LSTM(4, **SEQUENCES)(L.Embedding(7, 5)(x)))

    x = np.random.default_rng(0).integers(0, 7, (2, 6))
    for dtype in ("int32", "float32"):  # Keras gives an Input float32 if nothing else is asked for
        model = model_of(layers, dtype=dtype)
        check(model, x)
        check(model, x.astype(np.float32))
    for wrong in (0.5, np.nan, np.inf, 7.0, -1.0):
        with pytest.raises(ValueError, match="must"):
            rnn.stepper(model)(np.full((1, 1), wrong, np.float32))


def test_integers_are_converted():
    def layers(x):
        return L.LSTM(4, **SEQUENCES)(L.Rescaling(1 / 255)(x))

    x = np.random.default_rng(0).integers(0, 255, (2, 6, SIZE), "uint8")
    check(model_of(layers, SIZE, dtype="uint8"), x)


def test_one_number_a_step():
    def layers(x):
        return L.LSTM(4, **SEQUENCES)(L.Reshape((-1, 1))(L.Rescaling(0.5)(x)))

    check(model_of(layers), np.random.default_rng(0).standard_normal((2, 6)).astype(np.float32))
    with pytest.raises(ValueError, match="softmax"):
        rnn.stepper(model_of(lambda x: layers(L.Activation("softmax")(x))))


def test_lora():
    model = chain(L.LSTM(4, **SEQUENCES), L.Dense(3))
    model.layers[-1].enable_lora(2)
    model.layers[-1].lora_kernel_b.assign(np.ones((2, 3)))
    check(model)


def test_several_inputs_and_outputs():
    x, y = keras.Input((None, SIZE), name="x"), keras.Input((None, 2), name="y")
    h, state = L.GRU(4, return_state=True, name="gru", **SEQUENCES)(L.Concatenate()([x, y]))
    model = keras.Model({"x": x, "y": y}, {"h": h, "state": state, "again": h})
    rng = np.random.default_rng(0)
    arrays = {
        "x": rng.standard_normal((1, 4, SIZE)).astype(np.float32),
        "y": rng.standard_normal((1, 4, 2)).astype(np.float32),
    }
    want = model(arrays)
    stepper = rnn.stepper(model, time=2)
    for t in (0, 2):
        got = stepper({name: array[:, t : t + 2] for name, array in arrays.items()})
        np.testing.assert_allclose(got["h"], want["h"][:, t : t + 2], atol=2e-6)
        np.testing.assert_array_equal(got["h"], got["again"])
    np.testing.assert_allclose(got["state"], want["state"], atol=2e-6)
    np.testing.assert_array_equal(stepper.states["gru_h"], got["state"])


def test_states_that_are_inputs_of_the_model():
    x, first = keras.Input((None, SIZE), name="x"), keras.Input((4,), name="first")
    y, last = L.GRU(4, return_state=True, **SEQUENCES)(x, initial_state=first)
    model = keras.Model([x, first], [y, last])
    stepper, array = rnn.stepper(model), steps_of(keras.Model(x, x), batch=1)
    assert [tensor.name for tensor in stepper.inputs] == ["x"] and list(stepper.states) == ["first"]
    begin = np.full((1, 4), 0.3, np.float32)
    stepper.states = {"first": begin}
    np.testing.assert_allclose(run(stepper, array), model([array, begin])[0], atol=2e-6)


def test_a_model_that_returns_only_states_is_an_error():
    x, first = keras.Input((None, SIZE)), keras.Input((4,), name="first")
    _, last = L.GRU(4, return_state=True, **SEQUENCES)(x, initial_state=first)
    with pytest.raises(ValueError, match="outputs are states"):
        rnn.stepper(keras.Model([x, first], last))


def test_a_model_of_one_number_of_steps():
    model = keras.Sequential([keras.Input((4, SIZE)), L.LSTM(5), L.Dense(2)])
    stepper, x = rnn.stepper(model), steps_of(model, batch=1, time=4)
    assert stepper.time == 4
    np.testing.assert_allclose(stepper(x), model(x), atol=2e-6)


def test_a_model_inside_of_a_model_and_a_class_of_a_user():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = keras.Sequential([L.GRU(4, **SEQUENCES), L.Dense(SIZE)])

        def call(self, x):
            return self.inner(x) + x

    inner = keras.Sequential([keras.Input((None, SIZE)), L.LSTM(SIZE, **SEQUENCES)])
    check(chain(inner, Own()))


def _quantized(layer, mode="int8"):
    """A layer behind an LSTM of 4 units, quantized by Keras."""
    layer.build((None, None, 4))
    layer.quantize(mode)
    return layer


def _of(function):
    """Functions are layers here, for chain()."""
    return function


REFUSED = {
    "not causal": (lambda: L.Conv1D(2, 3), "cannot stream"),
    "both directions": (lambda: L.Bidirectional(L.LSTM(2, **SEQUENCES)), "cannot stream"),
    "no node": (lambda: L.UnitNormalization(), "unit_normalization"),
    "loop": (lambda: L.LSTM(4, activation="elu", **SEQUENCES), "activation=elu"),
    "activation": (lambda: L.Dense(2, activation=lambda x: x * 2), "activation"),
    "other axis": (lambda: L.Softmax(axis=1), "cannot stream"),
    "float16": (lambda: L.Dense(2, dtype="float16"), "float16"),
    "parameters": (lambda: L.PReLU(shared_axes=[1]), "PReLU"),
    "cast": (lambda: _of(lambda x: keras.ops.cast(keras.ops.cast(x, "int32"), "float32")), "Cast"),
    "cast to half": (lambda: _of(lambda x: keras.ops.cast(x, "float16")), "float16"),
    "mask of a softmax": (lambda: _of(lambda x: L.Softmax()(x, mask=x > 0)), "mask"),
    "float16 of each step": (lambda: L.TimeDistributed(L.Dense(2, dtype="float16")), "float16"),
    "no node of each step": (
        lambda: L.TimeDistributed(L.UnitNormalization(dtype="float16")),
        "UnitNormalization",
    ),
    "int4": (lambda: _quantized(L.Dense(2), "int4"), "int4"),
    "float8": (lambda: _quantized(L.Dense(2), "float8"), "float8"),
    "int8 of each step": (lambda: L.TimeDistributed(_quantized(L.Dense(2))), "TimeDistributed"),
    "inverted": (lambda: L.Normalization(mean=0.0, variance=1.0, axis=None, invert=True), "invert"),
    "lambda": (lambda: L.Lambda(lambda x: x**2), "lambda"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_stepper_cannot_run_is_an_error_that_names_it(name):
    make, part = REFUSED[name]
    model = chain(L.LSTM(4, name="first", **SEQUENCES), make())
    with pytest.raises(ValueError, match=part):
        rnn.stepper(model)


def of_integers(dtype, layer):
    """A model with a layer on an input of integers."""

    def layers(x):
        # Keras computes these in float32 from integers.
        return L.Concatenate()([L.Rescaling(1.0)(layer(x)), L.GRU(2, **SEQUENCES)(x)])

    return model_of(layers, SIZE, dtype=dtype)


COMPUTE_IN_INTEGERS = {
    "add": lambda x: L.Add()([x, x]),
    "multiply": lambda x: L.Multiply()([x, x]),
    "average": lambda x: L.Average()([x, x]),
    "plus": lambda x: x + x,
    "relu": lambda x: L.ReLU(max_value=3.5)(x),
    "leaky": lambda x: L.Activation("leaky_relu")(x),
    "each step": lambda x: L.TimeDistributed(L.ReLU(max_value=3.5))(x),
    "norm": lambda x: L.LayerNormalization()(x),
}
if hasattr(L, "RMSNormalization"):
    COMPUTE_IN_INTEGERS["rms norm"] = lambda x: L.RMSNormalization()(x)


@pytest.mark.parametrize("name", COMPUTE_IN_INTEGERS)
@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_what_keras_computes_in_integers_is_refused(name, dtype):
    with pytest.raises(ValueError, match=f"{dtype}.*, and a stepper"):
        rnn.stepper(of_integers(dtype, COMPUTE_IN_INTEGERS[name]))


def test_integers_that_keras_quantizes_are_refused():
    model = of_integers("uint8", dense := L.Dense(2))
    dense.quantize("int8")
    with pytest.raises(ValueError, match=f"{dense.name}.*uint8"):
        rnn.stepper(model)


@pytest.mark.parametrize(
    "layer",
    [
        lambda x: L.Dense(2)(x),
        lambda x: L.BatchNormalization()(x),
        lambda x: L.Normalization(mean=3.0, variance=2.0, axis=None)(x),
        lambda x: L.Rescaling(1 / 255)(x),
        lambda x: L.Dropout(0.1)(x),
        lambda x: L.TimeDistributed(L.Dense(2))(x),
        lambda x: L.Concatenate()([x, L.Rescaling(0.5)(x)]),
        lambda x: L.Add()([L.Rescaling(0.5)(x), x, x]),
        lambda x: L.Activation("linear")(x),
    ],
)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64"])
def test_inputs_that_keras_casts(layer, dtype):
    numbers = np.random.default_rng(1).integers(0, 250, (2, 6, SIZE)).astype(dtype)
    check(of_integers(dtype, layer), numbers)


def test_numbers_that_do_not_fit_the_integers_of_an_input():
    stepper = rnn.stepper(of_integers("uint8", lambda x: L.Rescaling(0.1)(x)))
    assert [tensor.dtype for tensor in stepper.inputs] == ["int32"]
    before = stepper(np.full((1, 1, SIZE), 255.0))
    for number, message in ((0.5, "must be integers"), (256, "from 0 to 255"), (-1, "from 0 to")):
        states = stepper.states
        with pytest.raises(ValueError, match=message):
            stepper(np.full((1, 1, SIZE), number))
        assert all((states[name] == state).all() for name, state in stepper.states.items())
    stepper.reset()
    np.testing.assert_array_equal(stepper(np.full((1, 1, SIZE), 255, np.uint8)), before)


def test_an_input_of_bools():
    flags = np.random.default_rng(0).integers(0, 2, (2, 6, SIZE)).astype(bool)
    check(of_integers("bool", lambda x: L.Multiply()([L.Rescaling(0.5)(x), x])), flags)


@pytest.mark.parametrize("layer", [L.ReLU, L.Softmax, lambda: L.Activation("tanh")])
def test_float64_that_keras_casts(layer):
    numbers = np.random.default_rng(1).standard_normal((2, 6, SIZE))
    check(of_integers("float64", lambda x: L.Add()([layer()(x), x])), numbers)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_an_input_of_half_floats_is_refused(dtype):
    with pytest.raises(ValueError, match=f"input 'x' is {dtype}"):
        rnn.stepper(model_of(lambda x: L.GRU(3)(x), SIZE, dtype=dtype))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_words_that_are_also_numbers(dtype):
    def layers(x):
        numbers = L.Reshape((-1, 1))(L.Rescaling(0.1)(x))
        return L.GRU(3, **SEQUENCES)(L.Concatenate()([L.Embedding(7, 2)(x), numbers]))

    words = np.random.default_rng(0).integers(0, 7, (2, 6))
    check(model_of(layers, dtype=dtype), words.astype(dtype))


@pytest.mark.parametrize("sequences", [True, False])
def test_inputs_in_a_dict_have_the_names_of_its_keys(sequences):
    a, b = keras.Input((None, SIZE), name="a"), keras.Input((None, SIZE), name="b")
    y = L.GRU(4, return_sequences=sequences)(L.Subtract()([a, b]))
    with pytest.warns(UserWarning, match="keys in the dict"):
        model = keras.Model({"b": a, "a": b}, y)
    rng = np.random.default_rng(0)
    arrays = {name: rng.standard_normal((1, 1, SIZE)).astype(np.float32) for name in "ab"}
    stepper = rnn.stepper(model)
    assert [tensor.name for tensor in stepper.inputs] == ["a", "b"]
    np.testing.assert_allclose(stepper(arrays), model(arrays), atol=2e-6)


def test_a_reshape_to_a_number_of_steps_is_refused():
    x = keras.Input((None, 4))
    model = keras.Model(x, [L.GRU(2)(x), L.Reshape((2, -1), name="pairs")(x)])
    with pytest.raises(ValueError, match="'pairs'.*number of steps"):
        rnn.stepper(model, time=2)
    x = keras.Input((2, 4))  # the model has this number of steps
    y = L.Reshape((2, 6))(L.Dense(3)(L.Reshape((2, 2, 2))(x)))
    model = keras.Model(x, L.GRU(2)(y))
    array = steps_of(model, batch=1, time=2)
    np.testing.assert_allclose(rnn.stepper(model)(array), model(array), atol=2e-6)


def test_an_input_that_is_a_keyword():
    def layers(x):
        y = L.Conv1D(4, 2, padding="causal")(inputs=x)
        return L.Dense(2)(inputs=L.LSTM(4, **SEQUENCES)(training=False, sequences=y))

    check(model_of(layers, SIZE))


def test_a_flatten_that_transposes_is_refused():
    flatten = L.Flatten(data_format="channels_first", name="flat")
    model = keras.Sequential([keras.Input((None, 3)), L.LSTM(6), L.Reshape((2, 3)), flatten])
    with pytest.raises(ValueError, match="'flat'.*channels_first"):
        rnn.stepper(model)
