"""convert(to="stack"): chains of Keras's layers as one stack, with the same weights and outputs."""

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops.keras import convert

BATCH, TIME, INPUTS, UNITS = 4, 6, 3, 4
LENGTHS = np.array([6, 4, 0, 1])
CELLS = {
    "lstm": keras.layers.LSTM,
    "gru": keras.layers.GRU,
    "rnn_tanh": keras.layers.SimpleRNN,
    "rnn_relu": lambda units, **kwargs: keras.layers.SimpleRNN(units, activation="relu", **kwargs),
}


@pytest.fixture
def x(rng):
    """Rows of LENGTHS valid steps, for a Masking layer."""
    x = rng.normal(size=(BATCH, TIME, INPUTS)).astype("float32")
    return x * (np.arange(TIME) < LENGTHS[:, None])[:, :, None]


def randomize(model, rng):
    model.set_weights([rng.uniform(-0.5, 0.5, size=w.shape) for w in model.get_weights()])
    return model


def chain(layers, masked=True):
    """A functional model of these layers, one after the other."""
    inputs = keras.Input((TIME, INPUTS))
    x = keras.layers.Masking()(inputs) if masked else inputs
    for layer in layers:
        x = layer(x)
    return keras.Model(inputs, x)


def kinds(model):
    return [type(layer).__name__ for layer in model.layers if type(layer).__name__ != "InputLayer"]


def assert_same(copy, model, x):
    np.testing.assert_allclose(copy(x), model(x), rtol=0, atol=2e-6)


@pytest.mark.each_value
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("mode", CELLS)
def test_there_and_back(mode, both, x, rng):
    for sequences in (False, True):
        layers = [
            CELLS[mode](
                UNITS,
                return_sequences=k < 2 or sequences,
                zero_output_for_mask=k == 2 and sequences,
            )
            for k in range(3)
        ]
        if both:
            layers = [keras.layers.Bidirectional(layer) for layer in layers]
        model = randomize(chain(layers), rng)
        copy = convert(model, to="stack")
        assert kinds(copy)[0] == "Masking" and kinds(copy)[1].startswith("Cudnn")
        assert len(kinds(copy)) == 2 and copy.layers[-1].num_layers == 3
        assert copy.layers[-1].name == layers[0].name
        assert_same(copy, model, x)
        assert_same(convert(copy, to="keras"), model, x)


def test_what_chains_are(x, rng):
    """Chains end where the layers, what is between them or the uses of an output differ."""

    def lstm(name, units=UNITS, **arguments):
        return keras.layers.LSTM(units, return_sequences=True, name=name, **arguments)

    inputs = keras.Input((TIME, INPUTS))
    y = lstm("b", kernel_regularizer="l2")(lstm("a", kernel_regularizer="l2")(inputs))
    y = lstm("d")(keras.layers.Dropout(0.25, seed=5)(lstm("c")(y)))
    y = lstm("e")(keras.layers.Dropout(0.5)(y))
    used_twice = lstm("f", 3)(y)
    y = lstm("g", 3)(used_twice) + used_twice
    y = lstm("h", 3, go_backwards=True)(y)
    shared = lstm("i", 3)
    y = shared(shared(y))
    y = lstm("k", 3)(keras.layers.LayerNormalization()(lstm("j", 3)(y)))
    y = lstm("m", 3, trainable=False)(lstm("l", 3, activation="elu")(y))
    inner = keras.Sequential([keras.Input((TIME, 3)), lstm("n", 3), lstm("o", 3)], name="inner")
    model = randomize(keras.Model(inputs, inner(y)), rng)
    copy = convert(model, to="stack")
    found = {
        layer.name: layer
        for layer in copy._flatten_layers()
        if isinstance(layer, tf_rnn_ops.keras.CudnnLSTM)
    }
    assert {name: layer.num_layers for name, layer in found.items()} == {
        **{"a": 2, "c": 2, "e": 1, "f": 1, "g": 1, "j": 1, "k": 1, "m": 1, "n": 2}
    }
    assert found["c"].dropout == 0.25 and found["c"].seed == 5
    assert found["a"].losses and not found["m"].trainable_variables
    rest = [layer for layer in copy.layers if type(layer) is tf_rnn_ops.keras.LSTM]
    assert [layer.name for layer in rest] == ["h", "i", "l"]
    assert_same(copy, model, x)


@pytest.mark.parametrize("of_dropout", [False, True])
def test_a_dropout_that_is_called_for_training(of_dropout, x):
    """The layers around it are not, or the other way round; a stack is called for training as a whole."""
    inputs = keras.Input((TIME, INPUTS))
    given = {"training": True}
    y = keras.layers.LSTM(UNITS, return_sequences=True)(inputs, **({} if of_dropout else given))
    y = keras.layers.Dropout(0.9)(y, **(given if of_dropout else {}))
    y = keras.layers.LSTM(UNITS)(y, **({} if of_dropout else given))
    copy = convert(keras.Model(inputs, y), to="stack")
    assert kinds(copy) == ["CudnnLSTM", "Dropout", "CudnnLSTM"]
    changes = np.any(copy(x).numpy() != copy(x).numpy())
    assert changes == of_dropout


@pytest.mark.parametrize("counts", [(0, 2), (2, 0)])
def test_two_dropouts_in_one_gap(counts):
    layers = []
    for count in (*counts, 0):
        layers.append(keras.layers.LSTM(UNITS, return_sequences=True))
        layers += [keras.layers.Dropout(0.5) for _ in range(count)]
    copy = convert(chain(layers, masked=False), to="stack")
    dropouts = sum(type(layer) is keras.layers.Dropout for layer in copy.layers)
    assert dropouts == 2 and all(getattr(layer, "dropout", 0) == 0 for layer in copy.layers)


def test_a_dropout_between_bidirectional_layers():
    both = [keras.layers.GRU(UNITS, return_sequences=k == 0) for k in range(2)]
    both = [keras.layers.Bidirectional(layer) for layer in both]
    copy = convert(chain([both[0], keras.layers.Dropout(0.5), both[1]]), to="stack")
    assert kinds(copy) == ["Masking", "CudnnGRU"] and copy.layers[-1].dropout == 0.5


def test_a_sequential_model(x, rng):
    model = keras.Sequential(
        [
            keras.Input((TIME, INPUTS)),
            keras.layers.GRU(UNITS, return_sequences=True),
            keras.layers.Dropout(0.5),
            keras.layers.GRU(UNITS),
            keras.layers.Dense(1),
        ]
    )
    randomize(model, rng)
    copy = convert(model, to="stack")
    assert kinds(copy) == ["CudnnGRU", "Dense"] and type(copy) is keras.Sequential
    assert copy.layers[0].dropout == 0.5
    assert_same(copy, model, x)


def test_training_goes_on(x, rng):
    """For layers with the biases of a stack. For other layers a stack has two biases, which both learn."""
    model = chain(
        [
            keras.layers.Bidirectional(keras.layers.GRU(UNITS, return_sequences=True)),
            keras.layers.Bidirectional(keras.layers.GRU(UNITS, return_sequences=True)),
            keras.layers.LSTM(UNITS, use_bias=False),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(0.05, use_ema=True), "mse", run_eagerly=True)
    y = rng.normal(size=(BATCH, 1)).astype("float32")
    model.fit(x, y, epochs=2, verbose=0)
    copy = convert(model, to="stack")
    assert kinds(copy) == ["Masking", "CudnnGRU", "CudnnLSTM", "Dense"]
    for one in (model, copy):
        one.fit(x, y, epochs=2, verbose=0)
    assert int(copy.optimizer.iterations) == 4
    np.testing.assert_allclose(copy(x), model(x), atol=1e-4)


def test_losses_by_the_names_of_outputs(x, rng):
    """A name of an output is that of its layer, which changes."""
    inputs = keras.Input((TIME, INPUTS))
    y = keras.layers.LSTM(UNITS, return_sequences=True, name="a")(inputs)
    y = keras.layers.LSTM(UNITS, name="b")(y)
    model = randomize(keras.Model(inputs, [y, keras.layers.GRU(UNITS, name="c")(inputs)]), rng)
    model.compile(
        "sgd",
        loss={"b": "mse", "c": "mae"},
        loss_weights={"b": 2.0, "c": 3.0},
        metrics={"c": ["mse"]},
        weighted_metrics={"b": ["mae"]},
    )
    wanted = [rng.normal(size=(BATCH, UNITS)) for _ in range(2)]
    copies = [convert(model, to="stack")]
    copies.append(convert(copies[0], to="keras"))
    assert [copy.output_names for copy in copies] == [["a", "c"], ["a_1", "c"]]
    for copy in copies:
        got = copy.evaluate(x, wanted, verbose=0)
        np.testing.assert_allclose(got, model.evaluate(x, wanted, verbose=0), rtol=1e-5)
        copy.fit(x, wanted, verbose=0)


@pytest.mark.parametrize("frozen", [0, 1])
def test_layers_that_were_frozen_at_the_last_compile(frozen, x, rng):
    layers = [CELLS["gru"](UNITS, return_sequences=k == 0, name="st"[k]) for k in range(2)]
    model = chain(layers)
    layers[frozen].trainable = False
    model.compile("adam", "mse")
    y = rng.normal(size=(BATCH, UNITS))
    model.fit(x, y, verbose=0)
    layers[frozen].trainable = True
    with pytest.raises(ValueError, match="only a part of the chain that begins with 's', .*again"):
        convert(model, to="stack")
    model.compile("adam", "mse")
    assert kinds(convert(model, to="stack")) == ["Masking", "CudnnGRU"]


def test_slots_of_the_two_biases(x, rng):
    model = chain([keras.layers.LSTM(UNITS)])
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9, use_ema=True), "mse", run_eagerly=True)
    model.fit(x, rng.normal(size=(BATCH, UNITS)), verbose=0)
    copy = convert(model, to="stack")
    layout = copy.layers[-1].layout
    for name, second in (("momentums", 1), ("_model_variables_moving_average", 0)):
        (slot,) = getattr(copy.optimizer, name)
        biases = np.reshape(layout.unpack(slot.numpy())[1], (2, 4 * UNITS))
        want = getattr(model.optimizer, name)[2].numpy()
        np.testing.assert_allclose(biases, [want, want * second], atol=1e-7)


def test_weight_decay_of_a_part(x):
    """A stack has one weight, which decays as a whole or not."""
    for names, decays in ((["kernel", "bias"], False), ([], True), (["bias"], None)):
        model = chain([keras.layers.LSTM(UNITS, name="s")])
        optimizer = keras.optimizers.AdamW(0.1)
        optimizer.exclude_from_weight_decay(var_names=names)
        model.compile(optimizer, "mse")
        if decays is None:
            with pytest.raises(ValueError, match="excludes a part of the weights of 's'"):
                convert(model, to="stack")
            continue
        copy = convert(model, to="stack")
        assert copy.optimizer._use_weight_decay(copy.layers[-1].params) is decays


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"dropout": 0.5}, "has dropout=0.5"),
        ({"recurrent_dropout": 0.5}, "has recurrent_dropout=0.5"),
        ({"activation": "relu"}, "has activations"),
        ({"go_backwards": True}, "has go_backwards=True"),
        ({"return_state": True}, "has return_state=True"),
        ({"bias_constraint": "non_neg"}, "has bias_constraint="),
        ({"activity_regularizer": "l2"}, "has activity_regularizer="),
        ({"return_sequences": True}, "repeats its last output in masked steps"),
    ],
)
def test_layers_that_are_no_stack(arguments, reason):
    model = chain([keras.layers.LSTM(UNITS, name="s", **arguments)])
    with pytest.raises(ValueError, match=f"no stack computes .*: 's' {reason}"):
        convert(model, to="stack")


@pytest.mark.parametrize("known", [False, True])
def test_masks_that_reach_a_nested_model_at_run_time(known, x, rng):
    def inner(**arguments):
        rnn = keras.layers.LSTM(UNITS, return_sequences=True, name="s", **arguments)
        return keras.Sequential([keras.Input((TIME, INPUTS)), rnn])

    def outer(**arguments):
        twice = keras.Sequential([keras.Input((TIME, INPUTS)), inner(**arguments)])
        head = [keras.Input((TIME, INPUTS))] if known else []
        model = keras.Sequential([*head, keras.layers.Masking(), twice])
        model(x)
        return model

    with pytest.raises(ValueError, match="'s' repeats its last output in masked steps"):
        convert(outer(), to="stack")
    model = randomize(outer(zero_output_for_mask=True), rng)
    assert_same(convert(model, to="stack"), model, x)
    unmasked = randomize(keras.Sequential([keras.Input((TIME, INPUTS)), inner()]), rng)
    assert_same(convert(unmasked, to="stack"), unmasked, x)


@pytest.mark.parametrize("wrap", [lambda layer: layer, keras.layers.Bidirectional])
@pytest.mark.parametrize("zero", [False, True])
def test_the_last_output_of_a_masked_sequence(zero, wrap, x, rng):
    """With zero_output_for_mask it is 0 if the last step is masked, which a stack cannot give."""
    layer = wrap(keras.layers.LSTM(UNITS, name="s", zero_output_for_mask=zero))
    masked = [keras.Input((TIME, INPUTS)), keras.layers.Masking(), layer]
    model = randomize(keras.Sequential(masked), rng)
    if zero and wrap is not keras.layers.Bidirectional:
        with pytest.raises(
            ValueError, match="'s' returns 0 for sequences whose last step is masked"
        ):
            convert(model, to="stack")
        return
    x = np.array(x)
    x[0, 2:] = 0
    assert_same(convert(model, to="stack"), model, x)


@pytest.mark.parametrize("name", ["forward_layer", "backward_layer"])
def test_a_direction_that_is_frozen(name):
    layer = keras.layers.Bidirectional(keras.layers.LSTM(UNITS), name="s")
    model = chain([layer])
    for variable in getattr(layer, name).weights:
        variable.trainable = False
    with pytest.raises(ValueError, match="'s' is partly frozen"):
        convert(model, to="stack")


class Own(keras.regularizers.Regularizer):
    """Without a get_config."""

    def __call__(self, weights):
        return 0.5 * keras.ops.sum(keras.ops.abs(weights))


def own_initializer(shape, dtype=None):
    return keras.ops.full(shape, 0.25, dtype=dtype)


def test_objects_that_have_no_config(x, rng):
    regularizers = [Own()] * 2 + [Own()]
    model = chain(
        keras.layers.LSTM(
            *(UNITS, "tanh"),
            kernel_regularizer=regularizer,
            kernel_initializer=own_initializer,
            return_sequences=True,
            zero_output_for_mask=True,
        )
        for regularizer in regularizers
    )
    randomize(model, rng)
    copy = convert(model, to="stack")
    assert [layer.num_layers for layer in copy.layers[2:]] == [2, 1]
    assert_same(copy, model, x)
    np.testing.assert_allclose(float(sum(copy.losses)), float(sum(model.losses)), rtol=1e-6)


def test_a_call_that_says_there_is_no_initial_state(x):
    inputs = keras.Input((TIME, INPUTS))
    model = keras.Model(inputs, keras.layers.LSTM(UNITS)(inputs, initial_state=None))
    assert_same(convert(model, to="stack"), model, x)


def test_a_sequential_model_without_a_graph(x):
    class Opaque(keras.layers.Layer):
        def call(self, x):
            return keras.ops.convert_to_tensor(x.numpy())

        def compute_output_shape(self, shape):
            raise NotImplementedError

    model = keras.Sequential([Opaque(), keras.layers.LSTM(UNITS)])
    model(x)
    with pytest.raises(AttributeError):
        model.outputs
    with pytest.raises(ValueError, match="no functional or sequential model has such a layer"):
        convert(model, to="stack")


def test_directions_that_differ():
    lstm, cell = keras.layers.LSTM, keras.layers.LSTMCell(UNITS)
    for layer, reason in (
        (
            {"layer": lstm(UNITS), "dtype": "mixed_bfloat16"},
            "has the dtype policy 'mixed_bfloat16'",
        ),
        ({"layer": lstm(UNITS), "merge_mode": "sum"}, "has merge_mode='sum'"),
        (
            {
                "layer": lstm(UNITS, activation="relu"),
                "backward_layer": keras.layers.RNN(cell, go_backwards=True),
            },
            "has activations",
        ),
        (
            {
                "layer": lstm(UNITS),
                "backward_layer": keras.layers.RNN(cell, go_backwards=True),
            },
            "holds a RNN",
        ),
    ):
        model = chain([keras.layers.Bidirectional(**layer, name="s")])
        with pytest.raises(ValueError, match=f"'s' {reason}"):
            convert(model, to="stack")


def test_models_without_a_chain(x):
    class Own(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.rnn = keras.layers.LSTM(2)

    for model in (Own(), keras.Sequential([keras.layers.LSTM(2)]), keras.layers.LSTM(2)):
        with pytest.raises(ValueError, match="no functional or sequential model has such a layer"):
            convert(model, to="stack")
    inputs = [keras.Input((TIME, INPUTS)), keras.Input((2,))]
    layer = keras.layers.GRU(2, name="s")
    with pytest.raises(ValueError, match="'s' is called with an initial_state"):
        convert(keras.Model(inputs, layer(inputs[0], initial_state=inputs[1])), to="stack")


def test_a_layer_that_another_layer_holds_too(x, rng):
    """Its weights would be two after the conversion."""

    class Holds(keras.layers.Layer):
        def __init__(self, inner, **kwargs):
            super().__init__(**kwargs)
            self.inner = inner

        def call(self, x):
            return x

    layer = keras.layers.LSTM(UNITS, name="s")
    model = chain([Holds(layer), layer])
    with pytest.raises(ValueError, match="'s' is used at several places"):
        convert(model, to="stack")
