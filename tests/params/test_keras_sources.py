"""Layers and models of Keras that are or are not a stack, and layers with code of their own."""

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops import params
from tf_rnn_ops.keras import Reversed

UNITS, STEPS, BATCH = 3, 5, 2
K = keras.layers


def _gru(space=K, **options):
    return space.GRU(UNITS, return_sequences=True, **options)


def _input(**options):
    return keras.Input((STEPS, UNITS), batch_size=BATCH, **options)


def _draw(model, rng):
    model.set_weights([0.5 * rng.standard_normal(w.shape) for w in model.get_weights()])
    return model


def _assert_same(converted, want, x, **arguments):
    layer = tf_rnn_ops.keras.CudnnGRU.from_converted(converted, return_sequences=True)
    valid = arguments.get("mask", np.ones(x.shape[:2], bool))[:, :, None]
    got = np.asarray(layer(x, **arguments))
    np.testing.assert_allclose(np.where(valid, got, 0), np.where(valid, want, 0), atol=2e-6)


# ---- functional models ----


def _functional(x):
    y, h = _gru(return_state=True)(x)
    return _gru()(y * 2, initial_state=h)


def test_a_functional_model(rng):
    """The layers say nothing about the calls, so the caller gives the list of them."""
    x, h = _input(), keras.Input((UNITS,), batch_size=BATCH, name="h")
    layers = [_gru(), _gru()]
    model = _draw(keras.Model([x, h], layers[1](layers[0](x), initial_state=h)), rng)
    for source in (model, [model], keras.Sequential([_input(), keras.Model(x, _functional(x))])):
        with pytest.raises(ValueError, match="class Functional .* Give a list of the layers"):
            params.from_keras(source)
    given = [rng.standard_normal(t.shape).astype("float32") for t in (x, h)]
    states = np.stack([np.zeros_like(given[1]), given[1]], axis=1)
    _assert_same(params.from_keras(layers), model(given), given[0], initial_state=[states])


# ---- masks ----


def test_one_mask_for_all_layers(rng):
    layers = [K.Masking(), _gru(), K.Dropout(0.5), _gru()]
    model = _draw(keras.Sequential([_input(), *layers]), rng)
    given = rng.standard_normal((BATCH, STEPS, UNITS)).astype("float32")
    given[1, 3:] = 0
    mask = given.any(-1)
    _assert_same(params.from_keras(model), model(given), given, mask=mask)


class _Losing(K.GRU):
    def compute_mask(self, inputs, previous_mask):
        return None


class _Making(K.GRU):
    def compute_mask(self, inputs, previous_mask):
        return keras.ops.any(keras.ops.not_equal(inputs, 0), axis=-1)


def _dropout_without_masks():
    layer = K.Dropout(0.5)
    layer.supports_masking = False
    return layer


MASKED = {
    "a recurrent layer loses it": (
        lambda: _Losing(UNITS, return_sequences=True),
        "_Losing .* overrides the method compute_mask",
    ),
    "dropout loses it": (
        _dropout_without_masks,
        "of class Dropout is between the recurrent layers",
    ),
    "a recurrent layer makes it": (
        lambda: _Making(UNITS, return_sequences=True),
        "_Making .* overrides the method compute_mask",
    ),
}


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_of_one_layer_only(name):
    make, message = MASKED[name]
    layer = make()
    layers = [_gru(), layer, _gru()]
    for source in (layers, keras.Sequential([_input(), *layers])):
        with pytest.raises(ValueError, match=message):
            params.from_keras(source)
    if isinstance(layer, K.GRU):  # the mask behind the last layer does not matter
        layer.build((None, STEPS, UNITS))
        assert params.from_keras(layer)


# ---- between two layers ----


class _Own(K.Dropout):
    def call(self, x, training=False):
        return 2 * x


_Dropout = type("Dropout", (_Own,), {})


def test_a_dropout_of_the_user():
    layers = [_gru(), _Dropout(0.5), _gru()]
    with pytest.raises(ValueError, match="are not a stack"):
        params.from_keras(layers)


class _Inside(K.Layer):
    def __init__(self):
        super().__init__()
        self.inner = _gru()

    def call(self, x):
        return self.inner(x)


OTHERS = {
    "Reversed": lambda: Reversed(_gru(tf_rnn_ops.keras, go_backwards=True)),
    "RNN": lambda: K.RNN(K.GRUCell(UNITS), return_sequences=True),
    "Bidirectional": lambda: K.Bidirectional(K.RNN(K.GRUCell(UNITS), return_sequences=True)),
    "_Inside": _Inside,
    "TimeDistributed": lambda: K.TimeDistributed(keras.Sequential([K.Reshape((1, -1)), _gru()])),
}


@pytest.mark.parametrize("name", OTHERS)
def test_recurrent_layers_outside_of_the_stack(name):
    layers = [_gru(), OTHERS[name]()]
    model = keras.Sequential([_input(), *layers])
    for source in (model, layers):
        with pytest.raises(ValueError, match=f"of class {name} is recurrent or has"):
            params.from_keras(source)


def test_a_list_of_a_layer_and_a_sequential_model(rng):
    x = rng.standard_normal((BATCH, STEPS, UNITS)).astype("float32")
    first, dropout = _gru(), K.Dropout(0.5)
    second = keras.Sequential([_input(), K.Dropout(0.5), _gru()])
    first.build(x.shape)
    want = _draw(second, rng)(_draw(first, rng)(x))
    for source in ([first, dropout, second], keras.Sequential([first, dropout, second])):
        _assert_same(params.from_keras(source), want, x)


class _TwoLayers(keras.Model):
    def __init__(self, **options):
        super().__init__(**options)
        self.first, self.second = _gru(), _gru()

    def call(self, x):
        return self.second(2 * self.first(x))


def test_a_model_with_a_call_of_its_own():
    model = _TwoLayers(name="mine")
    model(np.zeros((BATCH, STEPS, UNITS), "float32"))
    with pytest.raises(ValueError, match="'mine' of class _TwoLayers .* Give a list of the layers"):
        params.from_keras(model)
    assert params.from_keras([model.first, model.second]).layout.num_layers == 2


# ---- code of their own ----


class _OwnCall(K.GRU):
    def call(self, sequences, **arguments):
        return super().call(3.0 * sequences, **arguments)


class _OwnLoop(tf_rnn_ops.keras.GRU):
    def inner_loop(self, sequences, **arguments):
        return super().inner_loop(3.0 * sequences, **arguments)


class _OwnState(K.GRU):
    def get_initial_state(self, batch_size):
        return [1 + state for state in super().get_initial_state(batch_size)]


class _OwnCell(K.GRUCell):
    def call(self, inputs, states, training=False):
        return super().call(2.0 * inputs, states, training=training)


class _OwnBidirectional(K.Bidirectional):
    def call(self, sequences, **arguments):
        return super().call(2.0 * sequences, **arguments)


class GRU(K.Layer):
    """Has the name and nothing else of a GRU."""

    def call(self, x):
        return x


def _with_cell(cls):
    layer = _gru()
    layer.cell.__class__ = cls
    return layer


def _with_call():
    layer = _gru()
    layer.call = lambda sequences: sequences
    return layer


OWN = {
    lambda: _OwnCall(UNITS): r"_OwnCall \(layer '\w+'\) overrides the method call",
    lambda: _OwnLoop(UNITS): "_OwnLoop .* overrides the method inner_loop",
    lambda: _OwnState(UNITS): "_OwnState .* overrides the method get_initial_state",
    lambda: _with_cell(_OwnCell): "_OwnCell of layer .* overrides the method call, .* of a GRUCell",
    lambda: _with_cell(tf_rnn_ops.keras.ZoneoutGRUCell): "cell of .* must be a GRUCell of Keras, "
    "but it is a ZoneoutGRUCell",
    lambda: _OwnBidirectional(_gru()): "_OwnBidirectional .* overrides the method call",
    lambda: K.Bidirectional(_gru(), backward_layer=_OwnCall(UNITS, go_backwards=True,
        return_sequences=True)): "_OwnCall .* overrides the method call",
    GRU: "GRU .* overrides the method call",
    _with_call: "GRU .* overrides the method call",
}  # fmt: skip


@pytest.mark.parametrize("make", OWN)
def test_layers_that_compute_otherwise(make):
    layer = make()
    if not isinstance(layer, GRU):
        layer.build((None, STEPS, UNITS))
    with pytest.raises(ValueError, match=OWN[make]):
        params.from_keras(layer)


def test_a_subclass_without_a_method_of_its_own(rng):
    class Mine(K.GRU):
        """Builds and describes itself otherwise."""

        def build(self, shape):
            super().build(shape)

    layer = Mine(UNITS, return_sequences=True)
    x = rng.standard_normal((BATCH, STEPS, UNITS)).astype("float32")
    layer.build(x.shape)
    _assert_same(params.from_keras(_draw(layer, rng)), layer(x), x)


def test_a_cudnn_layer_with_a_call_of_its_own():
    class CuDNNGRU:
        name = "mine"

        def get_weights(self):
            return []

        def get_config(self):
            return {}

        def call(self, x):
            return x

    with pytest.raises(ValueError, match="CuDNNGRU .layer 'mine'. overrides the method call"):
        params.from_cudnn_layer(CuDNNGRU())


def test_a_stack_with_a_call_of_its_own():
    class Mine(tf_rnn_ops.keras.CudnnGRU):
        def call(self, inputs, **arguments):
            return super().call(2.0 * inputs, **arguments)

    with pytest.raises(ValueError, match="Mine .layer 'mine'. overrides the method call"):
        params.from_keras(Mine(UNITS, name="mine"))


def test_a_stack_that_is_not_built():
    with pytest.raises(ValueError, match="The stack 'new' has no weights yet"):
        params.from_keras(tf_rnn_ops.keras.CudnnGRU(UNITS, name="new"))


@pytest.mark.parametrize("wrap", [lambda layer: layer, K.Bidirectional], ids=["one", "both"])
def test_a_layer_that_is_not_built(wrap):
    layer = wrap(_gru())
    for source in (layer, [layer, keras.Sequential([_input(), _gru()])]):
        with pytest.raises(ValueError, match=f"{layer.name!r} of class .* is not built"):
            params.from_keras(source)
