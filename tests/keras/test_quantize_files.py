"""Quantized models whose layers have policies of their own, in files and copies. test_quantize_policies has a DTypePolicyMap."""

import copy
import os

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras as ours
from support.selection import all_but

SIZE, UNITS = 6, 5
KINDS = {
    "LSTM": lambda **a: ours.LSTM(UNITS, **a),
    "GRU": lambda **a: ours.GRU(UNITS, use_bias=False, **a),
    "SimpleRNN": lambda **a: ours.SimpleRNN(UNITS, activation="relu", **a),
    "Bidirectional": lambda **a: keras.layers.Bidirectional(ours.GRU(UNITS, **a)),
    "RNN of cells": lambda **a: ours.RNN(
        [keras.layers.LSTMCell(UNITS, implementation=1), keras.layers.SimpleRNNCell(3)], **a
    ),
    "ProjectedLSTM": lambda **a: ours.ProjectedLSTM(UNITS, num_proj=3, **a),
    "stateful": lambda **a: ours.LSTM(UNITS, stateful=True, **a),
}
# The others have the variables of one of these.
STRUCTURES = ("GRU", "Bidirectional", "RNN of cells", "ProjectedLSTM")


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 7, SIZE)).astype("float32")


def sequential(layer):
    return keras.Sequential(
        [keras.Input(batch_shape=(4, None, SIZE)), layer, keras.layers.Dense(2)]
    )


class Subclassed(keras.Model):
    """A model of a user's class."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.rnn, self.dense = ours.LSTM(UNITS, name="rnn"), keras.layers.Dense(2)

    def call(self, x):
        return self.dense(self.rnn(x))


def quantized(kind):
    model = sequential(KINDS[kind]())
    model.quantize("int8")
    return model


def essential(config):
    """A config without what Keras records of how an inner layer was built."""
    if isinstance(config, dict):
        return {name: essential(v) for name, v in config.items() if name != "build_config"}
    return [essential(v) for v in config] if isinstance(config, (list, tuple)) else config


def dtypes(model):
    return [(weight.name, weight.dtype) for weight in model.weights]


@pytest.mark.parametrize("kind", all_but(KINDS, *STRUCTURES, "stateful"))
def test_files_and_copies(kind, x, tmp_path):
    model = quantized(kind)
    path = str(tmp_path / "model.keras")
    model.save(path)
    want = model.predict(x, verbose=0)
    loaded, clone = keras.models.load_model(path), keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    for one in (loaded, clone, ours.convert(model), copy.deepcopy(model)):
        if kind == "stateful":
            one.layers[0].reset_state()
        assert dtypes(one) == dtypes(model)
        np.testing.assert_array_equal(one.predict(x, verbose=0), want)
        # Its weights and scales are not those of the model.
        for weight in one.weights:
            weight.assign(keras.ops.zeros_like(weight))
        if kind == "stateful":
            model.layers[0].reset_state()
        np.testing.assert_array_equal(model.predict(x, verbose=0), want)
    assert essential(loaded.layers[0].get_config()) == essential(model.layers[0].get_config())
    with pytest.raises(ValueError, match="already quantized"):
        loaded.quantize("int8")


@pytest.mark.parametrize("kind", all_but(KINDS, *STRUCTURES))
def test_weight_files(kind, x, tmp_path):
    model = quantized(kind)
    path = str(tmp_path / "model.weights.h5")
    model.save_weights(path)
    other = quantized(kind)
    other.load_weights(path)
    np.testing.assert_array_equal(other.predict(x, verbose=0), model.predict(x, verbose=0))
    with pytest.raises(ValueError, match="expected [234] variables"):
        sequential(KINDS[kind]()).load_weights(path)


def test_subclassed_model(x, tmp_path):
    """Its config has no dtype policies, so, as with Dense layers, it is quantized before it is loaded."""
    models = [Subclassed() for _ in range(2)]
    for model in models:
        model(x)
        model.quantize("int8")
    path = str(tmp_path / "model.weights.h5")
    models[0].save_weights(path)
    models[1].load_weights(path)
    assert models[1].rnn.cell.kernel.dtype == "int8"
    np.testing.assert_array_equal(models[1](x), models[0](x))


def test_files_are_a_quarter(tmp_path):
    sizes = []
    model = keras.Sequential([keras.Input((None, 128)), ours.LSTM(256)])
    for name in ("float.weights.h5", "int8.weights.h5"):
        model.save_weights(tmp_path / name)
        sizes.append(os.path.getsize(tmp_path / name))
        if name.startswith("float"):
            model.quantize("int8")
    assert sizes[1] < 0.28 * sizes[0]


def test_saved_model(x, tmp_path):
    model = quantized("Bidirectional")
    want = model.predict(x, verbose=0)
    model.export(tmp_path / "exported", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "exported")
    np.testing.assert_allclose(loaded.serve(x), want, atol=1e-6)
    kept = {v.dtype for v in loaded.variables} if hasattr(loaded, "variables") else {tf.int8}
    assert tf.int8 in kept
    report = ours.export(model, tmp_path / "ours", print_fn=None)
    assert report.difference <= 1e-6
