"""Layers under keras.RematScope, which computes a call again for its gradients."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras

X = np.random.default_rng(0).normal(size=(3, 7, 4)).astype("float32")

LAYERS = {
    "zoneout lstm": lambda: tf_rnn_ops.keras.ZoneoutLSTM(5, zoneout_h=0.4, zoneout_c=0.3, seed=3),
    "zoneout gru": lambda: tf_rnn_ops.keras.ZoneoutGRU(5, zoneout_h=0.4, dropout=0.2, seed=3),
    "dropout": lambda: tf_rnn_ops.keras.LSTM(5, dropout=0.4, seed=3),
    "recurrent dropout": lambda: tf_rnn_ops.keras.GRU(5, recurrent_dropout=0.4, seed=3),
    "cells": lambda: tf_rnn_ops.keras.RNN(
        [keras.layers.LSTMCell(5), keras.layers.LSTMCell(4, dropout=0.4, seed=4)]
    ),
    "peepholes": lambda: tf_rnn_ops.keras.PeepholeLSTM(5, dropout=0.4, seed=3),
}


def _gradients(layer, calls):
    tensors = [tf.constant(X), *layer.trainable_variables]
    with tf.GradientTape() as tape:
        tape.watch(tensors[0])
        outputs = [layer(tensors[0], training=True) for _ in range(calls)]
        loss = sum(tf.reduce_sum(y * y) for y in outputs)
    return [*outputs, *tape.gradient(loss, tensors)]


@pytest.mark.skipif(not hasattr(keras, "RematScope"), reason="this Keras has no RematScope")
@pytest.mark.parametrize("name", LAYERS)
def test_the_same_units_are_dropped(name):
    layer = LAYERS[name]()
    layer.build(X.shape)
    with keras.RematScope(mode="full"):
        again = LAYERS[name]()
    again.build(X.shape)
    again.set_weights(layer.get_weights())
    for _ in range(2):  # the second time from the state that the first one left
        for got, want in zip(_gradients(again, 2), _gradients(layer, 2), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    assert np.abs(layer(X, training=True) - layer(X, training=False)).max() > 1e-3
