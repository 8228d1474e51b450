"""Saving and loading: .keras, weights that fit stock Keras, SavedModel, each in a fresh process."""

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from support import subproc


def make(module):
    """One layer of each kind, masked."""
    inputs = keras.Input((None, 3))
    x = keras.layers.Masking()(inputs)
    forth = module.LSTM(4, return_sequences=True)
    x = keras.layers.Bidirectional(forth)(x)
    x = module.GRU(4, return_sequences=True, go_backwards=True, dropout=0.1)(x)
    return keras.Model(inputs, module.SimpleRNN(2, activation="relu")(x))


@pytest.fixture
def x(rng):
    x = rng.normal(size=(4, 6, 3)).astype("float32")
    x[1, :3] = 0
    x[2] = 0
    return x


def load_elsewhere(path, x, tmp_path):
    np.save(tmp_path / "x.npy", x)
    subproc.run_module("load_keras_model", path, tmp_path / "x.npy", tmp_path / "y.npy")
    return np.load(tmp_path / "y.npy")


def test_keras_file(x, tmp_path):
    model = make(tf_rnn_ops.keras)
    model.save(tmp_path / "model.keras")
    want = model.predict(x, verbose=0)
    np.testing.assert_array_equal(load_elsewhere(tmp_path / "model.keras", x, tmp_path), want)
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert type(again.layers[-1]) is tf_rnn_ops.keras.SimpleRNN
    assert type(again.layers[-3].forward_layer) is tf_rnn_ops.keras.LSTM


def test_saved_model(x, tmp_path):
    model = make(tf_rnn_ops.keras)
    model.export(tmp_path / "exported")
    got = load_elsewhere(tmp_path / "exported", x, tmp_path)
    np.testing.assert_allclose(got, model.predict(x, verbose=0), atol=1e-6)


@pytest.mark.parametrize("suffix", [".weights.h5", ".npz"])
def test_weights_fit_both_ways(x, suffix, tmp_path):
    stock, ours = make(keras.layers), make(tf_rnn_ops.keras)
    if suffix == ".npz":
        np.savez(tmp_path / "w.npz", *stock.get_weights())
        ours.set_weights(list(np.load(tmp_path / "w.npz").values()))
    else:
        stock.save_weights(tmp_path / "stock.weights.h5")
        ours.load_weights(tmp_path / "stock.weights.h5")
    want = stock.predict(x, verbose=0)
    np.testing.assert_allclose(ours.predict(x, verbose=0), want, atol=1e-6)
    other = make(keras.layers)
    ours.save_weights(tmp_path / "ours.weights.h5")
    other.load_weights(tmp_path / "ours.weights.h5")
    np.testing.assert_array_equal(other.predict(x, verbose=0), want)


def test_json(x):
    model = make(tf_rnn_ops.keras)
    again = keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))
