"""The valid steps of a stack: masks and lengths."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from stack_cases import BATCH, INPUTS, LENGTHS, MASK, TIME, UNITS, random_inputs, stack_pair

from tf_rnn_ops.keras import CudnnGRU, CudnnLSTM, CudnnRNNTanh
from tf_rnn_ops.params import to_keras


def test_takes_the_mask_of_a_layer_before_it(rng):
    ours, _ = stack_pair("lstm", "bidirectional", 2, rng)
    x = np.where(MASK[..., None], random_inputs(rng), 0.0)
    masked = keras.layers.Masking(dtype="float64")(x)
    np.testing.assert_array_equal(ours(masked), ours(x, sequence_lengths=LENGTHS))
    assert np.array_equal(ours(masked)._keras_mask, MASK)


@pytest.mark.parametrize("time_major", (False, True))
@pytest.mark.parametrize("hole", ("left", "inside"))
def test_refuses_a_mask_with_holes(hole, time_major, rng):
    mask = MASK.copy()
    mask[1] = np.arange(TIME) > 3 if hole == "left" else np.arange(TIME) != 3
    x = random_inputs(rng, np.float32)
    layer = CudnnLSTM(UNITS, time_major=time_major)
    if time_major:
        x, mask = x.transpose(1, 0, 2), mask.T
    valid = mask.sum(axis=0 if time_major else 1).tolist()
    said = f"The mask must be True first and then False in each sequence. Valid steps: {valid}."
    with pytest.raises(ValueError, match=re.escape(said)):
        layer(x, mask=mask)
    with pytest.raises(tf.errors.InvalidArgumentError, match="True first and then False"):
        tf.function(layer)(x, mask=tf.constant(mask))


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([3, 8], r"sequence_lengths\[1\] is 8"),
        ([-1, 3], r"sequence_lengths\[0\] is -1"),
        (np.array([3, 2**32 + 3]), r"sequence_lengths\[1\] is 2147483647"),
        (np.array([3, -(2**32) + 3]), r"sequence_lengths\[1\] is -1"),
        (np.array([2**64 - 1, 3], "uint64"), r"sequence_lengths\[0\] is -1"),
        (np.array([2.9, 3]), r"sequence_lengths\[0\] is -1"),
        (np.array([3, np.nan], np.float32), r"sequence_lengths\[1\] is -1"),
        (np.array([3, 1e10], np.float32), r"sequence_lengths\[1\] is 2147483647"),
        ([True, True], "sequence_lengths of 'lstm' must be integers, .* their type is bool"),
        (np.array([3, 3], "float16"), "must be integers, .* their type is float16"),
        (tf.constant([3, 3], "bfloat16"), "must be integers, .* their type is bfloat16"),
        ([3, 3, 3], r"sequence_lengths must have shape \[2\], but its shape is \[3\]"),
        (3, r"sequence_lengths must have shape \[2\], but its shape is \[\]"),
    ],
)
def test_bad_lengths(lengths, message, go_backwards, rng):
    layer = CudnnLSTM(UNITS, go_backwards=go_backwards, name="lstm")
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
        layer(random_inputs(rng, np.float32)[:2], sequence_lengths=lengths)


@pytest.mark.parametrize(
    "dtype", ["uint8", "int16", "uint32", "int64", "uint64", "float32", "float64"]
)
def test_lengths_of_other_types(dtype, rng):
    """Also of those of whole numbers: an Input of Keras is float32 unless it says otherwise."""
    layer, x = CudnnLSTM(UNITS), random_inputs(rng, np.float32)
    want = layer(x, sequence_lengths=LENGTHS)
    np.testing.assert_array_equal(layer(x, sequence_lengths=LENGTHS.astype(dtype)), want)
    assert layer(x[:0], sequence_lengths=[]).shape[0] == 0


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16", "bfloat16", "float64"])
def test_lengths_are_exact_under_every_policy(policy, rng):
    """As integers that the compute types do not have, given as Keras's default Input is, in float32."""
    lengths = np.array([299, 257])
    x = rng.standard_normal((2, 301, 1)).astype("float32")
    # The states that a layer starts from do not matter, only when the output becomes 0.
    layer = CudnnRNNTanh(1, return_sequences=True, bias_initializer="ones", dtype=policy)
    inputs = [keras.Input(x.shape[1:]), keras.Input(())]
    model = keras.Model(inputs, layer(inputs[0], sequence_lengths=inputs[1]))
    given = lengths.astype("float32")
    for y in (
        layer(x, sequence_lengths=given),
        layer(x, None, None, None, tf.constant(given)),
        tf.function(layer)(x, sequence_lengths=tf.constant(given)),
        model([x, given]),
    ):
        steps = np.sum(np.asarray(tf.cast(y, "float32")) != 0, axis=(1, 2))
        np.testing.assert_array_equal(steps, lengths)


def test_lengths_that_a_model_has_rounded(rng):
    class Model(keras.Model):
        def __init__(self):
            super().__init__(dtype="mixed_bfloat16")
            self.stack = CudnnGRU(UNITS, name="stack")

        def call(self, x, lengths):
            return self.stack(x, sequence_lengths=lengths)

    x = random_inputs(rng, np.float32)
    want = Model()(x, tf.constant(LENGTHS))
    assert want.shape == (BATCH, UNITS)
    with pytest.raises(ValueError, match="of 'stack' must be integers, .* type is bfloat16"):
        Model()(x, tf.constant(LENGTHS, "float32"))


@pytest.mark.parametrize("how", ("eager", "model"))
def test_takes_the_mask_of_a_layer_before_it_beside_states(how, rng):
    ours, _ = stack_pair("gru", "unidirectional", 1, rng)
    stock = keras.layers.GRU(UNITS, return_sequences=True, dtype="float64")
    stock.build((None, None, INPUTS))
    stock.set_weights(to_keras(ours.layout, ours.get_weights()[0])[0])
    x = np.where(MASK[..., None], random_inputs(rng), 0.0)
    state = rng.standard_normal((BATCH, 1, UNITS))
    masking = keras.layers.Masking(dtype="float64")
    if how == "eager":
        got = ours(masking(x), initial_state=tf.constant(state))
    else:
        inputs = [keras.Input(a.shape[1:], dtype="float64") for a in (x, state)]
        outputs = ours(masking(inputs[0]), initial_state=inputs[1])
        got = keras.Model(inputs, outputs).predict([x, state], verbose=0)
    want = stock(x, mask=MASK, initial_state=tf.constant(state[:, 0]))
    # predict takes the input as float32.
    np.testing.assert_allclose(np.asarray(got)[MASK], want.numpy()[MASK], rtol=0, atol=1e-6)
    assert not np.asarray(got)[~MASK].any()


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_forms_of_masks(time_major, known, rng):
    layer = CudnnLSTM(UNITS, time_major=time_major, dtype="float64")
    x, mask = random_inputs(rng), MASK
    if time_major:
        x, mask = x.transpose(1, 0, 2), mask.T
    want = layer(x, sequence_lengths=LENGTHS)

    def run(x, mask):
        if known:
            return layer(x, mask=mask)
        specs = [tf.TensorSpec([None, None, INPUTS], x.dtype), tf.TensorSpec([None] * mask.ndim)]
        call = tf.function(lambda x, mask: layer(x, mask=mask), input_signature=specs)
        return call(x, mask.astype("float32"))

    np.testing.assert_array_equal(run(x, mask), want)
    np.testing.assert_array_equal(run(x, mask[:, :, None]), want)
    of_any_rank = tf.function(
        lambda mask: layer(x, mask=mask), input_signature=[tf.TensorSpec(None, tf.bool)]
    )
    np.testing.assert_array_equal(of_any_rank(mask), want)
    one_time = mask[:1] if time_major else mask[:, :1]
    for bad in (mask.T, mask[:, :-1], mask[:-1], one_time, mask.reshape(-1, 1), mask[0]):
        in_python = known or bad.ndim == 1
        error = ValueError if in_python else tf.errors.InvalidArgumentError
        with pytest.raises(error, match="mask must have"):
            run(x, bad)
