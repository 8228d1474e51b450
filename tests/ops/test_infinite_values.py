"""Infinities and NaN go through LayerRNN, forward and backward, as through TensorFlow's own ops."""

import pytest

import tf_rnn_ops
from support import infinite_values


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("case", infinite_values.CASES, ids="-".join)
def test_as_in_tensorflow(case, dtype):
    infinite_values.compare(tf_rnn_ops.raw_ops, *case, dtype)
