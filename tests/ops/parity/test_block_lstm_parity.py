"""BlockLSTMV2 and BlockLSTMGradV2 against TensorFlow's own kernels in half.

In float32, test_reference_block_lstm.py compares the reference with them, and the law tensorflows_op of
robustness/problem the ops.
"""

import pytest
import tensorflow as tf

import tf_rnn_ops
from support import bounds, cases, tf_ops
from support.reference import rounding
from support.reference.block_lstm import FORWARD_NAMES, GRAD_NAMES

ops = tf_rnn_ops.raw_ops

SHAPES = [(1, 1, 1, 1), (5, 3, 4, 6), (7, 2, 17, 15), (4, 13, 3, 33), (12, 8, 16, 16)]
ATTRS = [
    {"use_peephole": False, "cell_clip": 0.0},
    {"use_peephole": True, "cell_clip": -1.0},
    {"use_peephole": False, "cell_clip": 0.3},
    {"use_peephole": True, "cell_clip": 0.3},
]


@pytest.mark.parametrize("attrs", ATTRS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_half_is_at_least_as_accurate_as_tensorflow(shape, attrs, rng):
    case = cases.block_case(*shape, rng, "float16", **attrs)
    ours = tf_ops.block_forward(ops, case)
    theirs = tf_ops.block_forward(tf.raw_ops, case)
    got = tf_ops.block_arrays(ours, tf_ops.block_backward(ops, case, ours))
    peer = tf_ops.block_arrays(theirs, tf_ops.block_backward(tf.raw_ops, case, theirs))
    want = tf_ops.block_reference_arrays(*case.reference())
    # Rounding the outputs once is unavoidable; backward starts from outputs so rounded.
    unavoidable = {False: 0.51, True: 2.0}
    for name in want:
        own_error = bounds.error(name, got[name], want[name])
        allowed = max(
            bounds.error(name, peer[name], want[name]),
            unavoidable[bounds.is_gradient(name)] * rounding.eps("float16"),
        )
        assert own_error <= allowed, (name, own_error, allowed)


@pytest.mark.parametrize("use_peephole", [False, True])
def test_registered_gradient_drops_the_same_outputs(use_peephole, rng):
    """Only the gradients of cs and h flow, as in TensorFlow.

    WHY: not compared with tf.GradientTape over tf.raw_ops.BlockLSTMV2: TensorFlow 2.21 registers
    the gradient op of V1, whose gates have another order, for V2 too, and gets wrong gradients.
    """
    case = cases.block_case(4, 2, 3, 5, rng, "float32", use_peephole=use_peephole)
    tensors = tf_ops.block_tensors(case)
    seq_len_max = tensors.pop("seq_len_max")
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        result = ops.BlockLSTMV2(seq_len_max=seq_len_max, **tensors, use_peephole=use_peephole)
        loss = sum(
            tf.reduce_sum(getattr(result, n) * (k + 1.0)) for k, n in enumerate(FORWARD_NAMES)
        )
    got = tape.gradient(loss, tensors)
    factors = {name: k + 1.0 for k, name in enumerate(FORWARD_NAMES)}
    case.cs_grad[:] = factors["cs"]
    case.h_grad[:] = factors["h"]
    want = tf_ops.block_backward(tf.raw_ops, case, tf_ops.block_forward(tf.raw_ops, case))
    for name in GRAD_NAMES:
        found = bounds.error(f"{name}_grad", got[name], getattr(want, f"{name}_grad"))
        assert found <= bounds.limit(f"{name}_grad", "float32"), name
