"""The interface of a stack, and the inputs that it rejects."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf
from stack_cases import BATCH, INPUTS, LENGTHS, MASK, TIME, UNITS, random_inputs

from tf_rnn_ops.keras import CudnnGRU, CudnnLSTM, CudnnRNNTanh


@pytest.mark.parametrize("return_state", (False, True))
@pytest.mark.parametrize("return_sequences", (False, True))
@pytest.mark.parametrize("time_major", (False, True))
@pytest.mark.parametrize("num_proj", (0, 2))
def test_announced_shapes_are_the_real_ones(num_proj, time_major, return_sequences, return_state):
    layer = CudnnLSTM(
        UNITS,
        num_layers=2,
        direction="bidirectional",
        num_proj=num_proj,
        time_major=time_major,
        return_sequences=return_sequences,
        return_state=return_state,
    )
    x = np.zeros((BATCH, TIME, INPUTS), np.float32)
    announced = keras.tree.flatten(layer(keras.Input(batch_shape=x.shape)))
    real = keras.tree.flatten(layer(x))
    assert [tuple(a.shape) for a in announced] == [tuple(r.shape) for r in real]
    assert [a.dtype for a in announced] == [r.dtype.name for r in real]


BAD_ARGUMENTS = (
    ({"units": 0}, "units must be a positive integer, but it is 0"),
    ({"units": 2.5}, "units must be a positive integer, but it is 2.5"),
    ({"num_layers": 0}, "num_layers must be at least 1"),
    ({"direction": "both"}, "direction must be 'unidirectional' or 'bidirectional'"),
    ({"dropout": 1.001}, r"dropout must be in \[0, 1\]"),
    ({"dropout": float("nan")}, r"dropout must be in \[0, 1\]"),
    ({"dropout": "a"}, "dropout must be a number, but it is 'a'"),
    ({"dropout": None}, "dropout must be a number, but it is None"),
    ({"input_mode": "none"}, "input_mode must be 'linear_input', 'skip_input' or 'auto_select'"),
    ({"num_proj": -1}, "num_proj must be at least 0"),
    ({"num_proj": 5}, "num_proj must be at most num_units"),
    ({"seed": 1.5}, "seed must be an integer, a keras.random.SeedGenerator or None"),
)


@pytest.mark.parametrize(("arguments", "message"), BAD_ARGUMENTS)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        CudnnLSTM(**{"units": UNITS, **arguments})


def test_arguments_but_the_first_have_names():
    """tf_rnn_ops.contrib.CudnnLSTM has the number of layers first."""
    with pytest.raises(TypeError, match="CudnnLSTM.*positional argument"):
        CudnnLSTM(2, 64)
    with pytest.raises(TypeError, match="CudnnLSTM.*'num_layer'.*'num_layers'"):
        CudnnLSTM(64, num_layer=2)
    with pytest.raises(TypeError, match="CudnnLSTM.*'units'"):
        CudnnLSTM()
    assert CudnnLSTM(units=UNITS).get_config()["units"] == UNITS


def test_only_an_lstm_has_a_projection():
    with pytest.raises(ValueError, match="num_proj must be 0 for rnn_mode='rnn_tanh'"):
        CudnnRNNTanh(UNITS, num_proj=2)


def test_bad_inputs(rng):
    x = random_inputs(rng, np.float32)
    for bad in (x[0], x[None]):
        with pytest.raises(ValueError, match="expected ndim=3"):
            CudnnLSTM(UNITS)(bad)
    for bad in (x.astype("complex64"), np.full(x.shape, "a")):
        # Keras 3.5 rejects complex numbers before the call of the layer.
        said = "sequences must be numbers, but|Invalid dtype: complex64"
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=said):
            CudnnLSTM(UNITS)(bad)
    layer = CudnnLSTM(UNITS)
    layer(x)
    with pytest.raises(ValueError, match=rf"axis -1 .* {x.shape[-1]}, .*{x.shape[-1] - 1}\)"):
        layer(x[..., :-1])
    with pytest.raises(ValueError, match="must be a dense tensor, but it is a RaggedTensor"):
        CudnnLSTM(UNITS)(tf.RaggedTensor.from_tensor(x, LENGTHS))
    with pytest.raises(ValueError, match="needs an input_size equal to num_units"):
        CudnnLSTM(UNITS, input_mode="skip_input")(x)
    with pytest.raises(ValueError, match=rf"mask .*\({BATCH}, {TIME}, 8\)"):
        CudnnLSTM(UNITS)(x, mask=np.ones((BATCH, TIME, 8), bool))
    with pytest.raises(ValueError, match=r"must be 2 tensor\(s\)"):
        CudnnLSTM(UNITS)(x, initial_state=[np.zeros((BATCH, 1, UNITS), np.float32)])
    with pytest.raises(ValueError, match=r"initial_state\[0\] must have shape \[5, 1, 4\]"):
        CudnnGRU(UNITS)(x, initial_state=np.zeros((BATCH, 2, UNITS), np.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"sequence_lengths\[0\]"):
        CudnnLSTM(UNITS)(x, sequence_lengths=np.full(BATCH, TIME + 1))


def test_the_order_of_arguments_is_that_of_keras(rng):
    names = list(inspect.signature(keras.layers.RNN.call).parameters)
    assert list(inspect.signature(CudnnLSTM.call).parameters)[: len(names)] == names
    layer, x = CudnnGRU(UNITS), tf.constant(random_inputs(rng, np.float32))
    np.testing.assert_array_equal(layer(x, None, MASK), layer(x, sequence_lengths=LENGTHS))
    # A place of its own, so lengths are not taken for a mask.
    with pytest.raises(ValueError, match="mask must have two dimensions"):
        layer(x, None, tf.constant(LENGTHS))
