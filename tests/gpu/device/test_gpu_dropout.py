"""Dropout on a GPU: which calls draw the same masks."""

import numpy as np
import pytest
import tensorflow as tf

from support import cases, devices, tf_ops
from support.reference.spec import RnnSpec

SPEC = RnnSpec("gru", 3, 8, 4)


@pytest.mark.parametrize(("value", "same"), [("1", True), ("true", True), ("0", False)])
def test_reset_of_the_random_state(value, same, monkeypatch, rng):
    """TF_CUDNN_RESET_RND_GEN_STATE: each call has the masks of the first one."""
    devices.require()
    monkeypatch.setenv("TF_CUDNN_RESET_RND_GEN_STATE", value)
    with tf.device("/CPU:0"):
        inputs = tf_ops.rnn_tensors(cases.rnn_case(SPEC, 6, 5, rng, "float32")).inputs()
    # Kernels are kept by their attributes and read the variable when they are made.
    attrs = {**SPEC.attrs(), "dropout": 0.5, "seed": int(rng.integers(1 << 30))}
    with devices.scope():
        first, *others = (devices.ops.CudnnRNNV3(**inputs, **attrs).output for _ in range(3))
    for other in others:
        assert np.array_equal(devices.array(first), devices.array(other)) == same
