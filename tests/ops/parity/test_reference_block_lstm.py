"""The numpy reference of BlockLSTMV2 against TensorFlow's own op and central differences."""

import dataclasses

import pytest
import tensorflow as tf

from support import bounds, cases, tf_ops
from support.central_differences import numeric
from support.reference import block_lstm
from support.reference.block_lstm import FORWARD_NAMES, GRAD_NAMES

ATTRS = [
    {"use_peephole": False, "cell_clip": 0.0},
    {"use_peephole": True, "cell_clip": 0.0},
    {"use_peephole": False, "cell_clip": 0.2},
    {"use_peephole": True, "cell_clip": 0.2},
]


@pytest.mark.parametrize("seq_len_max", [0, 3, 5])
@pytest.mark.parametrize("attrs", ATTRS, ids=str)
def test_equals_tensorflow(attrs, seq_len_max, rng):
    case = cases.block_case(5, 3, 4, 6, rng, "float32", seq_len_max, **attrs)
    result = tf_ops.block_forward(tf.raw_ops, case)
    out, _ = case.reference()
    got = tf_ops.block_arrays(result)
    for name in FORWARD_NAMES:
        # TensorFlow leaves all outputs but cs and h uninitialised beyond seq_len_max.
        end = 5 if name in ("cs", "h") else seq_len_max
        assert bounds.error(name, got[name][:end], out[name][:end]) <= bounds.limit(
            name, "float32"
        ), name
    grads = tf_ops.block_backward(tf.raw_ops, case, result)
    want = case.reference_backward(out)
    for name in GRAD_NAMES:
        found = bounds.error(f"{name}_grad", getattr(grads, f"{name}_grad"), want[name])
        assert found <= bounds.limit(f"{name}_grad", "float32"), name


@pytest.mark.parametrize("use_peephole", [False, True])
def test_backward_equals_central_differences(use_peephole, rng):
    case = cases.block_case(4, 2, 3, 3, rng, seq_len_max=3, use_peephole=use_peephole)
    _, grads = case.reference()

    for name in GRAD_NAMES:

        def loss(array):
            inputs = dataclasses.replace(case.inputs, **{name: array})  # noqa: B023
            out = block_lstm.forward(inputs, 3, use_peephole=use_peephole)
            return (out["cs"] * case.cs_grad).sum() + (out["h"] * case.h_grad).sum()

        want = numeric(loss, getattr(case.inputs, name))
        assert bounds.error(f"{name}_grad", grads[name], want) < 1e-7, name
