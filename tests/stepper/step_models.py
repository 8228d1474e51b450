"""Models for steppers, and the comparison with Keras."""

import keras
import numpy as np

import tf_rnn_ops.keras as rnn
from support.models import drawn
from tf_rnn_ops.stepper import Stepper

SIZE = 3
SEQUENCES = {"return_sequences": True}


def model_of(layers, *shape, dtype="float32"):
    """A model with random weights, of a function of its input [B, T, *shape]."""
    x = keras.Input((None, *shape), name="x", dtype=dtype)
    return drawn(keras.Model(x, layers(x)))


def chain(*layers):
    """The model of layers in a row."""

    def run(x):
        for layer in layers:
            x = layer(x)
        return x

    return model_of(run, SIZE)


def steps_of(model, batch=2, time=6, seed=1):
    """Random numbers for the model."""
    shape = (batch, time, *model.input_shape[2:])
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def run(stepper, x):
    """The outputs of all calls, joined; of a model with one output for each step."""
    calls = range(0, x.shape[1], stepper.time)
    return np.concatenate([stepper(x[:, t : t + stepper.time]) for t in calls], 1)


def check(model, x=None, times=(2,), tolerance=2e-6):
    """Compares steppers of a model, for each number of steps, with the model on the whole sequence."""
    x = steps_of(model) if x is None else x
    want = np.asarray(model(x))
    scale = max(1.0, np.abs(want).max())
    content = rnn.stepper(model, batch_size=len(x)).__getstate__()["content"]
    for time in times:
        got = run(Stepper(content, len(x), time), x)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * scale)
