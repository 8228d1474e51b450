"""LSTM, GRU and SimpleRNN against Keras's own: results, states and gradients, for every mask."""

import itertools

import compare_layers as compare
import numpy as np
import pytest
import tensorflow as tf

from support.selection import all_but

OUTPUTS = {
    "last": {},
    "last_or_zero": {"zero_output_for_mask": True},
    "sequence": {"return_sequences": True},
    "sequence_or_zero": {"return_sequences": True, "zero_output_for_mask": True},
}


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(compare.NAMES, compare.MASKS, OUTPUTS)),
        ("LSTM", "no_mask", "sequence"),
        ("LSTM", "holes", "last_or_zero"),
        ("GRU", "all_valid", "sequence_or_zero"),
        ("GRU", "left", "last"),
        ("SimpleRNN", "right", "sequence_or_zero"),
        ("SimpleRNN", "none_valid", "last"),
    ),
    ids="-".join,
)
def test_results_states_and_gradients(case, rng, op_calls, op_name):
    name, mask, output = case
    # Each mask and each output forwards and backwards; the pairs of both in one layer or another.
    places = zip(case, (compare.NAMES, compare.MASKS, OUTPUTS))
    go_backwards = sum(list(of).index(value) for value, of in places) % 2 == 1
    stock, ours = compare.pair(name, go_backwards=go_backwards, **OUTPUTS[output])
    x, states = compare.values(rng)
    states = states[: compare.number_of_states(name)]
    compare.assert_same(stock, ours, x, compare.MASKS[mask], states, training=True)
    assert op_calls == [op_name]


@pytest.mark.parametrize("go_backwards", [False, True])
def test_outputs_of_masked_steps(go_backwards, rng, op_calls, op_name):
    stock, ours = compare.pair("GRU", go_backwards=go_backwards, return_sequences=True)
    x, states = compare.values(rng)
    compare.assert_same(stock, ours, x, compare.MASKS["holes"], states[:1], training=True)
    assert op_calls == [op_name]


@pytest.mark.parametrize("mask", ["no_mask", "right", "holes"])
@pytest.mark.parametrize("name", compare.NAMES)
def test_float32(name, mask, rng):
    stock, ours = compare.pair(name, "float32", return_sequences=True)
    x, _ = compare.values(rng, "float32")
    compare.assert_same(stock, ours, x, compare.MASKS[mask])


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(compare.NAMES, ["right", "holes"])),
        ("LSTM", "holes"),
        ("GRU", "right"),
        ("SimpleRNN", "right"),
    ),
    ids="-".join,
)
def test_graph_with_unknown_batch_and_time(case, rng, op_calls, op_name):
    name, mask = case
    stock, ours = compare.pair(name, return_sequences=True)
    x, _ = compare.values(rng)
    mask = compare.MASKS[mask]

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, compare.INPUT], tf.float64),
            tf.TensorSpec([None, None], tf.bool),
        ]
    )
    def run(x, mask):
        return compare.outcome(ours, x, mask, training=True)

    for batch, time in ((compare.BATCH, compare.TIME), (2, 4)):
        part, part_mask = x[:batch, :time], mask[:batch, :time]
        want = compare.as_arrays(compare.outcome(stock, part, part_mask))
        got = compare.as_arrays(run(part, part_mask))
        compare.assert_outcomes(got, want, "float64")
    assert op_calls == [op_name]


@pytest.mark.parametrize("name", compare.NAMES)
def test_gradient_of_inference(name, rng, op_calls, op_name):
    """Without training=True backward needs what forward did not keep, and runs it again."""
    stock, ours = compare.pair(name)
    x, _ = compare.values(rng)
    compare.assert_same(stock, ours, x, compare.MASKS["holes"], training=False)
    assert op_calls == [op_name] * 2


@pytest.mark.parametrize("name", compare.NAMES)
def test_forms_of_masks(name, rng):
    """The masks that Keras accepts besides bool [batch, time]."""
    _, ours = compare.pair(name, return_sequences=True)
    x, _ = compare.values(rng)
    mask = compare.MASKS["holes"]
    want = ours(x, mask=mask)[0]
    for form in (mask.astype("int32"), mask.astype("float32"), mask[:, :, None], tf.constant(mask)):
        np.testing.assert_array_equal(ours(x, mask=form)[0], want)
