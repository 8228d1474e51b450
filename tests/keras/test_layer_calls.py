"""layer_calls: other functions instead of the calls of layers, in one thread."""

import threading

import keras
import numpy as np
import pytest

from tf_rnn_ops.keras._convert import layer_calls

X = np.ones((1, 2), np.float32)
ORIGINAL = keras.layers.Layer.__call__


def plus(number):
    def instead(original, layer, *args, **kwargs):
        return original(layer, *args, **kwargs) + number

    return instead


@pytest.fixture
def layer():
    yield keras.layers.Identity()
    assert keras.layers.Layer.__call__ is ORIGINAL


def test_only_this_thread_and_only_inside(layer):
    of_other, begun, done = [], threading.Event(), threading.Event()

    def other():
        of_other.append(float(layer(X)[0, 0]))
        with layer_calls.replaced(plus(2)):
            begun.set()
            assert done.wait(60)
            of_other.append(float(layer(X)[0, 0]))
        of_other.append(float(layer(X)[0, 0]))

    with layer_calls.replaced(plus(10)):
        thread = threading.Thread(target=other)
        thread.start()
        assert begun.wait(60)
        assert layer(X)[0, 0] == 11
        with layer_calls.replaced(plus(20)):
            assert layer(X)[0, 0] == 21
        assert layer(X)[0, 0] == 11
    assert layer(X)[0, 0] == 1  # the other thread still replaces its calls
    done.set()
    thread.join()
    assert of_other == [1, 3, 1]


def test_after_an_error(layer):
    with pytest.raises(KeyError), layer_calls.replaced(plus(1)):
        raise KeyError
    assert layer(X)[0, 0] == 1


def test_a_patch_around_this_one(layer):
    """A patch that was made inside and stays: it must not run the function twice, or for ever."""
    with layer_calls.replaced(plus(1)):
        inner = keras.layers.Layer.__call__

        def around(self, *args, **kwargs):
            return inner(self, *args, **kwargs) * 2

        keras.layers.Layer.__call__ = around
    try:
        assert layer(X)[0, 0] == 2
        with layer_calls.replaced(plus(5)):
            assert layer(X)[0, 0] == 7
        assert keras.layers.Layer.__call__ is around
    finally:
        keras.layers.Layer.__call__ = ORIGINAL


def test_a_variant_shares_variables_and_nothing_else():
    dense = keras.layers.Dense(2, activation="relu")
    dense.build((1, 2))
    other = layer_calls.variant(dense, activation=keras.activations.linear, use_bias=False)
    dense.kernel.assign(-np.eye(2))
    np.testing.assert_array_equal(other(X), -X)
    np.testing.assert_array_equal(dense(X), 0 * X)
    assert dense.use_bias and dense.activation is keras.activations.relu
    assert other.weights[0] is dense.kernel
