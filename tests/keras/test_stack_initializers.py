"""The initial weights of a stack."""

import keras
import numpy as np
import pytest
import stock_stack
import tensorflow as tf
from stack_cases import INPUTS, UNITS

from tf_rnn_ops.keras import CudnnGRU, CudnnLSTM, CudnnRNNTanh


def test_initial_weights():
    keras.utils.set_random_seed(3)
    layer = CudnnLSTM(8, num_layers=2, direction="bidirectional")
    layer.build((None, None, 6))
    params = layer.get_weights()[0]
    sizes = [(32, 6), (32, 8)] * 2 + [(32, 16), (32, 8)] * 2
    matrices, start = [], 0
    for shape in sizes:
        matrices.append(params[start : start + np.prod(shape)].reshape(shape))
        start += np.prod(shape)
    for kernel in matrices[::2]:
        bound = np.sqrt(6 / sum(kernel.shape))  # glorot_uniform
        assert 0.9 * bound < np.abs(kernel).max() <= bound
    for recurrent in matrices[1::2]:
        np.testing.assert_allclose(recurrent.T @ recurrent, np.eye(8), atol=1e-5)
    assert not np.array_equal(matrices[0], matrices[2])  # the two directions
    assert not np.array_equal(matrices[1], matrices[3])
    biases = params[start:].reshape(4, 2, 4, 8)  # layer and direction, bW or bR, gate, unit
    assert (biases[:, 0, 1] == 1).all()  # forget gates
    assert biases.sum() == 4 * 8


@pytest.mark.parametrize("cls", stock_stack.LAYERS.values())
def test_initial_weights_in_bfloat16(cls):
    layers = [cls(UNITS, num_layers=2, dtype=dtype) for dtype in ("bfloat16", "float32")]
    for layer in layers:
        layer.kernel_initializer = keras.initializers.GlorotUniform(seed=1)
        layer.recurrent_initializer = keras.initializers.Orthogonal(seed=2)
        layer.build((None, None, INPUTS))
    half, single = (layer.params for layer in layers)
    assert half.dtype == "bfloat16"
    np.testing.assert_array_equal(half.value, tf.cast(single.value, "bfloat16"))


def test_initial_weights_follow_the_seed():
    def build(seed, **options):
        keras.utils.set_random_seed(seed)
        layer = CudnnGRU(UNITS, num_layers=2, **options)
        layer.build((None, None, INPUTS))
        return layer.get_weights()[0]

    np.testing.assert_array_equal(build(1), build(1))
    assert not np.array_equal(build(1), build(2))


def test_a_seeded_initializer_draws_each_matrix_anew():
    layer = CudnnRNNTanh(
        UNITS,
        num_layers=2,
        direction="bidirectional",
        kernel_initializer=keras.initializers.RandomNormal(seed=5),
        recurrent_initializer=keras.initializers.RandomNormal(seed=5),
    )
    layer.build((None, None, INPUTS))
    weights = layer.get_weights()[0][: -4 * 2 * UNITS]
    assert len(np.unique(weights)) == weights.size


def test_an_initializer_with_a_seed_generator_draws_each_matrix_anew():
    initializer = keras.initializers.RandomNormal(seed=keras.random.SeedGenerator(5))
    layer = CudnnRNNTanh(
        UNITS, num_layers=2, kernel_initializer=initializer, recurrent_initializer=initializer
    )
    layer.build((None, None, INPUTS))
    weights = layer.get_weights()[0][: -4 * UNITS]
    assert len(np.unique(weights)) == weights.size


class _Constant(keras.initializers.Initializer):
    """Has arguments but no get_config."""

    def __init__(self, value):
        self.value = value

    def __call__(self, shape, dtype=None):
        return tf.fill(shape, tf.cast(self.value, dtype))


def test_an_initializer_that_cannot_be_copied():
    layer = CudnnGRU(UNITS, kernel_initializer=_Constant(0.75))
    layer.build((None, None, INPUTS))
    assert (layer.get_weights()[0][: 3 * UNITS * INPUTS] == 0.75).all()
