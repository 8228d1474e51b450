"""LayerRNN and its backward op against the numpy reference: every mode, dtype and optional input."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import bounds, layer_cases, layer_ops
from support.bounds import assert_close
from support.layer_cases import FUNCTIONS, MODES, WITH_FUNCTIONS, WITHOUT_C, layer_case
from support.reference import rounding

ops = tf_rnn_ops.raw_ops

TAIL_SIZES = (1, 2, 3, 7, 13, 15, 16, 17, 31, 33)
OPTIONAL = ("bias", "input_mask", "recurrent_mask")


def _check(case, time_major=True):
    assert_close(layer_ops.run(ops, case, time_major), case.reference(), case.dtype, str(case))


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
def test_random_problems(mode, dtype, time_major, rng):
    for _ in range(20):
        _check(layer_cases.random_layer_case(mode, rng, dtype), time_major)


@pytest.mark.parametrize("functions", FUNCTIONS, ids="-".join)
@pytest.mark.parametrize("mode", WITH_FUNCTIONS)
def test_other_activations(mode, functions, rng):
    for dtype in ("float32", "float64"):
        for time_major in (True, False):
            case = layer_cases.random_layer_case(mode, rng, dtype, functions=functions)
            _check(case, time_major)
        for shape in ((4, 3, 5, 33), (12, 37, 20, 24)):
            _check(layer_case(mode, shape, rng, dtype, functions=functions))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode", WITH_FUNCTIONS)
def test_other_activations_in_16_bits(mode, dtype, rng):
    for functions in FUNCTIONS[:2]:
        case = layer_case(
            mode, (15, 8, 12, 24), rng, dtype, recurrent_mask=False, functions=functions
        )
        got = layer_ops.run(ops, case)
        want = case.reference(output=got["output"])
        for name in want:
            found = bounds.error(name, got[name], want[name])
            assert found <= bounds.ROUNDED_ONCE_EPS * rounding.eps(dtype), (name, found)


def test_the_default_activations_are_those_of_the_papers(rng):
    case = layer_case("lstm", (5, 4, 3, 9), rng, "float32")
    inputs = layer_ops.tensors(case)
    want = layer_ops.forward(ops, case)
    np.testing.assert_array_equal(ops.LayerRNN(**inputs).output, want.output)
    other = ops.LayerRNN(**inputs, recurrent_activation="hard_sigmoid")
    assert np.abs(other.output - want.output).max() > 1e-3


@pytest.mark.parametrize("name", ["activation", "recurrent_activation"])
def test_reserve_space_of_other_activations_is_refused(name, rng):
    case = layer_case("gru", (5, 4, 3, 9), rng, "float32")
    result = layer_ops.forward(ops, case)
    setattr(case, name, "relu")
    with pytest.raises(tf.errors.InvalidArgumentError, match="reserve_space"):
        layer_ops.backward(ops, case, result)


@pytest.mark.parametrize("peepholes", [False, True])
@pytest.mark.parametrize("num_proj", [0, 1, 9, 17, 40])
def test_each_part_of_a_projected_lstm(num_proj, peepholes, rng):
    """A projection may be as wide as the state or wider."""
    for clips in ((0.0, 0.0), (0.5, 0.0), (0.0, 0.25)):
        given = {"num_proj": num_proj, "peepholes": peepholes, "clips": clips}
        for masks in (False, True):
            for shape in ((5, 7, 4, 17), (1, 3, 5, 9)):
                case = layer_case(
                    "lstm", shape, rng, input_mask=masks, recurrent_mask=masks, **given
                )
                _check(case)


def test_limits_are_reached(rng):
    case = layer_case("lstmp", (9, 8, 5, 24), rng, lengths=None)
    results = case.reference()
    assert 0.05 < np.mean(np.abs(results["output"]) == 0.125) < 0.95
    assert 0.02 < np.mean(np.abs(results["output_c"]) == 0.25) < 0.95
    assert np.abs(results["output"]).max() == 0.125 and np.abs(results["output_c"]).max() == 0.25


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_proj_clip_is_rounded(dtype, rng):
    """0.1 has no 16-bit value: an output that has reached the limit must be seen to."""
    case = layer_case("lstmp", (5, 7, 4, 17), rng, dtype, clips=(0.0, 0.1))
    got = layer_ops.run(ops, case)
    case.proj_clip = float(rounding.rounder(dtype)(np.float64(0.1)))
    assert np.abs(got["output"]).max() == case.proj_clip
    want = case.reference(output=got["output"])
    for name in want:
        found = bounds.error(name, got[name], want[name])
        assert found <= bounds.ROUNDED_ONCE_EPS * rounding.eps(dtype), (name, found)


@pytest.mark.parametrize("mode", MODES)
def test_every_combination_of_optional_tensors(mode, rng):
    for given in itertools.product((False, True), repeat=len(OPTIONAL)):
        for lengths in (None, "random"):
            optional = dict(zip(OPTIONAL, given))
            _check(layer_case(mode, (5, 4, 3, 9), rng, "float32", lengths=lengths, **optional))


@pytest.mark.parametrize("mode", MODES)
def test_sizes_around_the_vector_width(mode, rng):
    for size in TAIL_SIZES:
        for dtype in ("float32", "float64"):
            _check(layer_case(mode, (4, 3, 5, size), rng, dtype))
            _check(layer_case(mode, (3, size, 2, 5), rng, dtype, input_mask=False))
            _check(layer_case(mode, (3, 2, size, 5), rng, dtype, recurrent_mask=False))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("steps,batch", [(1, 1), (1, 4), (2, 2), (4, 1), (1, 5), (97, 1), (40, 3)])
def test_short_and_long_sequences(mode, steps, batch, rng):
    for units, input_size in ((5, 3), (33, 64), (130, 17)):
        for masks in (False, True):
            case = layer_case(
                mode,
                (steps, batch, input_size, units),
                rng,
                "float32",
                lengths=None if masks else "random",
                input_mask=masks,
                recurrent_mask=masks,
            )
            _check(case)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sizes_that_use_every_thread_and_several_blocks(dtype, rng):
    for mode in MODES:
        for masks in (False, True):
            given = {"input_mask": masks, "recurrent_mask": masks}
            _check(layer_case(mode, (20, 37, 48, 80), rng, dtype, **given))
            _check(layer_case(mode, (4, 9, 270, 391), rng, dtype, **given))


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode", MODES)
def test_16bit(mode, dtype, masks, rng):
    """As test_precision.py for CudnnRNN: no worse than the naive computation, and rounded once."""
    shape = (25, 8, 32, 64)
    case = layer_case(mode, shape, rng, dtype, input_mask=masks, recurrent_mask=masks)
    got, want = layer_ops.run(ops, case), case.reference()
    naive = case.reference(q=rounding.rounder(dtype))
    assert got.keys() == want.keys()
    # Without masks bfloat16 may be multiplied as such; see tests/cc/cpu/rnn_kernel_test.cc.
    if dtype == "float16" or masks or mode == "lstmp":
        # At the very output that the gradient op is given.
        for name, array in case.reference(output=got["output"]).items():
            found = bounds.error(name, got[name], array)
            assert found <= bounds.ROUNDED_ONCE_EPS * rounding.eps(dtype), (name, found)
    if mode == "lstmp":
        return  # rounding decides which outputs have reached the limit
    for name in want:
        found = bounds.error(name, got[name], want[name])
        gradient = bounds.is_gradient(name)
        factor = bounds.NAIVE_FACTOR_BACKWARD if gradient else bounds.NAIVE_FACTOR_FORWARD
        assert found <= factor * bounds.error(name, naive[name], want[name]), (name, found)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("time_major", [True, False])
def test_rows_of_length_zero(mode, time_major, rng):
    for lengths in ([0, 4, 0, 2], [0, 0, 0, 0]):
        case = layer_case(mode, (4, 4, 3, 6), rng, lengths=lengths)
        _check(case, time_major)
        got = layer_ops.run(ops, case, time_major)
        empty = case.inputs.lengths == 0
        # The state and its gradient pass a row without steps untouched, to the bit.
        np.testing.assert_array_equal(got["output"][:, empty], 0.0)
        np.testing.assert_array_equal(got["output_h"][empty], case.inputs.h0[empty])
        np.testing.assert_array_equal(got["input_backprop"][:, empty], 0.0)
        np.testing.assert_array_equal(got["input_h_backprop"][empty], case.dh[empty])
        if case.is_lstm:
            np.testing.assert_array_equal(got["output_c"][empty], case.inputs.c0[empty])
            np.testing.assert_array_equal(got["input_c_backprop"][empty], case.dc[empty])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("steps,batch", [(0, 3), (4, 0), (0, 0)])
def test_empty_time_or_batch(mode, steps, batch, rng):
    for dtype in ("bfloat16", "float16", "float32", "float64"):
        for lengths in (None, "random"):
            case = layer_case(mode, (steps, batch, 3, 5), rng, dtype, lengths=lengths)
            for time_major in (True, False):
                got = layer_ops.run(ops, case, time_major)
                assert got["output"].shape == (steps, batch, case.hidden)
                np.testing.assert_array_equal(got["output_h"], case.inputs.h0)
                np.testing.assert_array_equal(got["input_h_backprop"], case.dh)
                for name in ("kernel", "recurrent_kernel", *layer_ops.OPTIONAL_WEIGHTS):
                    if getattr(case.inputs, name) is not None:
                        np.testing.assert_array_equal(got[f"{name}_backprop"], 0.0)


@pytest.mark.parametrize("mode", MODES)
def test_padding_never_matters(mode, rng):
    case = layer_case(mode, (6, 3, 3, 5), rng, lengths=[6, 2, 0])
    beyond = (np.arange(6)[:, None] >= case.inputs.lengths[None])[..., None]
    results = []
    for filler in (0.0, np.nan):
        case.inputs.x = np.where(beyond, filler, case.inputs.x)
        case.dy = np.where(beyond, filler, case.dy)
        results.append(layer_ops.run(ops, case))
    for name in results[0]:
        np.testing.assert_array_equal(results[0][name], results[1][name], err_msg=name)


@pytest.mark.parametrize("mode", MODES)
def test_layouts_inference_and_masks_of_one_give_the_same_bits(mode, rng):
    case = layer_case(mode, (6, 5, 7, 13), rng, "float32", input_mask=False, recurrent_mask=False)
    want = layer_ops.run(ops, case)
    got = layer_ops.run(ops, case, time_major=False)
    for name in want:
        np.testing.assert_array_equal(got[name], want[name], err_msg=f"{mode} {name}")
    inference = layer_ops.forward(ops, case, is_training=False)
    got = layer_ops.arrays(case, inference._asdict())
    for name in got:
        np.testing.assert_array_equal(got[name], want[name], err_msg=f"{mode} {name}")
    gates = case.inputs.kernel.shape[1] // 13
    case.inputs.input_mask = np.ones((gates, 5, 7))
    case.inputs.recurrent_mask = np.ones((gates, 5, case.hidden))
    assert_close(layer_ops.run(ops, case), case.reference(), "float32", mode)


@pytest.mark.parametrize("mode", MODES)
def test_secondary_outputs(mode, rng):
    for dtype in ("bfloat16", "float16", "float32", "float64"):
        case = layer_case(mode, (3, 2, 3, 4), rng, dtype)
        training = layer_ops.forward(ops, case)
        inference = layer_ops.forward(ops, case, is_training=False)
        assert training.reserve_space.dtype == tf.as_dtype(dtype)
        assert training.reserve_space.shape.rank == 1
        assert inference.reserve_space.shape == [] and float(inference.reserve_space) == 0.0
        if case.is_lstm:
            continue
        for result in (training, inference):
            assert result.output_c.shape == [] and float(result.output_c) == 0.0
        grads = layer_ops.backward(ops, case, training)
        assert grads.input_c_backprop.shape == [] and float(grads.input_c_backprop) == 0.0


@pytest.mark.parametrize("mode", WITHOUT_C)
def test_input_c_of_any_shape_is_ignored_without_lstm(mode, rng):
    case = layer_case(mode, (3, 2, 3, 4), rng, "float32")
    inputs = layer_ops.tensors(case)
    want = ops.LayerRNN(**inputs, **case.attrs()).output
    for shape in ([0], [7], [2, 4], [2, 3, 4, 5]):
        inputs["input_c"] = tf.fill(shape, np.float32(np.nan))
        np.testing.assert_array_equal(ops.LayerRNN(**inputs, **case.attrs()).output, want)


def test_optional_tensors_may_be_left_out(rng):
    given = {"bias": False, "lengths": None, "input_mask": False, "recurrent_mask": False}
    case = layer_case("lstm", (3, 2, 3, 4), rng, "float64", **given)
    required = dict(list(layer_ops.tensors(case).items())[:5])
    got = ops.LayerRNN(**required)
    np.testing.assert_array_equal(got.output, layer_ops.forward(ops, case).output)


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_equals_cudnn_rnn_with_the_same_weights(mode, rng):
    """The other op, with Keras's weights packed."""
    from tf_rnn_ops.params import from_keras

    case = layer_case(mode, (6, 5, 7, 9), rng, input_mask=False, recurrent_mask=False)
    i = case.inputs
    weights = [i.kernel, i.recurrent_kernel, i.bias]
    params = from_keras(weights, rnn_mode=mode if mode == "rnn_tanh" else None).params
    result = ops.CudnnRNNV3(
        input=i.x,
        input_h=i.h0[None],
        input_c=i.c0[None] if case.is_lstm else 0.0,
        params=params,
        sequence_lengths=i.lengths,
        rnn_mode=mode,
    )
    want = {"output": result.output.numpy(), "output_h": result.output_h.numpy()[0]}
    got = layer_ops.arrays(case, layer_ops.forward(ops, case)._asdict())
    assert_close({name: got[name] for name in want}, want, "float64", mode)
