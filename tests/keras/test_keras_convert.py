"""convert: copies of models that predict the same, and nothing half-converted."""

import gc
import re
import types
import weakref

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops.keras.layers import PeepholeLSTMCell
from tf_rnn_ops.native import xla

OURS = (tf_rnn_ops.keras.LSTM, tf_rnn_ops.keras.GRU, tf_rnn_ops.keras.SimpleRNN)
STOCK = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)


def recurrent_classes(model):
    """The classes of all recurrent layers of a model."""
    return {type(layer) for layer in model._flatten_layers() if isinstance(layer, keras.layers.RNN)}


class Encoder(keras.layers.Layer):
    """A layer of a user who has never heard of this package."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.rnns = [keras.layers.GRU(units, return_sequences=True), keras.layers.GRU(units)]

    def build(self, shape):
        self.rnns[0].build(shape)
        self.rnns[1].build((*shape[:2], self.units))

    def call(self, x):
        return self.rnns[1](self.rnns[0](x))

    def get_config(self):
        return {**super().get_config(), "units": self.units}


class Subclassed(keras.Model):
    """A model whose layers no config lists."""

    def __init__(self, units=4, **kwargs):
        super().__init__(**kwargs)
        self.rnn = keras.layers.Bidirectional(keras.layers.LSTM(units))
        self.out = keras.layers.Dense(2)

    def build(self, shape):
        self.rnn.build(shape)
        self.out.build((shape[0], 8))

    def call(self, x):
        return self.out(self.rnn(x))


def sequential():
    return keras.Sequential(
        [keras.Input((None, 3)), keras.layers.SimpleRNN(4, return_sequences=True), Encoder(3)]
    )


def functional():
    inputs = keras.Input((None, 3), name="words")
    x = keras.layers.Masking()(inputs)
    shared = keras.layers.LSTM(3, return_sequences=True, name="shared")
    x = shared(shared(x))
    x = keras.layers.Bidirectional(keras.layers.GRU(2, return_sequences=True), merge_mode="sum")(x)
    double = keras.layers.Lambda(lambda values: 2 * values, name="double")
    nested = keras.Sequential([keras.Input((None, 2)), keras.layers.LSTM(4), double], name="nested")
    x = nested(keras.ops.tanh(x))
    x = keras.layers.Lambda(lambda values: values - 1, name="less")(x)
    return keras.Model(inputs, keras.layers.Dense(2)(x))


def time_distributed():
    inputs = keras.Input((None, 3))
    x = keras.layers.Reshape((-1, 2, 3))(keras.layers.Concatenate(axis=1)([inputs, inputs]))
    inner = keras.Sequential([keras.Input((2, 3)), keras.layers.GRU(2)])
    return keras.Model(inputs, keras.layers.TimeDistributed(inner)(x))


def subclassed():
    model = Subclassed()
    model.build((None, None, 3))
    return model


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 6, 3)).astype("float32")


@pytest.mark.parametrize("make", [sequential, functional, time_distributed, subclassed])
def test_there_and_back(make, x):
    model = make()
    want = model.predict(x, verbose=0)
    converted = tf_rnn_ops.keras.convert(model)
    assert recurrent_classes(converted) <= set(OURS)
    assert recurrent_classes(model) <= set(STOCK)
    np.testing.assert_allclose(converted.predict(x, verbose=0), want, atol=1e-6)
    back = tf_rnn_ops.keras.convert(converted, to="keras")
    assert recurrent_classes(back) <= set(STOCK) and type(back) is type(model)
    np.testing.assert_array_equal(back.predict(x, verbose=0), want)
    for got, original in zip(back.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(got, original)


def test_structure_and_names_stay():
    model = functional()
    converted = tf_rnn_ops.keras.convert(model)
    assert converted.name == model.name
    assert [layer.name for layer in converted.layers] == [layer.name for layer in model.layers]
    assert [tensor.name for tensor in converted.inputs] == ["words"]
    assert len(converted.weights) == len(model.weights)
    assert all(row.path == "fused" for row in tf_rnn_ops.keras.explain(converted, print_fn=None))


def test_weights_are_copies(x):
    model = sequential()
    converted = tf_rnn_ops.keras.convert(model)
    before = model.predict(x, verbose=0)
    converted.set_weights([0 * w for w in converted.get_weights()])
    np.testing.assert_array_equal(model.predict(x, verbose=0), before)


def test_a_compiled_model_goes_on_training(x):
    def loss(y, prediction):  # no config knows this function
        return keras.ops.mean(keras.ops.square(y - prediction))

    y = np.ones((4, 2), "float32")
    model = functional()
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=[keras.metrics.MeanAbsoluteError()])
    model.fit(x, y, epochs=2, verbose=0)
    converted = tf_rnn_ops.keras.convert(model)
    assert converted.jit_compile is False and model.compiled
    assert converted.optimizer is not model.optimizer
    assert int(converted.optimizer.iterations) == 2
    histories = [m.fit(x, y, epochs=2, verbose=0).history for m in (model, converted)]
    for name in ("loss", "mean_absolute_error"):
        np.testing.assert_allclose(histories[1][name], histories[0][name], rtol=1e-4)


@pytest.mark.parametrize("activation", ["elu", "tanh"])
def test_xla(activation, x):
    """An explicit jit_compile=True stays where the copy can be compiled; else Keras warns."""
    layer = keras.layers.LSTM(2, activation=activation)
    model = keras.Sequential([keras.Input((None, x.shape[-1])), layer])
    model.compile("sgd", "mse", jit_compile=True)
    if activation == "tanh" and xla.unavailable() is not None:  # on the op
        with pytest.warns(UserWarning, match="jit_compile"):
            converted = tf_rnn_ops.keras.convert(model)
        assert converted.jit_compile is False
        return
    converted = tf_rnn_ops.keras.convert(model)
    assert converted.jit_compile is True
    assert tf_rnn_ops.keras.convert(converted, to="keras").jit_compile is True


def test_what_configs_leave_out():
    layer = keras.layers.LSTM(3, use_cudnn=False, implementation=1, stateful=True, dropout=0.5)
    layer.trainable = False
    model = keras.Sequential([keras.Input(batch_shape=(2, 5, 3)), layer])
    layer.states[0].assign(np.full((2, 3), 0.5))
    layer.cell.seed_generator.next()
    copy = tf_rnn_ops.keras.convert(model).layers[0]
    assert type(copy) is tf_rnn_ops.keras.LSTM
    assert copy.use_cudnn is False and copy.cell.implementation == 1
    assert copy.trainable is False and copy.trainable_weights == []
    np.testing.assert_array_equal(copy.states[0].numpy(), layer.states[0].numpy())
    np.testing.assert_array_equal(
        copy.cell.seed_generator.state.numpy(), layer.cell.seed_generator.state.numpy()
    )


def test_a_layer_alone(x):
    layer = keras.layers.Bidirectional(keras.layers.LSTM(3))
    want = layer(x)
    converted = tf_rnn_ops.keras.convert(layer)
    assert type(converted.backward_layer) is tf_rnn_ops.keras.LSTM
    np.testing.assert_allclose(converted(x), want, atol=1e-6)


class Sized(keras.layers.Layer):
    """Knows the size of its input, and builds itself when it is made."""

    def __init__(self, size, **kwargs):
        super().__init__(**kwargs)
        self.size = size
        self.build((None, size))

    def build(self, shape):
        self.factors = self.add_weight(shape=shape[1:], initializer="normal")

    def call(self, x):
        return x * self.factors

    def get_config(self):
        return {**super().get_config(), "size": self.size}


def test_a_layer_that_builds_itself(x):
    layer = Sized(3)
    np.testing.assert_array_equal(tf_rnn_ops.keras.convert(layer)(x), layer(x))


def test_an_unbuilt_model(x):
    model = keras.Sequential([keras.layers.GRU(3)])
    converted = tf_rnn_ops.keras.convert(model)
    assert not converted.built and recurrent_classes(converted) == {tf_rnn_ops.keras.GRU}
    assert converted(x).shape == (4, 3)


def test_an_rnn_of_cells_of_keras():
    layer = keras.layers.RNN([keras.layers.LSTMCell(3), keras.layers.GRUCell(2)])
    converted = tf_rnn_ops.keras.convert(layer)
    assert type(converted) is tf_rnn_ops.keras.RNN
    assert type(tf_rnn_ops.keras.convert(converted, to="keras")) is keras.layers.RNN


def test_subclasses_and_other_cells_stay(x):
    class Mine(keras.layers.LSTM):
        pass

    class MyCell(keras.layers.GRUCell):
        pass

    cells = keras.layers.RNN([keras.layers.LSTMCell(3), MyCell(2)])
    model = keras.Sequential([keras.Input((None, 3)), Mine(4, return_sequences=True), cells])
    with keras.saving.custom_object_scope({"MyCell": MyCell}):
        converted = tf_rnn_ops.keras.convert(model)
    assert [type(layer) for layer in converted.layers] == [Mine, keras.layers.RNN]
    np.testing.assert_array_equal(converted.predict(x, verbose=0), model.predict(x, verbose=0))


class WithoutConfig(keras.Model):
    """Its constructor takes what no config can hold."""

    def __init__(self, something):
        super().__init__()
        self.something = something
        self.rnn = keras.layers.LSTM(3)

    def call(self, x):
        return self.rnn(x)


class BuiltOtherwise(keras.Model):
    """Gets its weights in a call, and no shape tells how."""

    def __init__(self):
        super().__init__()
        self.rnn = keras.layers.LSTM(3)

    def call(self, x):
        return self.rnn(x)

    def build_from_config(self, config):
        pass


def test_models_that_cannot_be_copied(x):
    for model in (WithoutConfig(object()), BuiltOtherwise()):
        before = model(x)
        with pytest.raises(ValueError, match="accelerate"):
            tf_rnn_ops.keras.convert(model)
        assert type(model.rnn) is keras.layers.LSTM
        np.testing.assert_array_equal(model(x), before)


def test_a_function_without_a_name_gives_a_short_error():
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4, activation=lambda x: x)])
    with pytest.raises(ValueError, match="the layer 'lstm.*accelerate") as caught:
        tf_rnn_ops.keras.convert(model)
    assert len(str(caught.value)) < 500 and not re.search(r"[A-Za-z0-9+/]{40}", str(caught.value))


def test_layers_that_keras_does_not_have():
    model = keras.Sequential([keras.Input((None, 3)), tf_rnn_ops.keras.PeepholeLSTM(4)])
    with pytest.raises(ValueError, match="PeepholeLSTM, which has no counterpart in keras.layers"):
        tf_rnn_ops.keras.convert(model, to="keras")
    assert type(tf_rnn_ops.keras.convert(model).layers[0]) is tf_rnn_ops.keras.PeepholeLSTM


def test_a_function_that_keras_does_not_have():
    keras2 = tf_rnn_ops.keras.hard_sigmoid_keras2
    for layer in (
        keras.layers.LSTM(4, recurrent_activation=keras2),
        keras.layers.RNN(
            [keras.layers.GRUCell(4), keras.layers.SimpleRNNCell(4, activation=keras2)]
        ),
    ):
        model = tf_rnn_ops.keras.convert(keras.Sequential([keras.Input((None, 3)), layer]))
        with pytest.raises(ValueError, match="activation of the layer .* is hard_sigmoid_keras2"):
            tf_rnn_ops.keras.convert(model, to="keras")


def test_our_classes_do_not_stay_unseen():
    class Mine(tf_rnn_ops.keras.LSTM):
        pass

    cell = keras.layers.RNN(PeepholeLSTMCell(4))
    for layer, name in ((Mine(4), "Mine"), (cell, "PeepholeLSTMCell")):
        with pytest.raises(ValueError, match=f"is a {name}, which has no counterpart"):
            tf_rnn_ops.keras.convert(layer, to="keras")
        expected = Mine if type(layer) is Mine else tf_rnn_ops.keras.RNN
        assert type(tf_rnn_ops.keras.convert(layer)) is expected


def test_bad_arguments():
    with pytest.raises(TypeError, match="model must be a Keras 3 model or layer, but it is a str"):
        tf_rnn_ops.keras.convert("model")
    with pytest.raises(ValueError, match="to must be one of .*, but it is 'torch'"):
        tf_rnn_ops.keras.convert(sequential(), to="torch")


def test_keras_2_is_refused():
    """Without tf_keras at hand: an object of a class from a module of that name."""
    module = types.ModuleType("tf_keras.src.models")
    model = type("Sequential", (), {"__module__": module.__name__})()
    for function in (tf_rnn_ops.keras.convert, tf_rnn_ops.keras.explain):
        with pytest.raises(TypeError, match="Sequential of tf_keras .Keras 2."):
            function(model)


def test_a_lambda_is_copied(rng):
    """Otherwise the copy would call the Lambda of the model, which keeps each copy alive."""
    inputs = keras.Input((None, 3))
    factor = keras.layers.Lambda(
        lambda x, by: by * x,
        arguments={"by": 3.0},
        output_shape=(None, 3),
        mask=lambda x, mask: mask,
        dtype="float16",
        name="times",
    )
    wrapped = keras.layers.TimeDistributed(factor)(inputs)
    model = keras.Model(inputs, keras.layers.LSTM(2)(factor(wrapped)))
    calls = len(factor._inbound_nodes)
    copy = tf_rnn_ops.keras.convert(model)
    assert len(factor._inbound_nodes) == calls
    copied = copy.get_layer("times")
    assert copied is not factor and copied.compute_dtype == "float16"
    assert (copied.function, copied.arguments, copied.mask) == (
        factor.function,
        factor.arguments,
        factor.mask,
    )
    x = rng.normal(size=(2, 4, 3)).astype("float32")
    np.testing.assert_allclose(copy(x), model(x), atol=1e-5)
    alive = weakref.ref(copy)
    del copy, copied
    gc.collect()
    assert alive() is None


def test_copies_keep_their_policies():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        inputs = keras.Input((None, 3))
        inner = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(2)])
        model = keras.Model(inputs, inner(inputs))
    finally:
        keras.config.set_dtype_policy("float32")
    copy = tf_rnn_ops.keras.convert(model)
    for one, other in zip(model._flatten_layers(), copy._flatten_layers(), strict=True):
        if not isinstance(one, keras.layers.InputLayer):
            assert one.dtype_policy.name == other.dtype_policy.name, one
