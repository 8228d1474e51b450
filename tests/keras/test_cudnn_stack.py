"""The layers over CudnnRNNV3 against stacks of stock Keras layers."""

import itertools

import keras
import numpy as np
import pytest
import stock_stack
import tensorflow as tf
from stack_cases import (
    BATCH,
    DIRECTIONS,
    INPUTS,
    LENGTHS,
    MASK,
    MODES,
    TIME,
    UNITS,
    random_inputs,
    stack_pair,
)

from support.selection import all_but
from tf_rnn_ops.keras import CudnnGRU, CudnnLSTM


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(MODES, DIRECTIONS, (1, 3))),
        ("lstm", "unidirectional", 1),
        ("gru", "bidirectional", 3),
        ("rnn_tanh", "bidirectional", 1),
        ("rnn_relu", "unidirectional", 3),
    ),
    ids=str,
)
def test_equals_a_stack_of_stock_layers(case, rng):
    mode, direction, layers = case
    ours, stock = stack_pair(mode, direction, layers, rng)
    x = tf.constant(random_inputs(rng))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        got, want = ours(x), stock(x)
        weights = rng.standard_normal(want.shape)
        got_loss, want_loss = (tf.reduce_sum(y * weights) for y in (got, want))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        tape.gradient(got_loss, x), tape.gradient(want_loss, x), rtol=0, atol=1e-11
    )


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(MODES, DIRECTIONS, ("mask", "lengths"))),
        ("lstm", "bidirectional", "lengths"),
        ("gru", "unidirectional", "mask"),
        ("rnn_tanh", "unidirectional", "lengths"),
        ("rnn_relu", "bidirectional", "mask"),
    ),
    ids="-".join,
)
def test_padded_rows(case, rng):
    mode, direction, how = case
    ours, stock = stack_pair(mode, direction, 2, rng)
    x = random_inputs(rng)
    given = {"mask": MASK} if how == "mask" else {"sequence_lengths": LENGTHS}
    got, want = ours(x, **given).numpy(), stock(x, mask=MASK).numpy()
    np.testing.assert_allclose(got[MASK], want[MASK], rtol=0, atol=1e-12)
    assert not got[~MASK].any()


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_last_valid_output(mode, direction, rng):
    ours, stock = stack_pair(mode, direction, 2, rng, return_sequences=False)
    x = random_inputs(rng)
    want = stock(x, mask=MASK)
    np.testing.assert_allclose(ours(x, mask=MASK), want, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours(x, sequence_lengths=LENGTHS), want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("time_major", (False, True))
@pytest.mark.parametrize("cls", (CudnnLSTM, CudnnGRU))
def test_states_continue_a_sequence(cls, time_major, rng):
    layer = cls(
        UNITS,
        num_layers=2,
        return_sequences=True,
        return_state=True,
        time_major=time_major,
        dtype="float64",
    )
    x = random_inputs(rng)
    if time_major:
        x = x.transpose(1, 0, 2)
    axis = 0 if time_major else 1
    first, second = np.split(x, [3], axis=axis)
    whole, *states = layer(x)
    begin, *middle_states = layer(first)
    end, *end_states = layer(second, initial_state=middle_states)
    np.testing.assert_allclose(np.concatenate([begin, end], axis), whole, rtol=0, atol=1e-14)
    assert len(states) == len(end_states) == (2 if cls is CudnnLSTM else 1)
    for got, want in zip(end_states, states):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-14)


@pytest.mark.parametrize("return_sequences", (False, True))
def test_time_major_is_the_same_network(return_sequences, rng):
    options = {"return_sequences": return_sequences, "return_state": True, "dtype": "float64"}
    batch_major = CudnnLSTM(UNITS, num_layers=2, direction="bidirectional", num_proj=3, **options)
    time_major = CudnnLSTM(
        UNITS, num_layers=2, direction="bidirectional", num_proj=3, time_major=True, **options
    )
    x = random_inputs(rng)
    want = batch_major(x, mask=MASK)
    time_major.build((None, None, INPUTS))
    time_major.set_weights(batch_major.get_weights())
    got = time_major(x.transpose(1, 0, 2), mask=MASK.T)
    for k, (a, b) in enumerate(zip(got, want)):
        a = a if k == 0 and not return_sequences else tf.transpose(a, [1, 0, 2])
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-14)


@pytest.mark.parametrize("mode", MODES)
def test_skip_input(mode, rng):
    cls = stock_stack.LAYERS[mode]
    x = rng.standard_normal((BATCH, TIME, UNITS)).astype(np.float32)
    skipped = cls(UNITS, input_mode="skip_input")
    automatic = cls(UNITS, input_mode="auto_select")
    linear = cls(UNITS)
    for layer in (skipped, automatic, linear):
        layer.build(x.shape)
    automatic.set_weights(skipped.get_weights())
    np.testing.assert_array_equal(skipped(x), automatic(x))
    gates = {"lstm": 4, "gru": 3}.get(mode, 1)
    assert linear.layout.size - skipped.layout.size == gates * UNITS * UNITS


def test_dropout_acts_between_layers_in_training_only(rng):
    x = random_inputs(rng, np.float32)
    layer = CudnnGRU(UNITS, num_layers=2, dropout=0.5, seed=1)
    np.testing.assert_array_equal(layer(x), layer(x))
    assert not np.array_equal(layer(x, training=True), layer(x, training=True))
    single = CudnnGRU(UNITS, num_layers=1, dropout=0.5, seed=1)
    np.testing.assert_allclose(single(x, training=True), single(x), rtol=0, atol=1e-6)


def test_tf_function_with_unknown_sizes(rng):
    layer = CudnnLSTM(UNITS, num_layers=2, direction="bidirectional", return_sequences=True)
    layer.build((None, None, INPUTS))
    traces = []

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, INPUTS], tf.float32),
            tf.TensorSpec([None], tf.int32),
        ]
    )
    def run(x, lengths):
        traces.append(None)
        y = layer(x, sequence_lengths=lengths)
        return y, tf.gradients(y, [x])[0]

    for batch, time in ((2, 5), (3, 1), (1, 9)):
        x = tf.constant(rng.standard_normal((batch, time, INPUTS)), tf.float32)
        lengths = tf.fill([batch], time)
        with tf.GradientTape() as tape:
            tape.watch(x)
            want = layer(x, sequence_lengths=lengths)
        got, gradient = run(x, lengths)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_allclose(gradient, tape.gradient(want, x), rtol=0, atol=1e-6)
    assert len(traces) == 1


@pytest.mark.parametrize(
    ("policy", "dtype", "eps"),
    (("mixed_float16", "float16", 2**-10), ("mixed_bfloat16", "bfloat16", 2**-7)),
)
def test_mixed_precision(policy, dtype, eps, rng):
    x = random_inputs(rng, np.float32)
    mixed = CudnnLSTM(
        UNITS, num_layers=2, direction="bidirectional", return_sequences=True, dtype=policy
    )
    full = CudnnLSTM(UNITS, num_layers=2, direction="bidirectional", return_sequences=True)
    full.build(x.shape)
    mixed.build(x.shape)
    mixed.set_weights(full.get_weights())

    def output_and_gradient(layer):
        with tf.GradientTape() as tape:
            output = layer(x, training=True)
            loss = tf.reduce_sum(tf.cast(output, tf.float32))
        return output, tape.gradient(loss, layer.params.value)

    want, wanted_gradient = output_and_gradient(full)
    got, gradient = output_and_gradient(mixed)
    assert got.dtype == dtype and mixed.params.dtype == "float32"
    assert gradient.dtype == tf.float32
    # Outputs are below 1 and two roundings of the layers between are all that differs.
    np.testing.assert_allclose(tf.cast(got, tf.float32), want, rtol=0, atol=4 * eps)
    largest = np.abs(wanted_gradient).max()
    np.testing.assert_allclose(gradient, wanted_gradient, rtol=0, atol=4 * eps * largest)


def test_lists_as_initial_states(rng):
    x = random_inputs(rng)
    for cls, count in ((CudnnLSTM, 2), (CudnnGRU, 1)):
        layer = cls(UNITS, dtype="float64")
        states = [rng.standard_normal((BATCH, 1, UNITS)) for _ in range(count)]
        got = layer(x, initial_state=[state.tolist() for state in states])
        np.testing.assert_array_equal(got, layer(x, initial_state=states))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "float64"])
def test_inputs_of_another_type(dtype, rng):
    x = (rng.uniform(-2, 2, (BATCH, TIME, INPUTS)) > 0).astype(dtype)
    layer = CudnnGRU(UNITS)
    got = layer(x)
    assert got.dtype == tf.float32
    np.testing.assert_array_equal(got, layer(x.astype("float32")))
    model = keras.Sequential([keras.Input((None, INPUTS), dtype=dtype), layer])
    np.testing.assert_array_equal(model(x), got)
