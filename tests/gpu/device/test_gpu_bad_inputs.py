"""The GPU kernels reject the same inputs as the CPU kernels, with the same errors."""

import re

import numpy as np
import pytest
import tensorflow as tf

from support import calls, cases, devices, mutations, tf_ops
from support.reference.spec import RnnSpec

# Right in size and wrong in content: cuDNN's reserve space is known by its size only.
UNSEEN = re.compile(r"reserve_space [^\[]")


def _valid_calls(rng):
    """Made on the device, whose reserve space is its own."""
    spec = RnnSpec("lstm", 2, 6, 4, "bidirectional", num_proj=3)
    yield from calls.rnn_calls(devices.ops, spec, 5, 3, rng, True)
    yield from calls.rnn_calls(devices.ops, RnnSpec("gru", 2, 6, 6), 5, 3, rng, False)
    yield from calls.params_calls(spec, rng)
    yield from calls.block_calls(devices.ops, (5, 3, 4, 6), rng)


def test_every_mutation_is_refused():
    devices.require()
    rng = np.random.default_rng(5)
    refused = 0
    with tf.device("/CPU:0"):
        for call in list(_valid_calls(rng)):
            with devices.scope():
                calls.run_eagerly(devices.ops, call)
            for mutation in mutations.all_mutations(call, devices.ops):
                if UNSEEN.match(mutation.label):
                    continue
                with pytest.raises(tf.errors.InvalidArgumentError) as raised, devices.scope():
                    calls.run_eagerly(devices.ops, mutation.call)
                assert mutation.is_named(str(raised.value)), f"{mutation.label}: {raised.value}"
                refused += 1
    assert refused > 300


def test_more_steps_than_cudnn_takes():
    devices.require()
    case = cases.rnn_case(RnnSpec("gru", 1, 2, 1), 65536, 1, np.random.default_rng(1), "float32")
    with tf.device("/CPU:0"), pytest.raises(tf.errors.InvalidArgumentError) as raised:
        tf_ops.rnn_forward(devices.ops, case)
    assert "time steps must be at most 65535 on a GPU" in str(raised.value)
    assert "65536" in str(raised.value)
