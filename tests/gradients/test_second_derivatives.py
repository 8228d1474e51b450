"""A gradient of a gradient: the ops refuse it in words, and what the words advise works."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras


def _second(layer, x):
    """The gradient with respect to the first weight of the squares of the gradient of the input."""
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(layer(x, training=True) ** 2)
        penalty = tf.reduce_sum(inner.gradient(y, x) ** 2)
    return outer.gradient(penalty, layer.trainable_weights[0].value)


def _traced(function):
    # autograph would hide the type of the error.
    return tf.function(function, autograph=False)


CASES = [
    ("LSTM", {"use_cudnn": False}),
    ("GRU", {"use_cudnn": False}),
    ("SimpleRNN", {"unroll": True}),
    ("PeepholeLSTM", {"unroll": True}),
    ("CudnnLSTM", None),
]


@pytest.mark.parametrize("how", [lambda f: f, _traced], ids=["eager", "function"])
@pytest.mark.parametrize(("name", "remedy"), CASES, ids=[name for name, _ in CASES])
def test_refused_with_a_remedy_that_works(name, remedy, how, rng):
    x = tf.constant(rng.normal(size=(2, 3, 3)))
    cls = getattr(tf_rnn_ops.keras, name)
    layer = cls(4, dtype="float64")
    layer.build(x.shape)
    run = how(_second)
    word = "no such path" if remedy is None else f"{name}.* {'='.join(map(str, *remedy.items()))}"
    with pytest.raises(LookupError, match=word):
        run(layer, x)
    if remedy is None:
        return
    layer = cls(4, dtype="float64", **remedy)
    layer.build(x.shape)
    got = run(layer, x).numpy()
    kernel = layer.trainable_weights[0]

    def penalty():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(layer(x, training=True) ** 2)
        return float(tf.reduce_sum(tape.gradient(y, x) ** 2))

    value, direction = kernel.numpy(), rng.normal(size=kernel.shape)
    slopes = []
    for sign in (1e-5, -1e-5):
        kernel.assign(value + sign * direction)
        slopes.append(penalty())
    slope = (slopes[0] - slopes[1]) / 2e-5
    np.testing.assert_allclose(np.sum(got * direction), slope, rtol=1e-5)
    assert isinstance(layer, keras.layers.RNN)
