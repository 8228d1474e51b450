"""CudnnRNNV3 and its backward op against the numpy reference: every attribute, awkward sizes."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, tf_ops
from support.bounds import assert_close
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
TAIL_SIZES = (1, 2, 3, 7, 13, 15, 16, 17, 31, 33)


def _check(case, time_major=True):
    result = tf_ops.rnn_forward(ops, case, time_major)
    grads = tf_ops.rnn_backward(ops, case, result, time_major)
    got = tf_ops.rnn_arrays(case, result, grads, time_major)
    want = tf_ops.rnn_reference_arrays(case, *case.reference())
    context = f"{case.spec} {case.dtype} x {case.x.shape} lengths {case.lengths}"
    assert_close(got, want, case.dtype, context)


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
def test_random_configurations(mode, dtype, time_major, rng):
    for _ in range(15):
        spec = cases.random_spec(rng, modes=(mode,))
        steps, batch = int(rng.integers(1, 9)), int(rng.integers(1, 8))
        _check(cases.rnn_case(spec, steps, batch, rng, dtype), time_major)


@pytest.mark.parametrize("mode", MODES)
def test_unit_and_input_sizes_around_the_vector_width(mode, rng):
    for units in TAIL_SIZES:
        for input_size in (1, 16, 17):
            for dtype in ("float32", "float64"):
                spec = RnnSpec(mode, 1, units, input_size)
                _check(cases.rnn_case(spec, 4, 3, rng, dtype))


@pytest.mark.parametrize("mode", MODES)
def test_batch_sizes_around_the_vector_width(mode, rng):
    for batch in TAIL_SIZES:
        spec = RnnSpec(mode, 2, 5, 3, "bidirectional")
        _check(cases.rnn_case(spec, 3, batch, rng, "float32"))
        _check(cases.rnn_case(spec, 1, batch, rng, "float64"))


@pytest.mark.parametrize("num_proj", [1, 7, 15, 16, 17, 18])
def test_projection_sizes(num_proj, rng):
    for direction in ("unidirectional", "bidirectional"):
        spec = RnnSpec("lstm", 2, 18, 5, direction, num_proj=num_proj)
        _check(cases.rnn_case(spec, 5, 4, rng, "float32"))
        _check(cases.rnn_case(spec, 5, 4, rng, "float64"), time_major=False)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
def test_long_sequences_and_single_steps(mode, direction, rng):
    spec = RnnSpec(mode, 2, 9, 4, direction)
    for steps, batch in ((1, 1), (1, 5), (97, 1), (64, 3)):
        _check(cases.rnn_case(spec, steps, batch, rng, "float32"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sizes_that_use_every_thread(dtype, rng):
    for mode in MODES:
        spec = RnnSpec(mode, 2, 80, 48, "bidirectional", num_proj=24 if mode == "lstm" else 0)
        _check(cases.rnn_case(spec, 20, 37, rng, dtype))
        _check(cases.rnn_case(RnnSpec(mode, 1, 131, 67), 9, 2, rng, dtype))


@pytest.mark.parametrize("mode", ["lstm", "gru"])
@pytest.mark.parametrize("batch", [1, 3, 9, 70])
def test_sizes_beyond_one_block(mode, batch, rng):
    """More units than one block of a matrix product holds, batches on both sides of its rows."""
    _check(cases.rnn_case(RnnSpec(mode, 1, 391, 270), 4, batch, rng, "float32"))
    _check(cases.rnn_case(RnnSpec(mode, 1, 50, 600, "bidirectional"), 3, batch, rng, "float64"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("time_major", [True, False])
def test_rows_of_length_zero(mode, time_major, rng):
    spec = RnnSpec(mode, 2, 6, 3, "bidirectional", num_proj=4 if mode == "lstm" else 0)
    for lengths in ([0, 4, 0, 2], [0, 0, 0, 0]):
        case = cases.rnn_case(spec, 4, 4, rng, lengths=lengths)
        _check(case, time_major)
        result = tf_ops.rnn_forward(ops, case, time_major)
        grads = tf_ops.rnn_backward(ops, case, result, time_major)
        got = tf_ops.rnn_arrays(case, result, grads, time_major)
        empty = case.lengths == 0
        # The state and its gradient pass a row without steps untouched, to the bit.
        np.testing.assert_array_equal(got["output"][:, empty], 0.0)
        np.testing.assert_array_equal(got["output_h"][:, empty], case.h0[:, empty])
        np.testing.assert_array_equal(got["input_backprop"][:, empty], 0.0)
        np.testing.assert_array_equal(got["input_h_backprop"][:, empty], case.dh[:, empty])
        if spec.is_lstm:
            np.testing.assert_array_equal(got["output_c"][:, empty], case.c0[:, empty])
            np.testing.assert_array_equal(got["input_c_backprop"][:, empty], case.dc[:, empty])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("time_major", [True, False])
def test_padding_never_matters(mode, time_major, rng):
    """Values beyond the length of a row, also NaN, have no effect."""
    spec = RnnSpec(mode, 2, 5, 3, "bidirectional")
    case = cases.rnn_case(spec, 6, 3, rng, lengths=[6, 2, 0])
    results = []
    for filler in (0.0, np.nan):
        beyond = np.arange(6)[:, None] >= case.lengths[None]
        case.x = np.where(beyond[..., None], filler, case.x)
        case.dy = np.where(beyond[..., None], filler, case.dy)
        result = tf_ops.rnn_forward(ops, case, time_major)
        grads = tf_ops.rnn_backward(ops, case, result, time_major)
        results.append(tf_ops.rnn_arrays(case, result, grads, time_major))
    for name in results[0]:
        np.testing.assert_array_equal(results[0][name], results[1][name], err_msg=name)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("steps,batch", [(0, 3), (4, 0), (0, 0)])
def test_empty_time_or_batch(mode, steps, batch, rng):
    spec = RnnSpec(mode, 2, 5, 3, "bidirectional", num_proj=2 if mode == "lstm" else 0)
    for dtype in ("bfloat16", "float16", "float32", "float64"):
        case = cases.rnn_case(spec, steps, batch, rng, dtype, lengths="full")
        for time_major in (True, False):
            for is_training in (True, False):
                result = tf_ops.rnn_forward(ops, case, time_major, is_training)
                got = tf_ops.rnn_arrays(case, result, None, time_major)
                assert got["output"].shape == (steps, batch, spec.output_size)
                np.testing.assert_array_equal(got["output_h"], case.h0)
            result = tf_ops.rnn_forward(ops, case, time_major)
            grads = tf_ops.rnn_backward(ops, case, result, time_major)
            got = tf_ops.rnn_arrays(case, result, grads, time_major)
            assert got["input_backprop"].shape == case.x.shape
            np.testing.assert_array_equal(got["input_h_backprop"], case.dh)
            np.testing.assert_array_equal(got["params_backprop"], np.zeros(case.params.shape))


@pytest.mark.parametrize("time_major", [True, False])
def test_both_layouts_give_the_same_bits(time_major, rng):
    for mode in MODES:
        case = cases.rnn_case(RnnSpec(mode, 2, 13, 7, "bidirectional"), 6, 5, rng, "float32")
        first = tf_ops.rnn_forward(ops, case, time_major)
        second = tf_ops.rnn_forward(ops, case, not time_major)
        got = tf_ops.rnn_arrays(
            case, first, tf_ops.rnn_backward(ops, case, first, time_major), time_major
        )
        want = tf_ops.rnn_arrays(
            case, second, tf_ops.rnn_backward(ops, case, second, not time_major), not time_major
        )
        for name in want:
            np.testing.assert_array_equal(got[name], want[name], err_msg=f"{mode} {name}")


@pytest.mark.parametrize("mode", MODES)
def test_inference_equals_training(mode, rng):
    case = cases.rnn_case(RnnSpec(mode, 2, 17, 5, "bidirectional"), 6, 5, rng, "float32")
    got = tf_ops.rnn_arrays(case, tf_ops.rnn_forward(ops, case, is_training=False))
    want = tf_ops.rnn_arrays(case, tf_ops.rnn_forward(ops, case, is_training=True))
    assert_close(got, want, "float32", mode)


@pytest.mark.parametrize("mode", MODES)
def test_secondary_outputs(mode, rng):
    for dtype in ("bfloat16", "float16", "float32", "float64"):
        case = cases.rnn_case(RnnSpec(mode, 1, 4, 3), 3, 2, rng, dtype)
        training = tf_ops.rnn_forward(ops, case)
        inference = tf_ops.rnn_forward(ops, case, is_training=False)
        assert training.reserve_space.dtype == tf.as_dtype(dtype)
        assert training.reserve_space.shape.rank == 1
        assert inference.reserve_space.shape == []
        assert float(inference.reserve_space) == 0.0
        for result in (training, inference):
            assert result.host_reserved.dtype == tf.int8
            assert result.host_reserved.shape == []
            if mode != "lstm":
                assert result.output_c.shape == []
                assert float(result.output_c) == 0.0
        if mode != "lstm":
            grads = tf_ops.rnn_backward(ops, case, training)
            assert grads.input_c_backprop.shape == []
            assert float(grads.input_c_backprop) == 0.0


@pytest.mark.parametrize("mode", ["gru", "rnn_tanh", "rnn_relu"])
def test_input_c_of_any_rank_is_ignored_without_lstm(mode, rng):
    case = cases.rnn_case(RnnSpec(mode, 1, 4, 3), 3, 2, rng, "float32")
    tensors = tf_ops.rnn_tensors(case).inputs()
    want = ops.CudnnRNNV3(**tensors, **case.spec.attrs()).output
    for shape in ([0], [7], [1, 2, 4], [2, 3, 4, 5]):
        tensors["input_c"] = tf.fill(shape, np.float32(np.nan))
        got = ops.CudnnRNNV3(**tensors, **case.spec.attrs())
        np.testing.assert_array_equal(got.output, want)
        assert got.output_c.shape == []


@pytest.mark.parametrize("mode", ["gru", "rnn_tanh", "rnn_relu"])
def test_backward_ignores_cell_states_without_lstm(mode, rng):
    case = cases.rnn_case(RnnSpec(mode, 2, 4, 3), 3, 2, rng, "float32")
    result = tf_ops.rnn_forward(ops, case)
    want = tf_ops.rnn_backward(ops, case, result)
    tensors = tf_ops.rnn_tensors(case)
    anything = tf.fill([3, 1], np.float32(np.nan))
    got = ops.CudnnRNNBackpropV3(
        **{**tensors.inputs(), "input_c": anything},
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
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_a_row_of_nan_stays_alone(mode, dtype, rng):
    """Rows share weights and vector lanes, but no row sees another one's numbers."""
    case = cases.rnn_case(RnnSpec(mode, 2, 19, 7, "bidirectional"), 5, 6, rng, dtype)
    runs = []
    for filler in (None, np.nan, np.inf):
        if filler is not None:
            case.x[:, 2] = case.h0[:, 2] = case.c0[:, 2] = filler
        result = tf_ops.rnn_forward(ops, case)
        runs.append(tf_ops.rnn_arrays(case, result, tf_ops.rnn_backward(ops, case, result)))
    others = [row for row in range(6) if row != 2]
    for got in runs[1:]:
        for name in got:
            if name != "params_backprop":
                np.testing.assert_array_equal(got[name][:, others], runs[0][name][:, others], name)


def test_num_proj_equal_to_num_units_is_no_projection(rng):
    with_attr = RnnSpec("lstm", 2, 5, 3, "bidirectional", num_proj=5)
    without = RnnSpec("lstm", 2, 5, 3, "bidirectional")
    case = cases.rnn_case(with_attr, 4, 3, rng, "float32")
    got = tf_ops.rnn_forward(ops, case).output
    case.spec = without
    np.testing.assert_array_equal(got, tf_ops.rnn_forward(ops, case).output)


def test_auto_select_is_skip_input_only_where_the_sizes_agree(rng):
    for input_size, same_as in ((6, "skip_input"), (5, "linear_input")):
        spec = RnnSpec("gru", 1, 6, input_size, input_mode="auto_select")
        case = cases.rnn_case(spec, 3, 2, rng, "float32")
        got = tf_ops.rnn_forward(ops, case).output
        case.spec = RnnSpec("gru", 1, 6, input_size, input_mode=same_as)
        np.testing.assert_array_equal(got, tf_ops.rnn_forward(ops, case).output)
