"""Sources of the inputs of recurrent layers in Keras models, and layers with code of their own."""

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


# ---- initial states ----


def _of_other_layer(space, x):
    y, h = _gru(space, return_state=True)(x)
    return _gru(space)(y, initial_state=h)


def _positional(space, x):
    y, h = _gru(space, return_state=True)(x)
    return _gru(space)(y, [h])


def _of_lstm(space, x):
    y, *states = space.LSTM(UNITS, return_sequences=True, return_state=True)(x)
    return space.LSTM(UNITS, return_sequences=True)(y, initial_state=states)


def _bidirectional(space, x):
    y, *states = K.Bidirectional(_gru(space, return_state=True))(x)
    return K.Bidirectional(_gru(space))(y, initial_state=states)


def _inside_a_model(space, x):
    y, h = _gru(space, return_state=True)(x)
    inner = [keras.Input((STEPS, UNITS)), keras.Input((UNITS,))]
    return keras.Model(inner, _gru(space)(inner[0], initial_state=inner[1]))([y, h])


STATES = (
    _of_other_layer, _positional, _of_lstm, _bidirectional,
    lambda space, x: _gru(space)(x, initial_state=K.Dense(UNITS, name="made")(x[:, 0])),
    lambda space, x: _gru(space)(x, initial_state=x[:, 0]),
    lambda space, x: _gru(space)(x, initial_state=np.full((BATCH, UNITS), 0.5, "float32")),
)  # fmt: skip
OF_ITS_OWN = (
    "is called with initial states or a mask of its own: give a list of the recurrent layers"
)


@pytest.mark.parametrize("space", [K, tf_rnn_ops.keras], ids=["keras", "tf_rnn_ops"])
@pytest.mark.parametrize("build", STATES)
def test_initial_states(build, space):
    x = _input()
    with pytest.raises(ValueError, match=OF_ITS_OWN):
        params.from_keras(keras.Model(x, build(space, x)))


@pytest.mark.parametrize("space", [K, tf_rnn_ops.keras], ids=["keras", "tf_rnn_ops"])
def test_initial_states_of_a_layer_in_an_inner_model(space):
    x = _input()
    with pytest.raises(ValueError, match="is inside of another layer or model|a part of the stack"):
        params.from_keras(keras.Model(x, _inside_a_model(space, x)))


def test_initial_states_of_the_caller(rng):
    x, h = _input(), keras.Input((UNITS,), batch_size=BATCH, name="h")
    layers = _gru(), _gru()
    model = keras.Model([x, h], layers[1](layers[0](x), initial_state=h))
    _draw(model, rng)
    with pytest.raises(ValueError, match=OF_ITS_OWN):
        params.from_keras(model)
    given = [rng.standard_normal(t.shape).astype("float32") for t in (x, h)]
    states = np.stack([np.zeros_like(given[1]), given[1]], axis=1)
    _assert_same(params.from_keras(layers), model(given), given[0], initial_state=[states])


@pytest.mark.parametrize("dirs", [1, 2])
def test_a_sequence_given_by_name(dirs):
    first, second = (K.Bidirectional(_gru()) if dirs == 2 else _gru() for _ in range(2))
    x = _input()
    y = first(sequences=x)
    assert params.from_keras(keras.Model(x, second(sequences=y))).layout.num_layers == 2
    model = keras.Model(x, second(sequences=y * 2))
    with pytest.raises(
        ValueError, match="but output 0 of .* of class Multiply, so they are not a stack"
    ):
        params.from_keras(model)


# ---- masks ----


def test_one_mask_for_all_layers(rng):
    x = _input()
    y = K.Masking()(x)
    model = _draw(keras.Model(x, _gru()(K.Dropout(0.5)(_gru()(y)))), rng)
    given = rng.standard_normal(x.shape).astype("float32")
    given[1, 3:] = 0
    mask = given.any(-1)
    _assert_same(params.from_keras(model), model(given), given, mask=mask)


MASKS = {
    "the second only": lambda x, m, first, second: second(first(x), mask=m),
    "two": lambda x, m, first, second: second(first(x, mask=m), mask=keras.ops.logical_not(m)),
    "that of x after another": lambda x, m, first, second: second(first(K.Masking()(x), None, m)),
    "a constant": lambda x, m, first, second: second(first(x, mask=np.ones((BATCH, STEPS), bool))),
}


@pytest.mark.parametrize("build", MASKS.values(), ids=MASKS)
def test_masks_of_their_own(build):
    x, m = _input(), keras.Input((STEPS,), dtype="bool", batch_size=BATCH)
    with pytest.raises(ValueError, match=OF_ITS_OWN):
        params.from_keras(keras.Model([x, m], build(x, m, _gru(), _gru())))


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


def _second():
    return _gru(name="second")


MASKED = {
    "a recurrent layer loses it": (
        [K.Masking, lambda: _Losing(UNITS, return_sequences=True), _second],
        "gets a mask and 'second' gets none",
    ),
    "dropout loses it": (
        [K.Masking, _gru, _dropout_without_masks, _second],
        "gets a mask and 'second' gets none",
    ),
    "a recurrent layer makes it": (
        [lambda: _Making(UNITS, return_sequences=True, name="first"), _second],
        "'second' gets a mask and 'first' gets none",
    ),
}


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("name", MASKED)
def test_a_mask_of_one_layer_only(name, sequential):
    makers, message = MASKED[name]
    layers = [make() for make in makers]
    x = y = _input()
    for layer in layers:
        y = layer(y)
    model = keras.Sequential([_input(), *layers]) if sequential else keras.Model(x, y)
    with pytest.raises(ValueError, match=f"{message}.* a stack has one mask for all of its layers"):
        params.from_keras(model)
    assert params.from_keras([one for one in layers if isinstance(one, K.GRU)])


# ---- between two layers ----


def _model(function):
    x = _input()
    return keras.Model(x, function(x))


NO_STACKS = {
    "a model of operations": lambda x: _gru()(_model(lambda i: i * 2)(_gru()(x))),
    "the last state": lambda x: _gru()(K.RepeatVector(STEPS)(K.GRU(UNITS)(x))),
    "a Dropout of the user": lambda x: _gru()(_Dropout(0.5)(_gru()(x))),
}


TRAINING = {
    "Dropout": lambda y: K.Dropout(0.5)(y, training=True),
    "GaussianNoise": lambda y: K.GaussianNoise(0.5)(y, training=True),
}


@pytest.mark.parametrize("build", TRAINING.values(), ids=TRAINING)
def test_dropout_that_is_always_on(build):
    with pytest.raises(ValueError, match="but output 0 of .* with training=True, so they are no"):
        params.from_keras(_model(lambda x: _gru()(build(_gru()(x)))))


def test_dropout_of_a_call_without_training():
    def build(x):
        return _gru()(K.Dropout(0.5)(_gru()(x), training=False))

    assert params.from_keras(_model(build)).layout.num_layers == 2


@pytest.mark.parametrize("wrap", [lambda layer: layer, K.Bidirectional], ids=["one", "both"])
def test_a_layer_whose_dropout_is_always_on(wrap):
    layer = wrap(_gru(recurrent_dropout=0.5))
    model = _model(lambda x: layer(x, training=True))
    with pytest.raises(ValueError, match="has dropout and is called with training=True"):
        params.from_keras(model)
    assert params.from_keras(layer).layout.num_layers == 1


class _Own(K.Dropout):
    def call(self, x, training=False):
        return 2 * x


_Dropout = type("Dropout", (_Own,), {})


@pytest.mark.parametrize("build", NO_STACKS.values(), ids=NO_STACKS)
def test_models_that_are_no_stacks(build):
    with pytest.raises(ValueError, match="are not a stack"):
        params.from_keras(_model(build))


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
        with pytest.raises(ValueError, match=f"The layer .* of class {name} is recurrent or has"):
            params.from_keras(source)


PARTS = {
    "at the end": lambda: [_gru(), _model(_gru())],
    "at the beginning": lambda: [_model(lambda i: _gru()(i) * 2), _gru()],
    "between": lambda: [_gru(), _model(lambda i: i * 2), _gru()],
}


@pytest.mark.parametrize("build", PARTS.values(), ids=PARTS)
def test_models_with_a_part_of_the_stack(build):
    items = build()
    for layer in items:
        if not layer.built:
            layer.build((None, STEPS, UNITS))
    for source in (items, keras.Sequential(items)):
        with pytest.raises(
            ValueError, match="The model .* has a part of the stack only, .* a list"
        ):
            params.from_keras(source)


def test_models_inside_of_a_model():
    for inner in (_model(_gru()), keras.Sequential([_input(), _gru()])):
        for outer in (lambda x: inner(x), lambda x: inner(_gru()(x))):
            with pytest.raises(ValueError, match="is inside of another layer or model of .*: give"):
                params.from_keras(_model(outer))


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
    with pytest.raises(
        ValueError, match=r"The model 'mine' of class _TwoLayers overrides call\(\)"
    ):
        params.from_keras(model)
    assert params.from_keras([model.first, model.second]).layout.num_layers == 2
    x = _input()
    with pytest.raises(ValueError, match="is inside of another layer or model"):
        params.from_keras(keras.Model(x, model(x)))


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
