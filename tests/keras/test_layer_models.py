"""LSTM, GRU and SimpleRNN inside models: wrappers, fit, compile, unknown shapes."""

import itertools

import compare_layers as compare
import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from support.selection import all_but

MODULES = (keras.layers, tf_rnn_ops.keras)


def two_models(make):
    """The model that `make` builds from each module's layers, with the weights of the first."""
    models = [make(module) for module in MODULES]
    models[1].set_weights(models[0].get_weights())
    return models


MERGE_MODES = ("concat", "sum", "ave", "mul", None)


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(MERGE_MODES, [False, True], ["no_mask", "right", "holes"])),
        ("concat", True, "no_mask"),
        ("sum", True, "holes"),
        ("ave", False, "right"),
        ("mul", False, "right"),
        (None, False, "no_mask"),
    ),
    ids=str,
)
def test_bidirectional(case, rng, op_calls):
    merge_mode, sequences, mask = case
    name = {"concat": "LSTM", "sum": "GRU"}.get(merge_mode, "SimpleRNN")
    layers = []
    for module in MODULES:
        inner = getattr(module, name)(
            compare.UNITS, return_sequences=sequences, return_state=True, dtype="float64"
        )
        layers.append(keras.layers.Bidirectional(inner, merge_mode=merge_mode, dtype="float64"))
        layers[-1].build((compare.BATCH, compare.TIME, compare.INPUT))
    layers[1].set_weights(layers[0].get_weights())
    x, states = compare.values(rng)
    count = compare.number_of_states(name)
    states = states[:count] + [state + 1 for state in states[:count]]
    compare.assert_same(*layers, x, compare.MASKS[mask], states, training=True)
    assert op_calls == ["LayerRNN"] * 2


@pytest.mark.parametrize("time", [3, None], ids=["known", "unknown"])
def test_time_distributed(time, rng):
    def make(module):
        layer = keras.layers.TimeDistributed(module.LSTM(4, dtype="float64"), dtype="float64")
        return keras.Sequential([keras.Input((time, 6, 2), dtype="float64"), layer])

    stock, ours = two_models(make)
    x = rng.normal(size=(2, 3, 6, 2))
    np.testing.assert_allclose(ours(x), stock(x), rtol=0, atol=1e-14)
    assert tuple(ours(x).shape) == (2, 3, 4)


def classifier(module):
    inputs = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(7, 5, mask_zero=True)(inputs)
    x = keras.layers.Bidirectional(module.LSTM(4, return_sequences=True, dropout=0.2, seed=1))(x)
    x = module.GRU(4, return_sequences=True, seed=2)(x)
    x = module.SimpleRNN(4, seed=3)(x)
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model


@pytest.fixture
def sentences(rng):
    """Numbers of words, 0 for none at either end and in between."""
    return rng.integers(0, 7, size=(12, 9)).astype("int32"), rng.normal(size=(12, 1))


def test_training_goes_the_way_of_keras(sentences):
    stock, ours = two_models(classifier)
    x, y = sentences
    histories = [
        m.fit(x, y, epochs=4, batch_size=5, shuffle=False, verbose=0) for m in (stock, ours)
    ]
    losses = [history.history["loss"] for history in histories]
    assert losses[1][-1] < losses[1][0]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    for got, want in zip(ours.get_weights(), stock.get_weights()):
        np.testing.assert_allclose(got, want, atol=1e-3)


def test_one_model_for_any_batch_and_time(sentences):
    stock, ours = two_models(classifier)
    x, _ = sentences
    for part in (x, x[:1], x[:, :4], x[3:5, 2:]):
        np.testing.assert_allclose(
            ours.predict(part, verbose=0), stock.predict(part, verbose=0), atol=1e-5
        )


def test_stateful_model(rng):
    def make(module):
        inputs = keras.Input(batch_shape=(4, 5, 2))
        return keras.Model(inputs, module.GRU(3, stateful=True)(inputs))

    stock, ours = two_models(make)
    for _ in range(3):
        x = rng.normal(size=(4, 5, 2)).astype("float32")
        np.testing.assert_allclose(
            ours.predict(x, batch_size=4, verbose=0),
            stock.predict(x, batch_size=4, verbose=0),
            atol=1e-6,
        )
