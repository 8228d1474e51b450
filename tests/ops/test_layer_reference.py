"""LayerRNN and its backward op against the numpy reference: every mode, dtype and optional input."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from robustness.problem import check, grammar
from support import bounds, layer_cases, layer_ops
from support.layer_cases import MODES, WITHOUT_C, layer_case
from support.problem_lines import FLOATS, TAILS, TYPES, check_lines, keys_of, lines
from support.reference import rounding

ops = tf_rnn_ops.raw_ops

MASKS = ("none", "input", "recurrent", "both")
SIZES = {
    "optional tensors": lines("T=5 B=4 I=3 H=9 mask={mask} bias={bias} lengths={lengths}",
                              mask=MASKS, bias=("yes", "no"), lengths=("full", "random")),
    "units": lines("T=4 B=3 I=5 H={h} mask=both lengths=random type={type}", h=TAILS, type=FLOATS),
    "rows": lines("T=3 B={b} I=2 H=5 mask=recurrent lengths=random type={type}", b=TAILS,
                  type=FLOATS),
    "inputs": lines("T=3 B=2 I={i} H=5 mask=input lengths=random type={type}", i=TAILS,
                    type=FLOATS),
    "steps": lines("{steps} {size} {masks}",
                   steps=("T=1 B=1", "T=1 B=4", "T=2 B=2", "T=4 B=1", "T=1 B=5", "T=97 B=1",
                          "T=40 B=3"),
                   size=("I=3 H=5", "I=64 H=33", "I=17 H=130"),
                   masks=("lengths=random", "mask=both")),
    "threads": lines("{size} mask={mask} lengths=random type={type}", mask=("none", "both"),
                     size=("T=20 B=37 I=48 H=80", "T=4 B=9 I=270 H=391"), type=FLOATS),
    "types": lines("T=25 B=8 I=32 H=64 mask={mask} lengths=random type={type}",
                   mask=("none", "both"), type=TYPES),
    "no steps or rows": lines("{size} I=3 H=5 mask=both lengths={lengths} type={type}", type=TYPES,
                              size=("T=0 B=3", "T=4 B=0", "T=0 B=0"),
                              lengths=("full", "random")),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SIZES)
def test_against_the_reference(name, mode):
    check_lines(f"op=LayerRNN {keys_of(mode)}", SIZES[name])


@pytest.mark.parametrize("functions", layer_cases.FUNCTIONS, ids="-".join)
@pytest.mark.parametrize("mode", layer_cases.WITH_FUNCTIONS)
def test_other_activations(mode, functions):
    activation, recurrent = functions
    keys = f"activation={activation}"
    if mode != "rnn":
        keys += f" recurrent_activation={recurrent}"
    # A z of a GRU below 0 takes h beyond its candidates, and every rounding grows with the steps.
    steps = 4 if recurrent == "tanh" else 12
    found = lines("{size} mask=both lengths=random type={type}", type=TYPES,
                  size=("T=4 B=3 I=5 H=33", f"T={steps} B=37 I=20 H=24"))  # fmt: skip
    check_lines(f"op=LayerRNN {keys_of(mode)} {keys}", found)


@pytest.mark.parametrize("peephole", ["yes", "no"])
@pytest.mark.parametrize("num_proj", [0, 1, 9, 17, 40])
def test_each_part_of_a_projected_lstm(num_proj, peephole):
    """A projection may be as wide as the state or wider."""
    limits = ("", "clip=0.5", "proj_clip=0.25" * bool(num_proj))
    found = lines("{size} mask={mask} {limits} lengths=random type=float64", mask=("none", "both"),
                  size=("T=5 B=7 I=4 H=17", "T=1 B=3 I=5 H=9"), limits=limits)  # fmt: skip
    check_lines(f"op=LayerRNN P={num_proj} peephole={peephole}", found)


def test_limits_are_reached():
    line = f"op=LayerRNN {keys_of('lstmp')} T=9 B=8 I=5 H=24 type=float64"
    _, got, _ = check.check(grammar.parse(line))
    for name, limit in (("output", 0.125), ("output_c", 0.25)):
        assert 0.02 < np.mean(np.abs(got[name]) == limit) < 0.95
        assert np.abs(got[name]).max() == limit


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
def test_rows_of_length_zero(mode, rng):
    """The state and its gradient pass a row without steps untouched, to the bit."""
    for time_major in (True, False):
        for lengths in ([0, 4, 0, 2], [0, 0, 0, 0]):
            case = layer_case(mode, (4, 4, 3, 6), rng, lengths=lengths)
            got = layer_ops.run(ops, case, time_major)
            empty = case.inputs.lengths == 0
            for name in ("output", "input_backprop"):
                np.testing.assert_array_equal(got[name][:, empty], 0.0)
            states = {"output_h": case.inputs.h0, "input_h_backprop": case.dh}
            if case.is_lstm:
                states |= {"output_c": case.inputs.c0, "input_c_backprop": case.dc}
            for name, array in states.items():
                np.testing.assert_array_equal(got[name][empty], array[empty], err_msg=name)


@pytest.mark.parametrize("mode", MODES)
def test_secondary_outputs(mode, rng):
    for dtype in TYPES:
        case = layer_case(mode, (3, 2, 3, 4), rng, dtype)
        training = layer_ops.forward(ops, case)
        inference = layer_ops.forward(ops, case, is_training=False)
        assert training.reserve_space.dtype == tf.as_dtype(dtype)
        assert training.reserve_space.shape.rank == 1
        scalars = [inference.reserve_space]
        if not case.is_lstm:
            scalars += [training.output_c, inference.output_c]
            scalars.append(layer_ops.backward(ops, case, training).input_c_backprop)
        for scalar in scalars:
            assert scalar.shape == [] and float(scalar) == 0.0


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
