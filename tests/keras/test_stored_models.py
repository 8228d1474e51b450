"""Models that the package of 2026-11-25 wrote, before PeepholeLSTM and ProjectedLSTM were one implementation.

`stored` has a Bidirectional of each, trained for two steps of Adam; `outputs.npz` the inputs, the targets and
what the models predicted then.
"""

import pathlib

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras

STORED = pathlib.Path(__file__).parent / "stored"
CLASSES = {
    "peephole": tf_rnn_ops.keras.PeepholeLSTM,
    "projected": tf_rnn_ops.keras.ProjectedLSTM,
}


@pytest.fixture(scope="module")
def outputs():
    return np.load(STORED / "outputs.npz")


def difference(a, b):
    return np.max(np.abs(a - b))


@pytest.mark.parametrize("name", CLASSES)
def test_a_stored_model_predicts_what_it_did(name, outputs):
    model = keras.saving.load_model(STORED / f"{name}.keras")
    layer = model.layers[-1].forward_layer
    assert type(layer) is CLASSES[name]
    assert layer.clip_gradient is (name == "projected")
    assert difference(model.predict(outputs["x"], verbose=0), outputs[name]) < 1e-6
    assert model.optimizer.iterations == 2


@pytest.mark.parametrize("name", CLASSES)
def test_stored_weights(name, outputs):
    model = keras.saving.load_model(STORED / f"{name}.keras")
    trained = model.get_weights()
    model.set_weights([np.zeros_like(weight) for weight in trained])
    model.load_weights(STORED / f"{name}.weights.h5")
    for one, other in zip(model.get_weights(), trained, strict=True):
        np.testing.assert_array_equal(one, other)


def test_training_of_a_stored_model_goes_on(outputs):
    """With the state of its optimizer."""
    model = keras.saving.load_model(STORED / "projected.keras")
    model.fit(outputs["x"], outputs["y"], epochs=1, batch_size=4, verbose=0)
    got = model.predict(outputs["x"], verbose=0)
    assert difference(got, outputs["projected_trained"]) < 1e-6
    assert difference(got, outputs["projected"]) > 1e-4
