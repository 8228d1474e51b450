"""convert: models inside of models, inputs that they share, and objects at several places."""

import inspect

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops.keras import convert


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 6, 3)).astype("float32")


def assert_same(copy, model, x):
    want, got = (one.predict(x, verbose=0) for one in (model, copy))
    np.testing.assert_allclose(got, want, atol=1e-6)


def randomize(model, rng):
    model.set_weights([rng.normal(size=w.shape) for w in model.get_weights()])
    return model


@pytest.mark.parametrize("kind", ["functional", "sequential", "subclassed"])
def test_an_input_that_two_models_share(kind, x, rng):
    """The usual autoencoder: the decoder's model begins with the input of the encoder's."""
    inputs = keras.Input((6, 3))
    if kind == "functional":
        encoder = keras.Model(inputs, keras.layers.LSTM(4)(inputs))
    elif kind == "sequential":
        encoder = keras.Sequential([inputs, keras.layers.LSTM(4)])
    else:

        class Encoder(keras.Model):
            pass

        encoder = Encoder(inputs, keras.layers.LSTM(4)(inputs))
    model = randomize(keras.Model(inputs, keras.layers.Dense(1)(encoder(inputs))), rng)
    copy = convert(model)
    assert_same(copy, model, x)
    assert type(copy.layers[1]) is type(encoder)
    assert type(copy.layers[1].layers[-1]) is tf_rnn_ops.keras.LSTM
    assert_same(convert(copy, to="keras"), model, x)


class Built(keras.Model):
    """A functional model that makes its layers itself, under names that Keras counts up."""

    def __init__(self, units=4, **kwargs):
        inputs = keras.Input((6, 3))
        rnns = [keras.layers.LSTM(units, return_sequences=True) for _ in range(2)]
        super().__init__(inputs, rnns[0](rnns[1](keras.layers.Dense(units)(inputs))), **kwargs)
        self.units, self.rnns = units, rnns

    def get_config(self):
        return {"units": self.units, "name": self.name}


class Listed(keras.Sequential):
    """A sequential one."""

    def __init__(self, units=4, **kwargs):
        rnns = [keras.layers.LSTM(units, return_sequences=True) for _ in range(2)]
        super().__init__([keras.Input((6, 3)), keras.layers.Dense(units), *rnns], **kwargs)

    def get_config(self):
        return {"name": self.name}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("kind", [Built, Listed])
def test_classes_that_make_the_layers_of_a_graph(kind, nested, x, rng):
    model = kind()
    if nested:
        model = keras.Sequential([keras.Input((6, 3)), model])
    randomize(model, rng)
    assert_same(convert(model), model, x)


class Add(keras.layers.Layer):
    """Adds what is given."""

    def call(self, x, other=None):
        return x if other is None else x + other


def with_optional_input(sequence):
    inputs = [sequence, keras.Input((4,), optional=True)]
    return inputs, Add()(keras.layers.LSTM(4)(sequence), inputs[1])


@pytest.mark.skipif(
    "optional" not in inspect.signature(keras.Input).parameters, reason="no optional inputs"
)
def test_optional_inputs_of_nested_models(x):
    inner = keras.Model(*with_optional_input(keras.Input((6, 3))))
    inputs = [keras.Input((6, 3)), keras.Input((4,), optional=True)]
    model = keras.Model(inputs, keras.layers.Dense(2)(inner(inputs)))
    copy = convert(model)
    np.testing.assert_allclose(copy([x, None]), model([x, None]), atol=1e-6)


@pytest.mark.parametrize("flag", ["ragged", "sparse", "optional"])
@pytest.mark.parametrize("nested", [False, True])
def test_flags_of_inputs(flag, nested):
    if flag not in inspect.signature(keras.Input).parameters:
        pytest.skip(f"Keras {keras.__version__} has no {flag} inputs")
    for inner in (
        keras.Sequential([keras.Input((3,), **{flag: True}), keras.layers.Identity()]),
        keras.Model(i := keras.Input((3,), **{flag: True}), keras.layers.Identity()(i)),
    ):
        outside = keras.Input((3,), **{flag: True})
        model = keras.Model(outside, inner(outside)) if nested else inner
        copy = convert(model)
        for one, old in [(copy, model), (copy.layers[-1], inner)][: 1 + nested]:
            assert getattr(one._layers[0], flag) is True
            assert one._layers[0].name == old._layers[0].name


class Two(keras.Model):
    """Two layers of equal shapes."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.a = keras.layers.LSTM(3, return_sequences=True)
        self.b = keras.layers.LSTM(3, return_sequences=True)
        self.more = {"c": keras.layers.Dense(3), "d": [keras.layers.Dense(3)]}

    def build(self, shape):
        for layer in (self.a, self.b, self.more["c"], self.more["d"][0]):
            layer.build(shape)

    def call(self, x):
        return self.more["d"][0](self.more["c"](self.b(self.a(x))))


def swap_layers(model):
    model.a, model.b = model.b, model.a


def swap_in_containers(model):
    model.more["c"], model.more["d"] = model.more["d"][0], [model.more["c"]]


def swap_variables(model):
    cells = model.a.cell, model.b.cell
    cells[0].kernel, cells[0].recurrent_kernel = cells[0].recurrent_kernel, cells[0].kernel


@pytest.mark.parametrize("swap", [swap_layers, swap_in_containers, swap_variables])
def test_attributes_that_changed_places(swap, x, rng):
    model = Two()
    model.build((None, 6, 3))
    randomize(model, rng)
    swap(model)
    assert_same(convert(model), model, x)


def test_the_optimizer_follows_attributes_that_changed_places(x, rng):
    model = Two()
    model.build((None, 6, 3))
    swap_layers(model)
    model.compile(keras.optimizers.Adam(0.1), "mse")
    y = rng.normal(size=(4, 6, 3)).astype("float32")
    model.fit(x, y, epochs=2, verbose=0)
    copy = convert(model)
    for one in (model, copy):
        one.fit(x, y, epochs=2, verbose=0)
    assert_same(copy, model, x)


def test_a_cell_of_two_layers(x):
    cell = keras.layers.LSTMCell(3)
    layers = [keras.layers.RNN(cell, return_sequences=True, name=name) for name in "pq"]
    model = keras.Sequential([keras.Input((None, 3)), *layers])
    copy = convert(model)
    assert copy.layers[0].cell is copy.layers[1].cell is not cell
    assert_same(copy, model, x)


def test_a_layer_at_two_attributes(x):
    class Twice(Two):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.b = self.a

    model = Twice()
    model.build((None, 6, 3))
    copy = convert(model)
    assert copy.a is copy.b
    assert_same(copy, model, x)


def test_a_config_that_holds_the_layer_itself():
    class Holds(keras.layers.Layer):
        def __init__(self, inner, **kwargs):
            super().__init__(**kwargs)
            self.inner = inner

        def get_config(self):
            return {**super().get_config(), "inner": self.inner}

    layer = Holds(keras.layers.LSTM(3))
    with pytest.raises(ValueError, match="shares the layer 'lstm.*' with it"):
        convert(layer)
    assert type(layer.inner) is keras.layers.LSTM


def test_any_error_of_a_config():
    class Listless(Listed):
        @classmethod
        def from_config(cls, config):
            return cls(units=config["units"])

    with pytest.raises(
        ValueError, match="class Listless cannot be copied .*: KeyError: 'units'. Give"
    ):
        convert(Listless())


def test_the_message_names_the_difference():
    class Grows(keras.Model):
        """Gets a layer that its constructor knows nothing of."""

    model = Grows(name="grows")
    model.extra = keras.layers.Dense(2)
    with pytest.raises(ValueError, match="grows must have 1 layers of its own, but it has 0"):
        convert(model)


@pytest.mark.parametrize("kind", ["functional", "sequential"])
def test_a_compiled_model_inside(kind, x, rng):
    inputs = keras.Input((6, 3))
    if kind == "functional":
        inner = keras.Model(inputs, keras.layers.LSTM(4)(inputs))
    else:
        inner = keras.Sequential([inputs, keras.layers.LSTM(4)])
    inner.compile(keras.optimizers.Adam(0.1), "mae")
    y = rng.normal(size=(4, 4)).astype("float32")
    inner.fit(x, y, epochs=2, verbose=0)
    model = keras.Model(inputs, keras.layers.Dense(1)(inner(inputs)))
    copy = convert(model)
    assert not copy.compiled
    inner_copy = copy.layers[1]
    assert inner.compiled and inner_copy.compiled and inner_copy.loss == "mae"
    for one in (inner, inner_copy):
        one.fit(x, y, epochs=2, verbose=0)
    assert_same(copy, model, x)


class Net(keras.Model):
    """Keras's recommended form: no build(), and only **kwargs."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.rnn, self.out = keras.layers.LSTM(3), keras.layers.Dense(1)

    def call(self, x, training=False):
        return self.out(self.rnn(x, training=training))


class Tokens(Net):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embedding = keras.layers.Embedding(5, 3, mask_zero=True)

    def call(self, x):
        return super().call(self.embedding(x))


class TwoInputs(Net):
    def call(self, x):
        first, second = x.values() if isinstance(x, dict) else x
        return super().call(first + second)


class TwoArguments(Net):
    def call(self, x, factor=None):
        return super().call(x if factor is None else x * factor)


class Outer(Net):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.inner = Net()

    def call(self, x):
        return super().call(x) + self.inner(x)


IN_CALL = {
    "one input": (Net, lambda x: x),
    "tokens": (Tokens, lambda x: (x[..., 0] > 0).astype("int32")),
    "list": (TwoInputs, lambda x: [x, x]),
    "dict": (TwoInputs, lambda x: {"a": x, "b": x}),
    "two arguments": (TwoArguments, lambda x: x),
    "model in a model": (Outer, lambda x: x),
    "model in a sequence": (lambda: keras.Sequential([Net(), keras.layers.Dense(1)]), lambda x: x),
    "model in a graph": (lambda: _around(Net()), lambda x: x),
}


def _around(model):
    inputs = keras.Input((5, 3))
    return keras.Model(inputs, keras.layers.Dense(1)(model(inputs)))


@pytest.mark.parametrize(
    "kind",
    [
        kind
        if kind in ("one input", "model in a graph")
        else pytest.param(kind, marks=pytest.mark.thorough)
        for kind in IN_CALL
    ],
)
def test_a_trained_model_that_is_built_when_it_is_called(kind, rng, tmp_path):
    make, inputs = IN_CALL[kind]
    x, y = inputs(rng.normal(size=(8, 5, 3)).astype("float32")), np.ones((8, 1))
    model = make()
    model.compile("adam", "mse")
    model.fit(x, y, epochs=2, verbose=0, shuffle=False)
    copy = convert(model)
    back = convert(copy, to="keras")
    again = convert(back)
    copies = (copy, back, again)
    for one in copies:
        assert one.built and one.count_params() == model.count_params()
        for value, other in zip(one.optimizer.variables, model.optimizer.variables, strict=True):
            np.testing.assert_array_equal(value, other)
    if kind in ("one input", "tokens"):
        tf_rnn_ops.keras.export(copy, tmp_path / "copy", print_fn=None)
        tf_rnn_ops.keras.export(model, tmp_path / "model", print_fn=None)
    losses = [one.fit(x, y, verbose=0, shuffle=False).history["loss"] for one in (model, *copies)]
    np.testing.assert_allclose(losses, [losses[0]] * 4, rtol=1e-5)
    want = model.predict(x, verbose=0)
    for one in copies:
        np.testing.assert_allclose(one.predict(x, verbose=0), want, atol=1e-5)


def test_two_arguments_of_a_call(x):
    model = TwoArguments()
    model(x, factor=2 * x)
    copy = convert(convert(model), to="keras")
    assert copy.built
    np.testing.assert_allclose(copy(x, factor=x), model(x, factor=x), atol=1e-6)
