"""PeepholeLSTM against its cell in Keras's implementation, and its cell against the equations in numpy."""

import compare_layers as compare
import keras
import numpy as np
import pytest
import tensorflow as tf

from support.reference import block_lstm
from tf_rnn_ops.keras import PeepholeLSTM, PeepholeLSTMCell, explain

CLIP = 0.3  # well inside what the random weights below reach


def make(**arguments):
    random = keras.initializers.RandomNormal(stddev=0.7)
    arguments = {
        "cell_clip": CLIP,
        "return_state": True,
        "dtype": "float64",
        "peephole_initializer": random,
        "bias_initializer": random,
        "unit_forget_bias": False,
        **arguments,
    }
    layer = PeepholeLSTM(compare.UNITS, **arguments)
    layer.build((compare.BATCH, compare.TIME, compare.INPUT))
    return layer


def loop_of(layer):
    """The same cell with the same weights in Keras's implementation."""
    names = ("return_sequences", "return_state", "go_backwards", "zero_output_for_mask")
    loop = keras.layers.RNN(
        layer.cell, dtype=layer.dtype_policy, **{name: getattr(layer, name) for name in names}
    )
    loop.build((compare.BATCH, compare.TIME, compare.INPUT))
    return loop


@pytest.mark.each_value
@pytest.mark.parametrize("go_backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("zero", [False, True], ids=["repeat", "zero"])
@pytest.mark.parametrize("sequences", [False, True], ids=["last", "sequence"])
@pytest.mark.parametrize("mask", compare.MASKS)
def test_against_the_loop(mask, sequences, zero, go_backwards, rng, op_calls):
    layer = make(return_sequences=sequences, zero_output_for_mask=zero, go_backwards=go_backwards)
    x, states = compare.values(rng)
    compare.assert_same(loop_of(layer), layer, x, compare.MASKS[mask], states, training=True)
    assert op_calls == ["BlockLSTMV2"]


@pytest.mark.parametrize("clip", [0.0, CLIP])
def test_against_the_equations(clip, rng):
    layer = make(return_sequences=True, cell_clip=clip)
    x, (h, c) = compare.values(rng)
    kernel, recurrent, bias, *peepholes = layer.get_weights()
    w = np.concatenate([kernel, recurrent])
    arrays = np.asarray(x).transpose(1, 0, 2), np.asarray(c), np.asarray(h), w, *peepholes, bias
    want = block_lstm.forward(
        block_lstm.BlockLstmInputs(*arrays), cell_clip=float(np.float32(clip)), use_peephole=True
    )
    if clip:
        assert np.max(np.abs(want["cs"])) == np.float32(clip)
    outputs, last_h, last_c = layer(x, initial_state=[h, c])
    for got, value in (
        (outputs, want["h"].transpose(1, 0, 2)),
        (last_h, want["h"][-1]),
        (last_c, want["cs"][-1]),
    ):
        np.testing.assert_allclose(got, value, rtol=0, atol=1e-14)


def test_without_peepholes_it_is_an_lstm(rng):
    layer = make(cell_clip=0, peephole_initializer="zeros", return_sequences=True)
    stock, _ = compare.pair("LSTM", return_sequences=True)
    stock.set_weights(layer.get_weights()[:3])
    x, states = compare.values(rng)
    want = compare.as_arrays(compare.outcome(stock, x, compare.MASKS["holes"], states))
    got = compare.as_arrays(compare.outcome(layer, x, compare.MASKS["holes"], states))
    compare.assert_outcomes({name: got[name] for name in want}, want, "float64")


def test_what_is_masked_may_be_anything(rng):
    """Masked steps may hold NaN: neither results nor gradients see it."""
    layer = make(return_sequences=True)
    x, _ = compare.values(rng)
    mask = compare.MASKS["right"]
    want = compare.as_arrays(compare.outcome(layer, x, mask))
    spoilt = np.where(mask[:, :, None], x, np.nan)
    got = compare.as_arrays(compare.outcome(layer, keras.ops.convert_to_tensor(spoilt), mask))
    for name, value in want.items():
        np.testing.assert_array_equal(got[name], value)


@pytest.mark.parametrize(
    "arguments",
    [
        {"activation": "relu"},
        {"unroll": True},
        {"use_bias": False, "recurrent_dropout": 0.5, "seed": 3},
        {"recurrent_dropout": 0.5, "dropout": 0.5, "seed": 3},
    ],
    ids="-".join,
)
def test_the_loop_where_the_op_cannot(arguments, rng, op_calls):
    layer = make(**arguments)
    x, _ = compare.values(rng)
    results = layer(x, training=True)
    assert op_calls == [] and explain(layer, None)[0].path != "fused"
    if "seed" not in arguments:
        np.testing.assert_array_equal(results[0], loop_of(layer)(x)[0])


def test_dropout_on_the_op(rng, op_calls):
    layer, other = (make(dropout=0.5, seed=3) for _ in range(2))
    other.set_weights(layer.get_weights())
    x, _ = compare.values(rng)
    compare.assert_same(loop_of(other), layer, x, training=True)
    assert op_calls == ["BlockLSTMV2"]


def test_model_saves_trains_and_wraps(rng, tmp_path):
    inputs = keras.Input((None, 3))
    layer = PeepholeLSTM(4, cell_clip=2.0, return_sequences=True, name="peephole")
    outputs = keras.layers.Bidirectional(layer)(keras.layers.Masking()(inputs))
    model = keras.Model(inputs, keras.layers.Dense(1)(outputs))
    model.compile("adam", "mse")
    x, y = rng.normal(size=(6, 5, 3)), rng.normal(size=(6, 5, 1))
    x[2, 3:] = 0
    losses = model.fit(x, y, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))
    assert again.layers[-2].forward_layer.cell.cell_clip == 2.0


def test_config_and_weights():
    layer = make(kernel_regularizer="l2", seed=7, peephole_constraint="non_neg", name="mine")
    again = PeepholeLSTM.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    assert again.cell.seed == 7 and again.cell.peephole_constraint is not None
    names = ["kernel", "recurrent_kernel", "bias", "peephole_i", "peephole_f", "peephole_o"]
    assert [weight.path.split("/")[-1] for weight in layer.weights] == names
    cell = PeepholeLSTMCell.from_config(layer.cell.get_config())
    assert cell.cell_clip == np.float32(CLIP)


def test_stateful(rng):
    layer = make(stateful=True)
    loop = loop_of(layer)
    x, _ = compare.values(rng)
    states = None
    for _ in range(2):
        want, *states = loop(x, initial_state=states)
        np.testing.assert_allclose(layer(x)[0], want, rtol=0, atol=1e-14)
    layer.reset_state()
    assert not np.any(layer.states[1].numpy())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": 0}, "units"),
        ({"units": 2, "cell_clip": -1}, "cell_clip must be 0 or more, but it is -1"),
        ({"units": 2, "cell_clip": float("nan")}, "cell_clip must be 0 or more, but it is nan"),
        (
            {"units": 2, "cell_clip": 1e-39},
            "cell_clip must be 0, or between .*1e-39",
        ),
        (
            {"units": 2, "cell_clip": -float("inf")},
            "cell_clip must be 0, or between .* but it is -inf",
        ),
        ({"units": 2, "cell_clip": "a"}, "cell_clip must be a number, but it is 'a'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        PeepholeLSTM(**arguments)


def test_an_unknown_argument():
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        PeepholeLSTM(2, nonsense=1)


def test_a_limit_of_none():
    for none in (None, 0, float("inf")):
        assert PeepholeLSTM(3, cell_clip=none).cell.cell_clip == 0.0


def test_an_empty_batch_with_a_mask(op_calls):
    layer = make(return_sequences=True)
    x = np.zeros((0, compare.TIME, compare.INPUT))
    mask = np.zeros((0, compare.TIME), bool)
    for got, want in zip(layer(x, mask=mask), loop_of(layer)(x, mask=mask), strict=True):
        assert got.shape == want.shape
    assert op_calls == ["BlockLSTMV2"]


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_states(count, rng, op_calls):
    """The results of Keras's implementation."""
    layer = make()
    x, states = compare.values(rng)
    states = (states * 2)[:count]
    with pytest.raises(Exception) as caught:
        layer(x, initial_state=states)
    with pytest.raises(Exception) as wanted:
        loop_of(layer)(x, initial_state=states)
    assert caught.type is wanted.type and op_calls == []


def test_arguments_of_every_keras_layer(rng):
    layer = PeepholeLSTM(4, input_shape=(5, 3), implementation=1, activity_regularizer="l2")
    assert layer.cell.implementation == 1 and layer.activity_regularizer is not None
    model = keras.Sequential([layer])
    assert model.built and model.input_shape == (None, 5, 3)


@pytest.mark.parametrize(
    "seed", [None, 5, "generator"], ids=["unseeded", "seeded", "seed generator"]
)
def test_initial_peepholes_differ(seed):
    seed = keras.random.SeedGenerator(5) if seed == "generator" else seed
    layer = PeepholeLSTM(8, peephole_initializer=keras.initializers.RandomNormal(seed=seed))
    layer.build((None, None, 3))
    peepholes = np.stack(layer.get_weights()[3:])
    assert len(np.unique(peepholes)) == peepholes.size


@pytest.mark.parametrize("sequences", [True, False])
def test_no_time_steps(sequences, rng, op_calls):
    layer = make(return_sequences=sequences)
    states = [tf.constant(rng.standard_normal((2, compare.UNITS))) for _ in range(2)]
    x = np.zeros((2, 0, compare.INPUT))
    spec = tf.TensorSpec([None, None, compare.INPUT], "float64")
    output, *new_states = tf.function(
        lambda x: layer(x, initial_state=states), input_signature=[spec]
    )(x)
    assert op_calls == ["BlockLSTMV2"]
    for new, old in zip(new_states, states, strict=True):
        np.testing.assert_array_equal(new, old)
    want = np.zeros((2, 0, compare.UNITS)) if sequences else states[0]
    np.testing.assert_array_equal(output, want)


@pytest.mark.parametrize("dtype", ["complex64", "string"])
def test_inputs_that_are_no_numbers(dtype, op_calls):
    x = tf.fill((2, 5, 3), "1") if dtype == "string" else tf.ones((2, 5, 3), dtype)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        PeepholeLSTM(4)(x)
    assert op_calls == []
    assert PeepholeLSTM(4)(tf.ones((2, 5, 0))).shape == (2, 4)
