"""The GPU kernels reject the same inputs as the CPU kernels, with the same errors."""

import re

import numpy as np
import pytest
import tensorflow as tf

from support import calls, cases, devices, layer_cases, layer_ops, mutations, packed_calls, tf_ops
from support.reference.spec import RnnSpec

# Right in size and wrong in content: cuDNN's reserve space is known by its size only.
UNSEEN = re.compile(r"reserve_space [^\[]")


def _valid_calls(rng):
    """Made on the device, whose reserve space is its own."""
    spec = RnnSpec("lstm", 2, 6, 4, "bidirectional", num_proj=3)
    found = calls.rnn_calls(devices.ops, spec, 5, 3, rng, True)
    yield from found
    yield packed_calls.packing_of_rnn(spec, found[0])
    yield from calls.rnn_calls(devices.ops, RnnSpec("gru", 2, 6, 6), 5, 3, rng, False)
    yield from calls.params_calls(spec, rng)
    yield from calls.block_calls(devices.ops, (5, 3, 4, 6), rng)


def _layer_calls(rng):
    """LayerRNN with all optional tensors, its gradient, and its forms with packed and int8 weights."""
    layers = (
        ("lstm", {}, True),
        ("lstmp", {"input_mask": False}, True),
        ("gru", {"lengths": None, "input_mask": False}, False),
        ("lstm_layer_norm", {"lengths": None, "recurrent_mask": False}, True),
        ("lstm_zoneout", {"lengths": None, "input_mask": False}, False),
        ("rnn_relu", {"bias": False, "recurrent_mask": False}, True),
    )
    for mode, given, time_major in layers:
        case = layer_cases.layer_case(mode, (5, 3, 4, 6), rng, "float32", **given)
        found = layer_ops.calls(devices.ops, case, time_major)
        yield from found
        yield packed_calls.of_layer(devices.ops, found[0])
        yield packed_calls.packing_of_layer(found[0])
    plain = {"input_mask": False, "recurrent_mask": False, "peepholes": False, "clips": (0.0, 0.0)}
    for mode in ("lstm", "lstmp", "gru"):
        case = layer_cases.layer_case(mode, (5, 3, 4, 6), rng, "float32", **plain)
        yield from packed_calls.quantized_layer(
            devices.ops, layer_ops.calls(devices.ops, case, mode != "gru")[0]
        )


def _refused(valid_calls, unseen):
    """How many mutations raised the right error, of those that do not match `unseen`."""
    refused = 0
    for call in list(valid_calls):
        with devices.scope():
            calls.run_eagerly(devices.ops, call)
        for mutation in mutations.all_mutations(call, devices.ops):
            if unseen.match(mutation.label):
                continue
            with pytest.raises(tf.errors.InvalidArgumentError) as raised, devices.scope():
                calls.run_eagerly(devices.ops, mutation.call)
            assert mutation.is_named(str(raised.value)), f"{mutation.label}: {raised.value}"
            refused += 1
    return refused


def test_every_mutation_is_refused():
    devices.require()
    with tf.device("/CPU:0"):
        assert _refused(_valid_calls(np.random.default_rng(5)), UNSEEN) > 300


def test_every_mutation_of_a_layer_is_refused():
    """Except of numbers that only the device knows, which give NaN, and of packed weights, which it ignores."""
    devices.require()
    unseen = re.compile(rf"{UNSEEN.pattern}|sequence_lengths\[|packed \[\d+\] -> \[\d+\]")
    with tf.device("/CPU:0"):
        assert _refused(_layer_calls(np.random.default_rng(5)), unseen) > 3500


def test_more_steps_than_cudnn_takes():
    devices.require()
    case = cases.rnn_case(RnnSpec("gru", 1, 2, 1), 65536, 1, np.random.default_rng(1), "float32")
    with tf.device("/CPU:0"), pytest.raises(tf.errors.InvalidArgumentError) as raised:
        tf_ops.rnn_forward(devices.ops, case)
    assert "time steps must be at most 65535 on a GPU" in str(raised.value)
    assert "65536" in str(raised.value)
