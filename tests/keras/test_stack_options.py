"""Options of the stacks that keras.layers.LSTM and its siblings have, against stacks of those."""

import itertools
import json

import keras
import numpy as np
import pytest
import stock_stack
import tensorflow as tf

import tf_rnn_ops.keras
from support.selection import all_but
from tf_rnn_ops.keras import CudnnGRU, CudnnLSTM, Reversed

MODES = tuple(stock_stack.LAYERS)
STOCK = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}
BATCH, TIME, INPUTS, UNITS = 4, 6, 3, 5
LENGTHS = np.array([6, 4, 1, 3], np.int32)
MASK = np.arange(TIME) < LENGTHS[:, None]


@pytest.fixture
def x(rng):
    return rng.standard_normal((BATCH, TIME, INPUTS))


def _stock(mode, layers=2, **options):
    """Layers of Keras, one after the other."""
    options = {"return_sequences": True, "dtype": "float64", **options}
    if mode in STOCK:
        return [STOCK[mode](UNITS, **options) for _ in range(layers)]
    activation = mode.removeprefix("rnn_")
    return [keras.layers.SimpleRNN(UNITS, activation=activation, **options) for _ in range(layers)]


def _pair(mode, rng, layers=2, **options):
    """Keras's layers and our stack with the same weights."""
    stock = keras.Sequential(
        [keras.Input((None, INPUTS), dtype="float64"), *_stock(mode, layers, **options)]
    )
    stock.set_weights([0.4 * rng.standard_normal(w.shape) for w in stock.get_weights()])
    ours = stock_stack.LAYERS[mode].from_converted(
        tf_rnn_ops.params.from_keras([layer for layer in stock.layers if layer.weights], mode),
        return_sequences=True,
        dtype="float64",
        **options,
    )
    return ours, stock


@pytest.mark.parametrize("mode", MODES)
def test_without_bias(mode, rng, x):
    ours, stock = _pair(mode, rng, use_bias=False)
    biases = ours.layout.biases[0].offset
    for training in (False, True):
        with tf.GradientTape() as tape:
            y = ours(x, training=training)
            loss = tf.reduce_sum(y**2)
        np.testing.assert_allclose(y, stock(x), rtol=0, atol=1e-12)
        gradient = tape.gradient(loss, ours.params.value).numpy()
        assert not gradient[biases:].any() and gradient[:biases].any()
    # A step of training does not change the zeros.
    model = keras.Sequential([keras.Input((TIME, INPUTS)), ours])
    model.compile(keras.optimizers.Adam(0.1), "mse")
    before = ours.get_weights()[0]
    model.fit(x, np.ones((BATCH, TIME, UNITS)), verbose=0)
    after = ours.get_weights()[0]
    assert not after[biases:].any() and np.any(after[:biases] != before[:biases])
    fresh = type(ours)(UNITS, use_bias=False, bias_initializer="ones")
    fresh.build((None, None, INPUTS))
    assert not fresh.layout.unpack(fresh.params.numpy())[1][0].any()


def test_weights_with_biases_do_not_fit_a_layer_without(rng):
    ours, _ = _pair("gru", rng)
    converted = tf_rnn_ops.params.from_keras(ours)
    with pytest.raises(ValueError, match="use_bias=False of 'gru' needs biases of 0"):
        CudnnGRU.from_converted(converted, use_bias=False, name="gru")


def test_a_layer_without_bias_rejects_biases(rng, tmp_path):
    def model(**options):
        return keras.Sequential([keras.Input((None, INPUTS)), CudnnGRU(UNITS, **options)])

    with_bias, without = model(bias_initializer="ones"), model(use_bias=False, name="gru")
    weights, before = with_bias.layers[0].get_weights(), without.layers[0].get_weights()
    with pytest.raises(ValueError, match="use_bias=False of .* needs biases of 0"):
        without.layers[0].set_weights(weights)
    with_bias.save_weights(tmp_path / "a.weights.h5")
    with pytest.raises(ValueError, match="use_bias=False of .* needs biases of 0"):
        without.load_weights(tmp_path / "a.weights.h5")
    np.testing.assert_array_equal(without.layers[0].get_weights(), before)
    without.layers[0].set_weights(before)


def _squares_of_column_sums(matrix):
    """A regularizer that tells a matrix from its transpose."""
    return tf.reduce_sum(tf.reduce_sum(matrix, axis=0) ** 2)


@pytest.mark.parametrize("mode", MODES)
def test_regularizers(mode, rng):
    options = {
        "kernel_regularizer": keras.regularizers.L1(0.1),
        "recurrent_regularizer": _squares_of_column_sums,
        "bias_regularizer": keras.regularizers.L2(0.3),
    }
    ours, stock = _pair(mode, rng, layers=3, **options)
    assert len(stock.losses) == 9 and len(ours.losses) == 1
    np.testing.assert_allclose(ours.losses[0], sum(stock.losses), rtol=1e-12)
    for name in options:  # one at a time, so that none is confused with another
        ours, stock = _pair(mode, rng, **{name: options[name]})
        np.testing.assert_allclose(ours.losses[0], sum(stock.losses), rtol=1e-12)
    with tf.GradientTape() as tape:
        loss = ours.losses[0]
    assert np.any(tape.gradient(loss, ours.params.value))


@pytest.mark.parametrize("mode", MODES)
def test_constraints(mode, rng):
    options = {
        "kernel_constraint": keras.constraints.MaxNorm(0.5, axis=0),
        "recurrent_constraint": keras.constraints.UnitNorm(axis=1),
        "bias_constraint": keras.constraints.NonNeg(),
    }
    ours, stock = _pair(mode, rng, **options)
    for variable in stock.trainable_variables:
        variable.assign(variable.constraint(variable))
    ours.params.assign(ours.params.constraint(ours.params))
    want = tf_rnn_ops.params.from_keras(
        [layer for layer in stock.layers if layer.weights], mode
    ).params
    np.testing.assert_allclose(ours.params, want, rtol=0, atol=1e-15)
    alone, _ = _pair(mode, rng, kernel_constraint=keras.constraints.NonNeg())
    alone.params.assign(alone.params.constraint(alone.params))
    weights, biases = alone.layout.unpack(alone.params.numpy())
    for block, matrix in zip(alone.layout.weights, weights):
        assert (matrix.min() < 0) == (block.source == "recurrent")
    assert min(bias.min() for bias in biases) < 0


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("return_sequences", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_go_backwards(mode, return_sequences, time_major, rng, x):
    ours, stock = _pair(mode, rng, layers=1)
    layer = type(ours)(
        UNITS,
        go_backwards=True,
        return_sequences=return_sequences,
        time_major=time_major,
        dtype="float64",
    )
    one = _stock(mode, 1, go_backwards=True, return_sequences=return_sequences)[0]
    one.build(x.shape)
    one.set_weights(stock.get_weights())
    layer.build((None, None, INPUTS))
    layer.set_weights(ours.get_weights())

    def run(mask):
        given = (x.swapaxes(0, 1), None if mask is None else mask.T) if time_major else (x, mask)
        y = layer(given[0], mask=given[1]).numpy()
        return y.swapaxes(0, 1) if time_major and return_sequences else y

    np.testing.assert_allclose(run(None), one(x), rtol=0, atol=1e-12)
    got, want = run(MASK), one(x, mask=MASK).numpy()
    if return_sequences:
        valid = MASK[:, ::-1]
        np.testing.assert_allclose(got[valid], want[valid], rtol=0, atol=1e-12)
        assert not got[~valid].any()
    else:
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(["lstm", "gru"], ["concat", "sum", None], *[[False, True]] * 2)),
        ("lstm", "sum", True, False),
        ("gru", "concat", False, True),
        ("gru", None, False, False),
    ),
    ids=str,
)
def test_bidirectional(case, rng, x):
    mode, merge_mode, return_sequences, masked = case
    cls = CudnnLSTM if mode == "lstm" else CudnnGRU
    options = {"return_sequences": return_sequences, "dtype": "float64"}
    ours = keras.layers.Bidirectional(
        cls(UNITS, return_state=True, **options), merge_mode=merge_mode, dtype="float64"
    )
    stock = keras.layers.Bidirectional(
        STOCK[mode](UNITS, return_state=True, **options), merge_mode=merge_mode, dtype="float64"
    )
    ours.build(x.shape)
    stock.build(x.shape)
    halves = []
    for layer, twin in (
        (stock.forward_layer, ours.forward_layer),
        (stock.backward_layer, ours.backward_layer),
    ):
        layer.set_weights([0.4 * rng.standard_normal(w.shape) for w in layer.get_weights()])
        halves.append(tf_rnn_ops.params.from_keras([layer.get_weights()]).params)
        twin.set_weights([halves[-1]])
    mask = MASK if masked else None
    got, want = ours(x, mask=mask), stock(x, mask=mask)
    assert len(got) == len(want)
    outputs = 1 if merge_mode else 2
    for a, b in zip(got[:outputs], want[:outputs]):
        a, b = np.array(a), np.array(b)
        if return_sequences and masked:
            a, b = a[MASK], b[MASK]
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
    for a, b in zip(got[outputs:], want[outputs:]):
        np.testing.assert_allclose(np.squeeze(a, 1), b, rtol=0, atol=1e-12)
    again = keras.layers.deserialize(keras.layers.serialize(ours))
    assert again.backward_layer.go_backwards and not again.forward_layer.go_backwards


def test_bidirectional_rejects_what_it_would_reverse_along_the_batch():
    stack = CudnnLSTM(UNITS, time_major=True, return_sequences=True, name="stack")
    with pytest.raises(ValueError, match="'forward_stack' in Bidirectional must have time_major=F"):
        keras.layers.Bidirectional(stack)
    given = CudnnLSTM(UNITS, time_major=True, return_sequences=True, go_backwards=True)
    with pytest.raises(ValueError, match="in Bidirectional must have time_major=False"):
        keras.layers.Bidirectional(CudnnLSTM(UNITS, return_sequences=True), backward_layer=given)


def test_a_reversed_stack(rng, x):
    ours, stock = _pair("gru", rng, layers=1)
    options = {"return_sequences": True, "go_backwards": True, "dtype": "float64"}
    layer, plain = CudnnGRU(UNITS, return_state=True, **options), keras.layers.GRU(UNITS, **options)
    layer.build(x.shape)
    plain.build(x.shape)
    layer.set_weights(ours.get_weights())
    plain.set_weights(stock.get_weights())
    reversed_layer = Reversed(layer, dtype="float64")
    y, _ = reversed_layer(x)
    np.testing.assert_allclose(y, plain(x)[:, ::-1], rtol=0, atol=1e-12)
    inputs = [keras.Input(shape, dtype="float64") for shape in ((TIME, INPUTS), (1, UNITS))]
    shapes = [output.shape for output in reversed_layer(inputs[0], initial_state=inputs[1])]
    assert shapes == [(None, TIME, UNITS), (None, 1, UNITS)]
    with pytest.raises(ValueError, match="time_major of layer 'stack' must be False"):
        Reversed(CudnnGRU(UNITS, time_major=True, name="stack", **options))
    with pytest.raises(ValueError, match="must be a recurrent layer .*, but 'd' is a Dense"):
        Reversed(keras.layers.Dense(4, name="d"))


@pytest.mark.parametrize("merge_mode", ["concat", None])
def test_bidirectional_with_time_first(merge_mode, rng, x):
    """Without return_sequences nothing is reversed, so time may be first."""
    halves = [
        keras.layers.Bidirectional(
            CudnnGRU(UNITS, time_major=time_major, return_state=True, dtype="float64"),
            merge_mode=merge_mode,
            dtype="float64",
        )
        for time_major in (False, True)
    ]
    halves[0].build(x.shape)
    halves[1].build(x.swapaxes(0, 1).shape)
    halves[1].set_weights(halves[0].get_weights())
    want, got = halves[0](x, mask=MASK), halves[1](x.swapaxes(0, 1), mask=MASK.T)
    assert len(want) == len(got)
    for a, b in zip(got, want):
        np.testing.assert_array_equal(a if len(a.shape) == 2 else tf.transpose(a, [1, 0, 2]), b)


def test_an_activity_regularizer_needs_the_batch_first(x):
    regularizer = keras.regularizers.L1(0.5)
    layer = CudnnGRU(UNITS, activity_regularizer=regularizer)
    y = layer(x.astype("float32"))
    np.testing.assert_allclose(layer.losses, [0.5 * np.abs(y).sum() / BATCH], rtol=1e-6)
    with pytest.raises(ValueError, match="activity_regularizer of 'gru' must be None with time_ma"):
        CudnnGRU(UNITS, activity_regularizer=regularizer, time_major=True, name="gru")


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("cls", [CudnnLSTM, CudnnGRU])
def test_stateful(cls, time_major, rng, x):
    x = x.swapaxes(0, 1) if time_major else x
    axis = 0 if time_major else 1
    options = {
        "num_layers": 2,
        "time_major": time_major,
        "return_sequences": True,
        "dtype": "float64",
    }
    layer, plain = cls(UNITS, stateful=True, **options), cls(UNITS, **options)
    layer.build(x.shape)
    plain.build(x.shape)
    plain.set_weights(layer.get_weights())
    run = tf.function(layer)
    for _ in range(2):
        parts = [run(tf.constant(part)) for part in np.split(x, 2, axis=axis)]
        np.testing.assert_allclose(np.concatenate(parts, axis), plain(x), rtol=0, atol=1e-14)
        assert np.any(layer.states[0])
        layer.reset_state()
    assert len(layer.get_weights()) == 1
    states = [rng.standard_normal(state.shape) for state in layer.states]
    np.testing.assert_array_equal(layer(x, initial_state=states), plain(x, initial_state=states))


def test_stateful_needs_the_batch_size():
    layer = CudnnLSTM(UNITS, stateful=True, name="stack")
    with pytest.raises(ValueError, match="batch size of the input of 'stack' must be known"):
        layer.build((None, None, INPUTS))
    layer.build((BATCH, None, INPUTS))
    part = np.zeros((2, TIME, INPUTS), "float32")
    said = "input of 'stack' must have a batch of 4, .* stateful=True .* its batch is 2"
    with pytest.raises(ValueError, match=said):
        layer(part)
    with pytest.raises(ValueError, match=said):
        layer(part, initial_state=[np.zeros((2, 1, UNITS), "float32")] * 2)
    late = CudnnLSTM(UNITS, name="stack")
    late(part)
    late.stateful = True
    with pytest.raises(ValueError, match="stateful of 'stack' must be True when .* is built"):
        late(part)


@pytest.mark.parametrize("time_major", [False, True])
def test_converted_weights_in_a_stateful_stack(time_major, rng, x):
    ours, stock = _pair("lstm", rng, layers=1)
    converted = ours.layout, ours.get_weights()[0]
    options = {"stateful": True, "time_major": time_major, "dtype": "float64"}
    layer = CudnnLSTM.from_converted(converted, batch_size=BATCH, **options)
    for part in np.split(x, 2, axis=1):
        y = layer(part.swapaxes(0, 1) if time_major else part)
    np.testing.assert_allclose(y, stock(x)[:, -1], rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="CudnnLSTM with stateful=True needs batch_size"):
        CudnnLSTM.from_converted(converted, **options)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_stateless_calls_leave_the_states_alone(policy, x):
    """As in keras.layers.LSTM, the states are variables of Keras but not weights."""
    x = tf.constant(x, "float32")
    for layer in (
        CudnnLSTM(UNITS, stateful=True, dtype=policy),
        keras.layers.LSTM(UNITS, stateful=True, dtype=policy),
    ):
        inputs = keras.Input(batch_shape=x.shape)
        model = keras.Model(inputs, layer(inputs))
        model(x)
        before = [np.array(state) for state in layer.states]
        weights = model.trainable_variables, model.non_trainable_variables
        first, second = (model.stateless_call(*weights, x)[0] for _ in range(2))
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(first, layer.stateless_call(*weights, x)[0])
        for state, old in zip(layer.states, before, strict=True):
            assert isinstance(state, keras.Variable)
            np.testing.assert_array_equal(state, old)
        np.testing.assert_array_equal(model(x), first)
        assert not any(state is weight for state in layer.states for weight in model.variables)


class _Outer(keras.layers.Layer):
    """Has no `build`, so Keras builds the stack while it traces the call, with another type in force."""

    def __init__(self, stack):
        super().__init__(dtype="mixed_bfloat16")
        self.stack = stack
        self.scale = self.add_weight(shape=())

    def call(self, x):
        return self.stack(x)


def test_states_of_a_stack_in_a_layer_of_another_type(x, tmp_path):
    outer = _Outer(CudnnGRU(UNITS, stateful=True, dtype="float32"))
    outer(x)
    assert [state.dtype for state in outer.stack.states] == ["float32"]
    assert len(outer.weights) == 2
    path = tf.train.Checkpoint(layer=outer).save(str(tmp_path / "saved"))
    want = outer(x)
    tf.train.Checkpoint(layer=outer).restore(path).assert_consumed()
    np.testing.assert_array_equal(outer(x), want)


def test_states_that_a_call_begins_with():
    for cls, count in ((CudnnLSTM, 2), (CudnnGRU, 1)):
        for time_major in (False, True):
            layer = cls(UNITS, num_layers=2, time_major=time_major, return_state=True)
            shape = (2, BATCH, UNITS) if time_major else (BATCH, 2, UNITS)
            states = layer.get_initial_state(BATCH)
            assert [tuple(state.shape) for state in states] == [shape] * count
            x = np.ones((TIME, BATCH, 1) if time_major else (BATCH, TIME, 1), "float32")
            for a, b in zip(layer(x, initial_state=states), layer(x), strict=True):
                np.testing.assert_array_equal(a, b)


def test_states_are_copied_saved_and_exported(x, tmp_path):
    inputs = keras.Input(batch_shape=x.shape)
    model = keras.Model(inputs, CudnnGRU(UNITS, stateful=True)(inputs))
    model(x)
    copy = tf_rnn_ops.keras.convert(model)
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "saved"))
    want = model(x)
    np.testing.assert_array_equal(copy(x), want)
    tf.train.Checkpoint(model=model).restore(path).assert_consumed()
    np.testing.assert_array_equal(model(x), want)
    model.export(str(tmp_path / "exported"), verbose=False)
    served = tf.saved_model.load(str(tmp_path / "exported"))
    np.testing.assert_array_equal(served.serve(x.astype("float32")), model(x))


@pytest.mark.parametrize("cls", stock_stack.LAYERS.values())
def test_config_round_trip(cls):
    layer = cls(
        3,
        use_bias=False,
        kernel_regularizer=keras.regularizers.L1(0.1),
        recurrent_regularizer="l2",
        bias_regularizer="l1",
        kernel_constraint=keras.constraints.MaxNorm(2.0),
        recurrent_constraint="unit_norm",
        bias_constraint="non_neg",
        go_backwards=True,
        stateful=True,
    )
    restored = keras.layers.deserialize(keras.layers.serialize(layer))
    assert restored.get_config() == layer.get_config()
    config = layer.get_config()
    assert config["go_backwards"] and config["stateful"] and not config["use_bias"]
    assert config["kernel_regularizer"]["config"]["l1"] == pytest.approx(0.1)


def test_config_of_numbers_of_numpy():
    given = {"units": np.int64(4), "num_layers": np.int64(2), "num_proj": np.int32(3)}
    config = CudnnLSTM(**given, dropout=np.float64(0.5), seed=np.int64(1)).get_config()
    assert json.loads(json.dumps(config)) == config
    assert {name: config[name] for name in given} == {"units": 4, "num_layers": 2, "num_proj": 3}
    assert CudnnLSTM(4, num_proj=None).get_config()["num_proj"] == 0


@pytest.mark.parametrize(
    "other",
    [
        {"units": 6},
        {"num_layers": 1},
        {"direction": "bidirectional"},
        {"num_proj": 2},
        {"units": 3},
    ],
    ids=str,
)
def test_weights_of_another_network_name_both(other, tmp_path):
    def model(**options):
        return keras.Sequential(
            [keras.Input((None, INPUTS)), CudnnLSTM(**{"units": UNITS, "num_layers": 2, **options})]
        )

    path = tmp_path / "saved.weights.h5"
    saved, loading = model(), model(**other)
    saved.save_weights(path)
    before = loading.get_weights()[0]
    name, value = next(iter(other.items()))
    name = {"units": "num_units"}.get(name, name)
    was = {"num_units": UNITS, "num_layers": 2, "num_proj": 0}.get(name, "unidirectional")
    with pytest.raises(
        ValueError, match=f"saved weights belong to .*{name}={was!r}.* has .*{name}={value!r}"
    ):
        loading.load_weights(path)
    np.testing.assert_array_equal(loading.get_weights()[0], before)
    model().load_weights(path)


# ---- Keras's fused Bidirectional ----


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_a_fused_bidirectional_of_keras_does_not_pass_us_by(mode, monkeypatch, x):
    """If Keras's backend runs both directions, it gets Keras's layers and not our layers."""
    method = f"_can_attempt_fused_{mode}"
    if not hasattr(keras.layers.Bidirectional, method):
        pytest.skip("this Keras has none")
    calls = []

    def fused(self, sequences, initial_state):
        calls.append(type(self.forward_layer))
        raise NotImplementedError

    monkeypatch.setattr(keras.layers.Bidirectional, f"_call_fused_{mode}", fused)
    ours = {"lstm": tf_rnn_ops.keras.LSTM, "gru": tf_rnn_ops.keras.GRU}[mode]
    for cls in (ours, STOCK[mode]):
        keras.layers.Bidirectional(cls(UNITS))(x)
    assert calls == [STOCK[mode]]
    with tf_rnn_ops.keras.accelerate():
        keras.layers.Bidirectional(STOCK[mode](UNITS))(x)
    assert calls == [STOCK[mode]]
