"""CudnnRNNV3 and its backward op against the numpy reference: every attribute, awkward sizes."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import bounds, cases, tf_ops
from support.problem_lines import FLOATS, TAILS, TYPES, check_lines, lines
from support.reference import layout, rounding
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
SIZES = {
    "units": lines("T=4 B=3 I={i} H={h} type={type}", i=(1, 16, 17), h=TAILS, type=FLOATS),
    "rows": [
        *lines("T=3 B={b} I=3 H=5 L=2 D=2", b=TAILS),
        *lines("T=1 B={b} I=3 H=5 L=2 D=2 type=float64", b=TAILS),
    ],
    "steps": lines("{size} I=4 H=9 L=2 D={d}", size=("T=1 B=1", "T=1 B=5", "T=97 B=1", "T=64 B=3"),
                   d=(1, 2)),
    # More units than one block of a matrix product, batches on both sides of its rows.
    "blocks": [
        *lines("T=4 B={b} I=270 H=391", b=(1, 3, 9, 70)),
        *lines("T=3 B={b} I=600 H=50 D=2 type=float64", b=(1, 3, 9, 70)),
    ],
    "threads": lines("{size} type={type}", type=FLOATS,
                     size=("T=20 B=37 I=48 H=80 L=2 D=2", "T=9 B=2 I=67 H=131")),
    "types": lines("T=25 B=8 {size} type={type}", type=TYPES,
                   size=("I=32 H=64", "I=16 H=24 L=2 D=2", "I=24 H=24 L=3 input=skip")),
    "working size": ["T=100 B=16 I=96 H=192"],
    "no steps or rows": lines("{size} I=3 H=5 L=2 D=2 type={type} run={run}", type=TYPES,
                              size=("T=0 B=3", "T=4 B=0", "T=0 B=0"),
                              run=("training", "inference")),
    "auto_select": lines("T=3 B=2 I={i} H=6 input=auto", i=(5, 6)),
}  # fmt: skip


@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh", "relu"])
@pytest.mark.parametrize("name", SIZES)
def test_against_the_reference(name, cell):
    check_lines(f"cell={cell} lengths=random", SIZES[name])


# With P equal to H there is no projection.
@pytest.mark.parametrize("num_proj", [1, 7, 15, 16, 17, 18])
def test_projection_sizes(num_proj):
    found = lines("{size} D={d} type={type}", size=("T=5 B=4 I=5", "T=25 B=8 I=16"), d=(1, 2),
                  type=TYPES)  # fmt: skip
    check_lines(f"cell=lstm L=2 H=18 P={num_proj} lengths=random", found)


@pytest.mark.parametrize("mode", MODES)
def test_rows_of_length_zero(mode, rng):
    """The state and its gradient pass a row without steps untouched, to the bit."""
    spec = RnnSpec(mode, 2, 6, 3, "bidirectional", num_proj=4 if mode == "lstm" else 0)
    for time_major in (True, False):
        for lengths in ([0, 4, 0, 2], [0, 0, 0, 0]):
            case = cases.rnn_case(spec, 4, 4, rng, lengths=lengths)
            result = tf_ops.rnn_forward(ops, case, time_major)
            grads = tf_ops.rnn_backward(ops, case, result, time_major)
            got = tf_ops.rnn_arrays(case, result, grads, time_major)
            empty = case.lengths == 0
            want = {"output": 0, "output_h": case.h0, "output_c": case.c0, "input_backprop": 0,
                    "input_h_backprop": case.dh, "input_c_backprop": case.dc}  # fmt: skip
            for name in got.keys() & want.keys():
                rows = np.broadcast_to(want[name], got[name].shape)[:, empty]
                np.testing.assert_array_equal(got[name][:, empty], rows, err_msg=name)


@pytest.mark.parametrize("mode", MODES)
def test_secondary_outputs(mode, rng):
    for dtype in TYPES:
        case = cases.rnn_case(RnnSpec(mode, 1, 4, 3), 3, 2, rng, dtype)
        training = tf_ops.rnn_forward(ops, case)
        inference = tf_ops.rnn_forward(ops, case, is_training=False)
        assert training.reserve_space.dtype == tf.as_dtype(dtype)
        assert training.reserve_space.shape.rank == 1
        scalars = [inference.reserve_space]
        for result in (training, inference):
            assert result.host_reserved.dtype == tf.int8 and result.host_reserved.shape == []
            scalars += [] if mode == "lstm" else [result.output_c]
        if mode != "lstm":
            scalars.append(tf_ops.rnn_backward(ops, case, training).input_c_backprop)
        for scalar in scalars:
            assert scalar.shape == [] and float(scalar) == 0.0


@pytest.mark.parametrize("mode", MODES[1:])
def test_cell_states_of_any_shape_are_ignored_without_lstm(mode, rng):
    case = cases.rnn_case(RnnSpec(mode, 1, 4, 3), 3, 2, rng, "float32")
    result = tf_ops.rnn_forward(ops, case)
    grads = tf_ops.rnn_backward(ops, case, result)
    tensors = tf_ops.rnn_tensors(case)
    for shape in ([0], [7], [1, 2, 4], [2, 3, 4, 5]):
        anything = tf.fill(shape, np.float32(np.nan))
        inputs = {**tensors.inputs(), "input_c": anything}
        got = ops.CudnnRNNV3(**inputs, **case.spec.attrs())
        np.testing.assert_array_equal(got.output, result.output)
        assert got.output_c.shape == []
        found = ops.CudnnRNNBackpropV3(
            **inputs,
            output=result.output,
            output_h=result.output_h,
            output_c=anything,
            output_backprop=tensors.dy,
            output_h_backprop=tensors.dh,
            output_c_backprop=anything,
            reserve_space=result.reserve_space,
            host_reserved=tf.zeros([5], tf.int8),
            **case.spec.attrs(),
        )
        for a, b in zip(found, grads, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("mode", MODES[:3])
def test_saturated_gates(mode, dtype, rng):
    """Pre-activations of thousands, of either sign: the gates saturate and nothing overflows."""
    spec = RnnSpec(mode, 1, 17, 5)
    case = cases.rnn_case(spec, 4, 3, rng, dtype, lengths="full")
    case.x[:] = 5000.0
    (cell,) = layout.unpack(spec, case.params)
    # One sign per gate and unit, so that no sum cancels.
    cell.w[:] = rng.choice([-1.0, 1.0], size=cell.w.shape[:2] + (1,))
    result = tf_ops.rnn_forward(ops, case)
    got = tf_ops.rnn_arrays(case, result, tf_ops.rnn_backward(ops, case, result))
    want = tf_ops.rnn_reference_arrays(case, *case.reference())
    assert len(np.unique(np.abs(want["output"]))) < want["output"].size
    for name in want:
        assert bounds.error(name, got[name], want[name]) <= 4 * rounding.eps(dtype), name
