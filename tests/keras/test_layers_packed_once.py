"""The layers pack their weights once for inference, and never use old ones."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from support import subproc
from support.selection import all_but
from tf_rnn_ops import raw_ops

UNITS = 16
LAYERS = {
    "LSTM": lambda **a: tf_rnn_ops.keras.LSTM(UNITS, **a),
    "GRU": lambda **a: tf_rnn_ops.keras.GRU(UNITS, **a),
    "SimpleRNN": lambda **a: tf_rnn_ops.keras.SimpleRNN(UNITS, use_bias=False, **a),
    "CudnnLSTM": lambda **a: tf_rnn_ops.keras.CudnnLSTM(
        UNITS, num_layers=2, direction="bidirectional", **a
    ),
    "CudnnGRU": lambda **a: tf_rnn_ops.keras.CudnnGRU(UNITS, **a),
}
PACKING = ("PackLayerRNN", "PackCudnnRNNParams")


@pytest.fixture
def packed(monkeypatch):
    """A list of the tensors that the layers get from packing, eagerly or in a graph."""
    found = []
    for name in PACKING:

        def recorded(*, _op=getattr(raw_ops, name), **arguments):
            assert arguments["keep"]
            found.append(_op(**arguments))
            return found[-1]

        monkeypatch.setattr(raw_ops, name, recorded)
    return found


def _address(tensor):
    return np.frombuffer(memoryview(tensor), np.uint8).ctypes.data


@pytest.fixture
def x(rng):
    return tf.constant(rng.normal(size=(6, 5, 7)), tf.float32)


def _model(name, **arguments):
    return keras.Sequential([keras.Input((5, 7)), LAYERS[name](**arguments), keras.layers.Dense(1)])


def _same_weights(model, name):
    """Another model of the same weights, which nobody has called."""
    other = _model(name)
    for to, of in zip(other.weights, model.weights):
        to.assign(tf.identity(of.value))
    return other


@pytest.mark.parametrize("name", LAYERS)
def test_weights_are_packed_once(name, x, packed):
    layer = LAYERS[name]()
    for _ in range(3):
        layer(x)
    assert len({_address(t) for t in packed}) == 1
    for weight in layer.weights:
        weight.assign(weight.value * 0.5)
        layer(x)
    assert len({_address(t) for t in packed[2:]}) == 1 + len(layer.weights)


@pytest.mark.parametrize("name", LAYERS)
def test_training_does_not_pack(name, x, packed):
    model = _model(name)
    model.compile("sgd", "mse")
    del packed[:]
    model.fit(x, tf.ones([6, 1]), verbose=0)
    assert not packed


def _fit(model, x):
    model.fit(
        x, tf.ones([x.shape[0], 1]), epochs=2, validation_data=(x, tf.ones([6, 1])), verbose=0
    )


def _set_weights(model, x):
    model.set_weights([w * -0.5 for w in model.get_weights()])


def _assign(model, x):
    for weight in model.trainable_weights:
        weight.assign_add(tf.ones_like(weight.value) * 0.1)


def _load(model, x, folder=None):
    values = [w.value * 1.5 for w in model.weights]
    other = keras.models.clone_model(model)
    for weight, value in zip(other.weights, values):
        weight.assign(value)
    other.save_weights(folder / "w.weights.h5")
    model.load_weights(folder / "w.weights.h5")


CHANGES = {"fit": _fit, "set_weights": _set_weights, "assign": _assign, "load": _load}


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(LAYERS, CHANGES)),
        ("LSTM", "fit"),
        ("GRU", "set_weights"),
        ("SimpleRNN", "load"),
        ("CudnnLSTM", "fit"),
        ("CudnnGRU", "assign"),
    ),
    ids="-".join,
)
def test_old_weights_are_never_used(case, x, tmp_path):
    """Functions that were traced before the change, in all ways that a model is called."""
    name, change = case
    model = _model(name)
    model.compile(keras.optimizers.Adam(0.05), "mse")
    function = tf.function(lambda x: model(x, training=False))
    calls = (
        lambda: model.predict(x, verbose=0),
        lambda: function(x).numpy(),
        lambda: model(x).numpy(),
    )
    before = [call() for call in calls]
    for _ in range(2):
        CHANGES[change](model, x, *([tmp_path] if change == "load" else []))
        want = _same_weights(model, name)(x).numpy()
        for call, old in zip(calls, before):
            got = call()
            np.testing.assert_array_equal(got, want)
            assert not np.array_equal(got, old)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_without_training(name, x):
    """Through a call for inference too, for the input and the weights."""
    layer = LAYERS[name]()
    layer(x)
    found = []
    for training in (False, True):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(layer(x, training=training) ** 2)
        found.append(tape.gradient(loss, [x, *(w.value for w in layer.trainable_weights)]))
    assert len(found[0]) > 1
    for got, want in zip(*found):
        assert got is not None
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", LAYERS)
def test_weights_that_are_cast_are_not_kept(name, x, packed):
    """They are another tensor at each call."""
    layer = LAYERS[name](dtype="mixed_bfloat16")
    want = layer(x)
    assert not packed and want.dtype == tf.bfloat16
    layer = LAYERS[name](dtype="float16")
    layer(x)
    layer(x)
    assert len(packed) >= 2 and len({_address(t) for t in packed[-2:]}) == 1


@pytest.mark.parametrize("name", LAYERS)
def test_an_exported_model(name, x, tmp_path):
    """It packs when it is first called, for the CPU it is on."""
    model = _model(name)
    want = model(x).numpy()
    model.export(str(tmp_path / "model"))
    np.save(tmp_path / "x.npy", x)
    for isa in (None, "baseline"):
        out = tmp_path / f"{isa}.npy"
        subproc.run_module(
            "load_keras_model", tmp_path / "model", tmp_path / "x.npy", out, TF_RNN_OPS_CPU_ISA=isa
        )
        np.testing.assert_allclose(np.load(out), want, rtol=1e-5, atol=1e-6)
