"""convert: layers inside of wrappers and of layers of a user's own."""

import gc
import warnings
import weakref

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as rnn

SIZE, UNITS, TIME = 3, 4, 5
SEQUENCES = {"return_sequences": True}
KERAS = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)


class Scale(keras.layers.Layer):
    """A layer of a class that is not registered, and that its module does not have."""

    def build(self, shape):
        self.factor = self.add_weight(shape=(shape[-1],), initializer="ones")

    def call(self, x):
        return x * self.factor


Scale.__qualname__ = "Gone"


class Residual(keras.layers.Wrapper):
    def call(self, x):
        return x + self.layer(x)

    def compute_output_shape(self, shape):
        return shape


class Holder(keras.layers.Layer):
    """Holds layers in a list, a dict and an attribute, which its config serializes."""

    def __init__(self, first, listed, named, **kwargs):
        super().__init__(**kwargs)
        self.first, self.listed, self.named = first, list(listed), dict(named)

    def build(self, shape):
        for layer in (self.first, *self.listed, *self.named.values()):
            layer.build(shape)
            shape = layer.compute_output_shape(shape)

    def call(self, x):
        for layer in (self.first, *self.listed, *self.named.values()):
            x = layer(x)
        return x

    def get_config(self):
        make = keras.saving.serialize_keras_object
        parts = {
            "first": make(self.first),
            "listed": [make(one) for one in self.listed],
            "named": {name: make(one) for name, one in self.named.items()},
        }
        return {**super().get_config(), **parts}

    @classmethod
    def from_config(cls, config):
        for name in ("first", "listed", "named"):
            config[name] = keras.saving.deserialize_keras_object(config[name])
        return cls(**config)


def double():
    return keras.layers.Lambda(lambda x: 2 * x)


def inner(*layers):
    return keras.Sequential([keras.Input((TIME, SIZE)), *layers])


def a_lambda(x):
    return keras.layers.GRU(UNITS)(keras.layers.TimeDistributed(double())(x))


def a_model_in_a_wrapper(x):
    """Hierarchical attention: the model of a sentence for each sentence."""
    x = keras.ops.expand_dims(x, 1)
    model = inner(double(), Scale(), keras.layers.LSTM(UNITS))
    return keras.layers.GRU(UNITS)(keras.layers.TimeDistributed(model)(x))


def wrappers_in_wrappers(x):
    x = keras.ops.expand_dims(x, 1)
    x = keras.layers.TimeDistributed(keras.layers.TimeDistributed(double()))(x)
    rnns = keras.layers.Bidirectional(keras.layers.LSTM(UNITS))
    return keras.layers.TimeDistributed(rnns)(x)


def a_wrapper_of_the_user(x):
    return Residual(keras.layers.GRU(SIZE, **SEQUENCES))(x)


def layers_of_the_user(x):
    listed = [double(), keras.layers.SimpleRNN(UNITS, **SEQUENCES), Scale()]
    named = {"a": inner(keras.layers.GRU(SIZE, **SEQUENCES), double())}
    return Holder(keras.layers.LSTM(SIZE, **SEQUENCES), [Residual(double()), *listed[:1]], named)(x)


def a_layer_at_two_places(x):
    """A layer is in a wrapper and in the model, and twice in a layer of the user."""
    layer = keras.layers.LSTM(SIZE, **SEQUENCES)
    x = Residual(layer)(layer(x))
    twice = keras.layers.GRU(SIZE, **SEQUENCES)
    return Holder(twice, [twice], {"b": double()})(x)


def normalized(x):
    x = keras.layers.SpectralNormalization(keras.layers.Dense(SIZE))(x)
    return keras.layers.Bidirectional(
        keras.layers.LSTM(2), backward_layer=keras.layers.LSTM(2, go_backwards=True)
    )(x)


MODELS = [
    a_lambda,
    a_model_in_a_wrapper,
    wrappers_in_wrappers,
    a_wrapper_of_the_user,
    layers_of_the_user,
    a_layer_at_two_places,
    normalized,
]


def model_of(layers, rng):
    x = keras.Input((TIME, SIZE))
    model = keras.Model(x, layers(x))
    model.set_weights([rng.uniform(-0.7, 0.7, w.shape) for w in model.get_weights()])
    return model


def facts(model):
    """The facts that a copy must not change: the calls, classes and attributes of the layers, and the config."""
    layers = model._flatten_layers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a config with a lambda
        config = str(model.get_config())
    return (
        [(id(one), type(one), len(one._inbound_nodes), len(one._outbound_nodes)) for one in layers],
        [sorted(vars(one)) for one in layers],
        config,
    )


@pytest.mark.parametrize("layers", MODELS)
@pytest.mark.filterwarnings("error:The object being serialized")
def test_copies(layers, rng):
    model = model_of(layers, rng)
    x = rng.normal(size=(2, TIME, SIZE)).astype("float32")
    want, before = np.asarray(model(x)), facts(model)
    copy = rnn.convert(model)
    assert facts(model) == before
    np.testing.assert_allclose(copy(x), want, rtol=0, atol=1e-6)
    found = [type(one) for one in copy._flatten_layers()]
    assert not set(found) & set(KERAS)
    mine = {id(variable) for variable in model.variables}
    assert not mine & {id(variable) for variable in copy.variables}
    assert len(copy.weights) == len(model.weights)
    back = rnn.convert(copy, to="keras")
    np.testing.assert_allclose(back(x), want, rtol=0, atol=1e-6)
    assert facts(model) == before


@pytest.mark.parametrize("layers", MODELS)
def test_copies_are_freed(layers, rng):
    model = model_of(layers, rng)
    copy = rnn.convert(model)
    refs = [weakref.ref(one) for one in (*copy.weights, *copy._flatten_layers())]
    del copy
    gc.collect()
    assert not [ref() for ref in refs if ref() is not None]


def test_the_copy_of_a_layer_at_two_places_is_one_layer(rng):
    copy = rnn.convert(model_of(a_layer_at_two_places, rng))
    residual = next(one for one in copy.layers if isinstance(one, Residual))
    holder = next(one for one in copy.layers if isinstance(one, Holder))
    assert residual.layer in copy.layers and holder.first is holder.listed[0]


def test_policies(rng):
    class Own(keras.layers.Layer):
        """Makes its layers itself, and leaves the type out of its config."""

        def __init__(self):
            super().__init__()
            self.rnn = keras.layers.LSTM(UNITS)

        def build(self, shape):
            self.rnn.build(shape)

        def call(self, x):
            return self.rnn(x)

        def get_config(self):
            return {}

    keras.config.set_dtype_policy("mixed_float16")
    try:
        x = keras.Input((TIME, SIZE))
        y = keras.layers.TimeDistributed(double())(x)
        model = keras.Model(x, Own()(Residual(keras.layers.GRU(SIZE, **SEQUENCES))(y)))
    finally:
        keras.config.set_dtype_policy("float32")
    copy = rnn.convert(model)
    assert keras.config.dtype_policy().name == "float32"
    for one, other in zip(model._flatten_layers(), copy._flatten_layers(), strict=True):
        if not isinstance(one, keras.layers.InputLayer):
            assert one.dtype_policy.name == other.dtype_policy.name, one
    x = rng.normal(size=(2, TIME, SIZE)).astype("float32")
    np.testing.assert_allclose(copy(x), model(x), rtol=0, atol=5e-3)


def test_a_subclass_of_lambda(rng):
    class Halved(keras.layers.Lambda):
        def call(self, inputs, mask=None, training=None):
            return super().call(inputs) / 2

    x = keras.Input((TIME, SIZE))
    halved = Halved(lambda x: x + 1)
    model = keras.Model(x, keras.layers.LSTM(UNITS)(halved(x)))
    copy = rnn.convert(model)
    assert type(copy.layers[1]) is Halved and copy.layers[1] is not halved
    assert len(halved._inbound_nodes) == 1
    x = rng.normal(size=(2, TIME, SIZE)).astype("float32")
    np.testing.assert_allclose(copy(x), model(x), rtol=0, atol=1e-6)


def test_stacks_in_a_wrapper(rng):
    x = keras.Input((TIME, SIZE))
    model = keras.Model(x, Residual(rnn.CudnnGRU(SIZE, num_layers=2, **SEQUENCES))(x))
    copy = rnn.convert(model)
    assert type(copy.layers[1].layer) is rnn.CudnnGRU
    with pytest.raises(ValueError, match="CudnnGRU, which has no counterpart .*params.to_keras"):
        rnn.convert(model, to="keras")


@pytest.mark.parametrize("kind", ["functional", "sequential"])
def test_the_model_stays_compiled_meanwhile(kind):
    """Another thread may train or predict with it."""
    seen = []

    class Looks(keras.layers.Layer):
        @classmethod
        def from_config(cls, config):
            seen.append((model.compiled, [one.name for one in model.layers], model.loss))
            return cls(**config)

        def call(self, x):
            return x

    x = keras.Input((TIME, SIZE))
    if kind == "functional":
        model = keras.Model(x, keras.layers.LSTM(UNITS)(Looks()(x)))
    else:
        model = keras.Sequential([x, Looks(), keras.layers.LSTM(UNITS)])
    model.compile("sgd", "mse")
    names = [one.name for one in model.layers]
    copy = rnn.convert(model)
    assert seen == [(True, names, "mse")] and copy.compiled and copy.loss == "mse"
    assert copy.optimizer is not model.optimizer


def test_a_lambda_alone_and_a_lambda_twice(rng):
    layer = double()
    assert rnn.convert(layer).function is layer.function
    x = keras.Input((TIME, SIZE))
    model = keras.Model(x, keras.layers.GRU(UNITS)(layer(Residual(layer)(layer(x)))))
    before = facts(model)
    copy = rnn.convert(model)
    assert facts(model) == before
    assert len(copy.get_layer(layer.name)._inbound_nodes) == 2
    x = rng.normal(size=(2, TIME, SIZE)).astype("float32")
    np.testing.assert_allclose(copy(x), model(x), rtol=0, atol=1e-6)
