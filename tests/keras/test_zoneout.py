"""ZoneoutLSTM and ZoneoutGRU against Keras's implementation over their cells.

In training they are compared with the numpy reference, with the masks of the seed that the layer has drawn.
"""

import compare_layers as compare
import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from support.reference import layer as reference
from support.selection import all_but
from tf_rnn_ops import _seeds
from tf_rnn_ops.keras import ZoneoutGRU, ZoneoutGRUCell, ZoneoutLSTM, ZoneoutLSTMCell, explain
from tf_rnn_ops.native import xla

KINDS = {
    ZoneoutLSTM: {"zoneout_h": 0.25, "zoneout_c": 0.5},
    ZoneoutGRU: {"zoneout_h": 0.375},
}
MODES = {ZoneoutLSTM: "lstm", ZoneoutGRU: "gru"}


def make(kind, **arguments):
    arguments = {
        **KINDS[kind],
        "return_state": True,
        "dtype": "float64",
        "bias_initializer": keras.initializers.RandomNormal(stddev=0.7),
        **arguments,
    }
    if kind is ZoneoutLSTM:
        arguments["unit_forget_bias"] = False
    layer = kind(compare.UNITS, **arguments)
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


def values(kind, rng):
    x, states = compare.values(rng)
    return x, states[: 2 if kind is ZoneoutLSTM else 1]


@pytest.mark.parametrize("mask", ["no_mask", "left", "holes", "none_valid"])
@pytest.mark.parametrize("kind", KINDS)
def test_inference_against_the_loop(kind, mask, rng, op_calls):
    layer = make(kind, return_sequences=True, go_backwards=mask == "left")
    x, states = values(kind, rng)
    compare.assert_same(loop_of(layer), layer, x, compare.MASKS[mask], states)
    assert set(op_calls) == {"LayerRNN"}
    assert explain(layer, print_fn=None)[0][2:] == ("fused", "")
    assert layer.supports_jit is (xla.unavailable() is None)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_whole_stays_beside_anything(kind, rng, op_calls):
    """A rate of 1 leaves the old states, and one of 0 the new ones, where the other ones are infinite."""
    layer = make(kind, zoneout_h=1.0, **({"zoneout_c": 0.0} if kind is ZoneoutLSTM else {}))
    layer.cell.activation = keras.activations.linear
    x, states = values(kind, rng)
    x = tf.concat([x[:, :1], tf.fill(x[:, 1:].shape, tf.constant(1e300, x.dtype))], 1)
    weights = layer.get_weights()
    weights[0] = 1e200 * np.ones_like(weights[0])
    layer.set_weights(weights)
    for run in (layer, loop_of(layer)):
        found = [np.asarray(t) for t in run(x, initial_state=states)]
        np.testing.assert_array_equal(found[0], states[0])
        np.testing.assert_array_equal(found[1], states[0])
        if kind is ZoneoutLSTM:
            assert np.isinf(found[2]).all()
    assert set(op_calls) == {"LayerRNN"}


@pytest.mark.parametrize("kind", KINDS)
def test_training_keeps_what_the_seed_selects(kind, rng, op_calls, monkeypatch):
    seeds = []

    def draw(generator, _draw=_seeds.draw):
        seeds.append(_draw(generator))
        return seeds[-1]

    monkeypatch.setattr(_seeds, "draw", draw)
    layer = make(kind, return_sequences=True, seed=7)
    x, states = values(kind, rng)
    first, second = (layer(x, initial_state=states, training=True) for _ in range(2))
    assert op_calls == ["LayerRNN"] * 2 and len(seeds) == 2
    assert np.any(np.asarray(first[0]) != np.asarray(second[0]))
    own = dict(zip([w.name for w in layer.weights], map(np.asarray, layer.get_weights())))
    h, *c = map(np.asarray, states)
    for results, seed in zip((first, second), seeds):
        inputs = reference.LayerInputs(
            x=np.asarray(x).transpose(1, 0, 2),
            h0=h,
            c0=c[0] if c else None,
            seed=seed.numpy(),
            **{name: own[name] for name in ("kernel", "recurrent_kernel", "bias")},
        )
        want, _ = reference.forward(MODES[kind], inputs, functions=KINDS[kind])
        wanted = [want["output"].transpose(1, 0, 2), *list(want.values())[1:]]
        for got, value in zip(results, wanted, strict=True):
            np.testing.assert_allclose(got, value, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_the_loop_draws_at_the_rates_too(kind, rng):
    layer = make(kind, unroll=True)
    x, states = values(kind, rng)
    x = tf.repeat(x[:1], 4000, 0)
    states = [tf.repeat(s[:1], 4000, 0) for s in states]
    step = layer(x[:, :1], initial_state=states, training=True)[1:]
    for old, new, rate in zip(states, step, KINDS[kind].values(), strict=True):
        kept = np.mean(np.asarray(old) == np.asarray(new))
        assert abs(kept - rate) < 6 * np.sqrt(rate * (1 - rate) / 4000 / compare.UNITS)
    assert "unroll" in explain(layer, print_fn=None)[0].reason


@pytest.mark.parametrize("kind", KINDS)
def test_without_rates_it_is_the_layer_of_keras(kind, rng, op_calls):
    none = dict.fromkeys(KINDS[kind], 0.0)
    layer = make(kind, return_sequences=True, recurrent_dropout=0.25, seed=3, **none)
    base = keras.layers.LSTM if kind is ZoneoutLSTM else keras.layers.GRU
    config = {
        n: v for n, v in layer.get_config().items() if n not in none and n != "implementation"
    }
    stock = base.from_config(config)
    stock.build((compare.BATCH, compare.TIME, compare.INPUT))
    stock.set_weights(layer.get_weights())
    x, states = values(kind, rng)
    compare.assert_same(stock, layer, x, compare.MASKS["holes"], states, training=True)
    assert "LayerRNN" in op_calls


def test_a_gru_that_resets_before(rng, op_calls):
    layer = make(ZoneoutGRU, reset_after=False)
    x, states = values(ZoneoutGRU, rng)
    compare.assert_same(loop_of(layer), layer, x, None, states)
    assert op_calls == []
    assert "reset_after=False" in explain(layer, print_fn=None)[0].reason


@pytest.mark.parametrize("jit_compile", all_but([False, True], False))
@pytest.mark.parametrize("kind", KINDS)
def test_trains_in_a_bidirectional_model_and_is_saved(kind, jit_compile, tmp_path, rng):
    if jit_compile and xla.unavailable() is not None:
        pytest.skip("no library for XLA was built")
    layer = kind(6, **KINDS[kind], recurrent_dropout=0.2, kernel_regularizer="l2")
    model = keras.Sequential(
        [keras.Input((None, 3)), keras.layers.Masking(), keras.layers.Bidirectional(layer)]
    )
    x = rng.normal(size=(8, 5, 3)).astype("float32")
    x[2:4, 3:] = 0
    model.compile("sgd", "mse", jit_compile=jit_compile)
    before = model.get_weights()
    model.fit(x, np.ones((8, 12), "float32"), epochs=1, verbose=0)
    for name, one, other in zip([w.path for w in model.weights], before, model.get_weights()):
        assert "seed" in name or np.any(one != other), name
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
    assert loaded.layers[-1].forward_layer.get_config() == layer.get_config() | {
        "name": loaded.layers[-1].forward_layer.name
    }


def test_cells_in_a_stack_run_on_the_op(rng, op_calls):
    cells = [ZoneoutLSTMCell(5, zoneout_h=0.5), ZoneoutGRUCell(4, zoneout_h=0.25)]
    x = tf.cast(compare.values(rng)[0], "float32")
    stock = keras.layers.RNN(cells, return_sequences=True)
    stock.build(x.shape)
    ours = tf_rnn_ops.keras.RNN(cells, return_sequences=True)
    ours.build(x.shape)
    np.testing.assert_allclose(ours(x), stock(x), atol=1e-6)
    ours(x, training=True)
    assert op_calls == ["LayerRNN"] * 4


@pytest.mark.parametrize("kind, name", [(kind, name) for kind in KINDS for name in KINDS[kind]])
@pytest.mark.parametrize("rate", [-0.5, 1.5, float("nan")])
def test_bad_rates(kind, name, rate):
    with pytest.raises(ValueError, match=f"{name} must be between 0 and 1, but it is {rate}"):
        kind(3, **{name: rate})


@pytest.mark.parametrize("kind, name", [(kind, name) for kind in KINDS for name in KINDS[kind]])
@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ("a", "a number, but it is 'a'"),
        (None, "a number, but it is None"),
        (1e-40, "0, or between .* \\(float32\\)"),
    ],
)
def test_rates_that_the_op_cannot_have(kind, name, rate, message):
    with pytest.raises(ValueError, match=f"{name} must be {message}"):
        kind(3, **{name: rate})
