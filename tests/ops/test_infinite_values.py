"""Infinities and NaN go through LayerRNN, forward and backward, as through TensorFlow's own ops. Denormals are zeros."""

import itertools

import numpy as np
import pytest

import tf_rnn_ops
from support import infinite_values
from support.selection import all_but

TYPES = ("float32", "float16", "bfloat16")


@pytest.mark.parametrize(
    "case",
    all_but(
        [(*case, dtype) for case in infinite_values.CASES for dtype in TYPES],
        *((*case, dtype) for case, dtype in zip(infinite_values.CASES, itertools.cycle(TYPES))),
    ),
    ids="-".join,
)
def test_as_in_tensorflow(case):
    infinite_values.compare(tf_rnn_ops.raw_ops, *case)


def test_denormal_numbers_are_zeros():
    """In the calling thread, which does not flush denormal numbers itself."""
    tiny = np.float32(1e-39)
    assert tiny * np.float32(1e9) > 0
    x = np.full((2, 1, 3), tiny)
    weights = {"kernel": np.full((3, 4), 1e9, "f"), "recurrent_kernel": np.zeros((4, 4), "f")}
    state = np.zeros((1, 4), "f")
    got = tf_rnn_ops.raw_ops.LayerRNN(
        input=x, input_h=state, input_c=0.0, **weights, rnn_mode="rnn_relu", is_training=False
    )
    assert not got.output.numpy().any()
