"""Converters that take layers, modules and models, against the frameworks' own results."""

import keras
import numpy as np
import op_runs
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops import params

UNITS, INPUTS = 4, 3


def _randomize(model, rng):
    model.set_weights([0.4 * rng.standard_normal(w.shape) for w in model.get_weights()])
    return model


def _run_op(converted, x):
    return op_runs.run(*converted, np.swapaxes(x, 0, 1))[0].swapaxes(0, 1)


def _assert_runs_as(converted, model, x, atol=1e-13):
    np.testing.assert_allclose(_run_op(converted, x), model(x), rtol=0, atol=atol)


LAYERS = {
    "lstm": (keras.layers.LSTM, {}),
    "gru": (keras.layers.GRU, {}),
    "rnn_tanh": (keras.layers.SimpleRNN, {}),
    "rnn_relu": (keras.layers.SimpleRNN, {"activation": "relu"}),
    "lstm of tf_rnn_ops": (tf_rnn_ops.keras.LSTM, {"use_bias": False}),
}


def _layer(name, **options):
    cls, arguments = LAYERS[name]
    return cls(UNITS, return_sequences=True, dtype="float64", **arguments, **options)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_of_keras(name, rng):
    x = rng.standard_normal((2, 6, INPUTS))
    layer = _layer(name)
    layer(x)
    converted = params.from_keras(_randomize(layer, rng))
    assert converted.layout.rnn_mode == name.split()[0]
    _assert_runs_as(converted, layer, x)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_a_model_of_keras(name, nested, rng):
    x = rng.standard_normal((2, 6, INPUTS))
    stack = [
        keras.layers.Bidirectional(_layer(name), dtype="float64"),
        keras.layers.Dropout(0.5, dtype="float64"),
        keras.layers.Bidirectional(_layer(name), dtype="float64"),
    ]
    head = keras.layers.Dense(2, dtype="float64")
    inner = keras.Sequential([keras.Input((None, INPUTS), dtype="float64"), *stack])
    model = keras.Sequential([inner, head]) if nested else keras.Sequential([*stack, head])
    model(x)
    _randomize(model, rng)
    converted = params.from_keras(model)
    assert converted.layout.num_layers == 2 and converted.layout.direction == "bidirectional"
    _assert_runs_as(converted, inner, x)
    of_list = params.from_keras([stack[0], stack[2]])
    assert op_runs.same_bits(of_list.params, converted.params)


def test_a_stack_of_ours(rng):
    x = rng.standard_normal((2, 6, INPUTS))
    layer = tf_rnn_ops.keras.CudnnLSTM(
        UNITS, num_layers=2, num_proj=2, return_sequences=True, dtype="float64"
    )
    layer(x)
    _assert_runs_as(params.from_keras(_randomize(layer, rng)), layer, x)


REFUSED = [
    (
        lambda: _layer("lstm", recurrent_activation="relu"),
        "recurrent_activation of layer .* 'relu'",
    ),
    (lambda: keras.layers.LSTM(4, activation="relu"), "activation of layer .* must be 'tanh'"),
    (lambda: keras.layers.GRU(4, reset_after=False), "reset_after of layer .* must be True"),
    (lambda: keras.layers.GRU(4, go_backwards=True), "go_backwards of layer .* must be False"),
    (
        lambda: keras.layers.Bidirectional(keras.layers.GRU(4), merge_mode="sum"),
        "merge_mode of layer .* must be 'concat'",
    ),
    (lambda: keras.layers.Dense(4), "There is no layer of class LSTM, GRU, SimpleRNN in Dense"),
    (
        lambda: keras.Sequential(
            [
                keras.layers.LSTM(4, return_sequences=True),
                keras.layers.Dense(4, name="between"),
                keras.layers.LSTM(4),
            ]
        ),
        "'between' of class Dense is between the recurrent layers",
    ),
    (
        lambda: keras.Sequential(
            [keras.layers.LSTM(4, return_sequences=True), keras.layers.GRU(4)]
        ),
        "All layers must be of one kind, but .* are .'lstm', 'gru'.",
    ),
]


@pytest.mark.parametrize(("make", "match"), REFUSED)
def test_refused_layers(make, match):
    model = make()
    model.build((None, None, INPUTS))
    with pytest.raises(ValueError, match=match):
        params.from_keras(model)


def test_a_stack_that_runs_backwards():
    stack = tf_rnn_ops.keras.CudnnLSTM(UNITS, go_backwards=True, name="back")
    stack.build((None, None, INPUTS))
    with pytest.raises(ValueError, match="go_backwards of the stack 'back' must be False"):
        params.from_keras(stack)


BACKWARD = [
    ({}, {"activation": "relu"}, "activation of layer .* must be 'tanh'.* 'relu'"),
    ({}, {"recurrent_activation": "relu"}, "recurrent_activation of layer .* 'relu'"),
    ({"go_backwards": True}, {"go_backwards": False}, "go_backwards of layer .* must be False"),
]


@pytest.mark.parametrize(("forward", "backward", "match"), BACKWARD)
def test_a_backward_layer_with_other_arguments(forward, backward, match):
    layer = keras.layers.Bidirectional(
        keras.layers.LSTM(UNITS, **forward),
        backward_layer=keras.layers.LSTM(UNITS, **{"go_backwards": True, **backward}),
    )
    layer.build((None, None, INPUTS))
    with pytest.raises(ValueError, match=match):
        params.from_keras(layer)


def test_a_backward_layer_of_another_kind():
    layer = keras.layers.Bidirectional(
        keras.layers.SimpleRNN(UNITS),
        backward_layer=keras.layers.SimpleRNN(UNITS, activation="relu", go_backwards=True),
    )
    layer.build((None, None, INPUTS))
    with pytest.raises(ValueError, match="must be of one kind, but .* .'rnn_tanh', 'rnn_relu'."):
        params.from_keras(layer)


def test_a_gru_from_before_reset_after():
    """That of Keras 2.0: no such argument, and the formula of reset_after=False."""

    class Old(keras.layers.GRU):
        def get_config(self):
            config = super().get_config()
            del config["reset_after"]
            return config

    layer = Old(UNITS, reset_after=False, use_bias=False)
    layer.build((None, None, INPUTS))
    with pytest.raises(ValueError, match="reset_after of layer .* must be True"):
        params.from_keras(layer)


def test_a_config_without_the_arguments_of_keras(rng):
    class Mine(keras.layers.LSTM):
        def get_config(self):
            return {"name": self.name}

    x = rng.standard_normal((2, 6, INPUTS))
    layer = Mine(UNITS, return_sequences=True, dtype="float64")
    layer(x)
    _assert_runs_as(params.from_keras(_randomize(layer, rng)), layer, x)


def test_a_layer_with_attributes_of_its_user(rng):
    layer = _layer("lstm")
    layer.build((None, None, INPUTS))
    want = params.from_keras(_randomize(layer, rng)).params
    layer.params = {"learned": "elsewhere"}
    assert op_runs.same_bits(params.from_keras(layer).params, want)


def test_straight_into_a_layer(rng):
    x = rng.standard_normal((2, 6, INPUTS))
    stock = keras.Sequential(
        [keras.layers.Bidirectional(_layer("gru"), dtype="float64") for _ in range(2)]
    )
    stock(x)
    _randomize(stock, rng)
    layer = tf_rnn_ops.keras.CudnnGRU.from_converted(
        params.from_keras(stock), return_sequences=True, dtype="float64"
    )
    np.testing.assert_allclose(layer(x), stock(x), rtol=0, atol=1e-13)
    with pytest.raises(ValueError, match="belong to rnn_mode='gru', but CudnnLSTM computes 'lstm'"):
        tf_rnn_ops.keras.CudnnLSTM.from_converted(params.from_keras(stock))
    with pytest.raises(ValueError, match="units is 4 in the weights and cannot be an option"):
        tf_rnn_ops.keras.CudnnGRU.from_converted(params.from_keras(stock), units=8)


# ---- CuDNNLSTM and CuDNNGRU ----


class _CuDNNLayer:
    """A mock of a layer of Keras 2, with the attributes that the converter reads."""

    def __init__(self, name, weights, go_backwards=False):
        self.name, self.weights, self.go_backwards = name, weights, go_backwards

    def get_weights(self):
        return self.weights

    def get_config(self):
        return {"name": self.name, "go_backwards": self.go_backwards}


class Bidirectional:
    """A mock of a Bidirectional layer around two such layers."""

    def __init__(self, forward_layer, backward_layer, merge_mode="concat"):
        self.forward_layer, self.backward_layer = forward_layer, backward_layer
        self.name, self.merge_mode = "both", merge_mode

    def get_weights(self):
        return self.forward_layer.get_weights() + self.backward_layer.get_weights()

    def get_config(self):
        return {"name": self.name, "merge_mode": self.merge_mode}


class CuDNNLSTM(_CuDNNLayer):
    gates = 4


class CuDNNGRU(_CuDNNLayer):
    gates = 3


def _cudnn_weights(gates, width, rng):
    shapes = ((width, gates * UNITS), (UNITS, gates * UNITS), (2 * gates * UNITS,))
    return [0.4 * rng.standard_normal(shape) for shape in shapes]


def _as_keras_2_converts(weights, gates):
    """The conversion of CuDNN weights by Keras 2 when it loaded them into an LSTM or GRU."""
    kernel, recurrent, bias = weights
    kernel = [k.T.reshape(k.shape, order="F") for k in np.hsplit(kernel, gates)]
    recurrent = [k.T for k in np.hsplit(recurrent, gates)]
    bias = np.sum(np.split(bias, 2), axis=0) if gates == 4 else bias.reshape(2, -1)
    return [np.hstack(kernel), np.hstack(recurrent), bias]


@pytest.mark.parametrize("how", ["arrays", "layers", "bidirectional"])
@pytest.mark.parametrize("cls", [CuDNNLSTM, CuDNNGRU])
def test_cudnn_layers(cls, how, rng):
    gates, x = cls.gates, rng.standard_normal((2, 6, INPUTS))
    plain = {4: keras.layers.LSTM, 3: keras.layers.GRU}[gates]
    make = lambda: plain(UNITS, return_sequences=True, dtype="float64")  # noqa: E731
    if how == "bidirectional":
        halves = [_cudnn_weights(gates, INPUTS, rng) for _ in range(2)]
        want = keras.layers.Bidirectional(make(), dtype="float64")
        want.build(x.shape)
        want.set_weights(sum((_as_keras_2_converts(half, gates) for half in halves), []))
        layer = Bidirectional(cls("a", halves[0]), cls("b", halves[1], go_backwards=True))
        for source in (halves[0] + halves[1], layer):
            _assert_runs_as(params.from_cudnn_layer(source), want, x)
        return
    first, second = _cudnn_weights(gates, INPUTS, rng), _cudnn_weights(gates, UNITS, rng)
    want = keras.Sequential([make(), make()])
    want.build(x.shape)
    want.set_weights(_as_keras_2_converts(first, gates) + _as_keras_2_converts(second, gates))
    source = [first, second] if how == "arrays" else [cls("a", first), cls("b", second)]
    _assert_runs_as(params.from_cudnn_layer(source), want, x)
    want = make()
    want.build(x.shape)
    want.set_weights(_as_keras_2_converts(first, gates))
    source = first if how == "arrays" else cls("a", first)
    for alone in (source, [source]):
        _assert_runs_as(params.from_cudnn_layer(alone), want, x)


def test_bad_cudnn_weights(rng):
    kernel, recurrent, bias = _cudnn_weights(4, INPUTS, rng)
    forwards = CuDNNLSTM("a", [kernel, recurrent, bias])
    backwards = CuDNNLSTM("b", [kernel, recurrent, bias], go_backwards=True)
    for weights, match in (
        ([kernel, recurrent], "must be 3 arrays for each layer, or 6 .* layer 0 has 2"),
        ([], "there is no layer"),
        ([kernel, recurrent, bias[:16]], r"bias of layer 0 must have shape \(32,\)"),
        (
            [kernel, recurrent[:, :4], bias],
            "3 or 4 gates, of a CuDNNGRU or a CuDNNLSTM, but it has 1",
        ),
        (
            [[kernel, recurrent, bias], [kernel, recurrent, bias]],
            "kernel of layer 1 must have shape",
        ),
        ([[kernel, recurrent, bias], [kernel] * 6], "Layer 1 must have 3 arrays"),
        (keras.layers.LSTM(4), "of class LSTM is recurrent .* class CuDNNLSTM, CuDNNGRU only"),
        (backwards, "go_backwards of layer 'b' must be False"),
        (Bidirectional(backwards, forwards), "go_backwards of layer 'b' must be False"),
        (Bidirectional(forwards, forwards), "go_backwards of layer 'a' must be True"),
        (Bidirectional(forwards, backwards, "sum"), "merge_mode of layer 'both' must be 'concat'"),
        ([forwards, CuDNNGRU("c", [])], "must be of one kind, but .* .'CuDNNLSTM', 'CuDNNGRU'."),
    ):
        with pytest.raises(ValueError, match=match):
            params.from_cudnn_layer(weights)


# ---- PyTorch ----


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_a_module_of_torch(mode):
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    options = {"num_layers": 2, "bidirectional": True, "dtype": torch.float64}
    if mode.startswith("rnn"):
        module = torch.nn.RNN(INPUTS, UNITS, nonlinearity=mode[4:], **options)
    else:
        module = getattr(torch.nn, mode.upper())(INPUTS, UNITS, **options)
    outer = torch.nn.Sequential(torch.nn.Identity(), module)
    x = torch.randn(6, 2, INPUTS, dtype=torch.float64)
    with torch.no_grad():
        want = module(x)[0].numpy()
    for converted in (params.from_torch(module), params.from_torch(outer, prefix="1.")):
        got = op_runs.run(*converted, x.numpy())[0]
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-13)


def test_bfloat16_of_torch():
    torch = pytest.importorskip("torch")
    module = torch.nn.LSTM(INPUTS, UNITS)
    half = torch.nn.LSTM(INPUTS, UNITS, dtype=torch.bfloat16)
    half.load_state_dict({n: t.bfloat16() for n, t in module.state_dict().items()})
    rounded = {n: t.bfloat16().float().numpy() for n, t in module.state_dict().items()}
    got = params.from_torch(half).params
    assert got.dtype == np.float32
    assert op_runs.same_bits(got, params.from_torch(rounded).params)
