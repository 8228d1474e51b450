"""QuantizedLayerRNN: each step against the numpy reference, rows that do not depend on each other, bad inputs."""

import numpy as np
import pytest
import tensorflow as tf

from support.problem_lines import check_lines, lines
from support.reference import quantized
from support.reference.spec import CELLS
from tf_rnn_ops import plain, raw_ops

MODES = ("lstmp", *CELLS)
WEIGHTS = (
    *("kernel", "kernel_scale", "recurrent_kernel", "recurrent_kernel_scale"),
    *("bias", "projection", "projection_scale"),
)


def _quantized(matrix):
    """An int8 matrix and the float32 scales of its columns."""
    integers, scales = quantized.quantized_columns(matrix)
    return integers.astype(np.int8), scales.astype(np.float32)


def _of_reference(weights):
    """The weights as the reference is given them."""
    given = {"bias": weights["bias"]}
    for name in ("kernel", "recurrent_kernel", "projection"):
        if weights[name] is not None:
            integers, scales = weights[name], weights[f"{name}_scale"]
            given[name] = integers.astype(np.int64), scales.astype(np.float64)
    return given


def _weights(rng, mode, inputs, units, bias=True):
    """The weights of a layer, as numpy arrays."""
    rnn_mode = "lstm" if mode == "lstmp" else mode
    gates, size = CELLS[rnn_mode].gates, units
    weights = {"bias": None, "projection": None, "projection_scale": None}
    if mode == "lstmp":
        size = max(1, units // 2)
        projection = rng.normal(size=(units, size)) / units**0.5
        weights["projection"], weights["projection_scale"] = _quantized(projection)
    for name, rows in (("kernel", inputs), ("recurrent_kernel", size)):
        matrix = rng.uniform(-1, 1, size=(rows, gates * units)) / units**0.5
        weights[name], weights[f"{name}_scale"] = _quantized(matrix)
    if bias:
        shape = (2, gates * units) if CELLS[rnn_mode].bias_rows == 2 else (gates * units,)
        weights["bias"] = rng.normal(size=shape).astype(np.float32) * np.float32(0.1)
    return rnn_mode, size, weights


def _calls(rng, size, units, steps, batch, inputs):
    return {
        "input": rng.normal(size=(steps, batch, inputs)).astype(np.float32),
        "input_h": rng.uniform(-1, 1, size=(batch, size)).astype(np.float32),
        "input_c": rng.normal(size=(batch, units)).astype(np.float32),
    }


def _run(weights, call, rnn_mode, dtype="float32", packed=True, **attrs):
    given = {
        name: tf.constant(
            [], dtype if name == "bias" else "int8" if name == "projection" else "float32"
        )
        if weights.get(name) is None
        else weights[name]
        for name in WEIGHTS
    }
    given["bias"] = tf.cast(given["bias"], dtype)
    call = {
        name: value if name == "sequence_lengths" else tf.cast(value, dtype)
        for name, value in call.items()
    }
    panels = (
        raw_ops.PackQuantizedLayerRNN(**given, rnn_mode=rnn_mode)
        if packed
        else tf.zeros([0], tf.uint8)
    )
    return raw_ops.QuantizedLayerRNN(**call, **given, rnn_mode=rnn_mode, packed=panels, **attrs)


LINES = lines("{size} bias={bias} lengths={lengths} run={run}", bias=("yes", "no"),
              lengths=("full", "random"), run=("packed", "inference"),
              size=("T=3 B=1 I=5 H=7", "T=4 B=2 I=16 H=33", "T=5 B=3 I=1 H=1", "T=3 B=7 I=19 H=64",
                    "T=2 B=40 I=65 H=17", "T=2 B=9 I=130 H=40", "T=0 B=3 I=4 H=5",
                    "T=3 B=0 I=4 H=5"))  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_every_step(mode):
    cell = "lstm P=9" if mode == "lstmp" else mode.removeprefix("rnn_")
    cell += " activation=linear" * (mode == "rnn")
    check_lines(f"op=LayerRNN type=int8 cell={cell}", LINES)
    if mode in ("lstm", "lstmp", "gru_reset_before"):
        # Large weights, whose units threads share.
        check_lines(f"op=LayerRNN type=int8 cell={cell} run=packed", ["T=12 B=1 I=512 H=640"])


@pytest.mark.parametrize(
    "functions",
    [("relu", "hard_sigmoid"), ("sigmoid", "hard_sigmoid_keras2"), ("linear", "tanh")],
    ids="-".join,
)
@pytest.mark.parametrize("cell", ["lstm", "gru", "gru_reset_before"])
def test_other_activations(cell, functions):
    keys = f"activation={functions[0]} recurrent_activation={functions[1]} run=packed"
    check_lines(f"op=LayerRNN type=int8 cell={cell} {keys}", ["T=4 B=5 I=20 H=24"])


def _bytes(result):
    return [tensor.numpy().tobytes() for tensor in result]


@pytest.mark.parametrize("mode", MODES)
def test_a_row_does_not_depend_on_the_others(mode, rng):
    """Nor on the size of the batch, on the order of dimensions, or on whether the weights are packed."""
    rnn_mode, size, weights = _weights(rng, mode, 30, 70)
    call = _calls(rng, size, 70, 6, 37, 30)
    call["input"][:, 5] *= 1000
    call["input_h"][7] *= 100
    whole = _run(weights, call, rnn_mode)
    assert _bytes(_run(weights, call, rnn_mode, packed=False)) == _bytes(whole)
    for rows in ([0], [5, 6], [3, 4, 5], list(range(20, 37))):
        part = {
            "input": call["input"][:, rows],
            "input_h": call["input_h"][rows],
            "input_c": call["input_c"][rows],
        }
        got = _run(weights, part, rnn_mode)
        assert got.output.numpy().tobytes() == whole.output.numpy()[:, rows].tobytes()
        assert got.output_h.numpy().tobytes() == whole.output_h.numpy()[rows].tobytes()
    by_batch = _run(
        weights, {**call, "input": call["input"].swapaxes(0, 1)}, rnn_mode, time_major=False
    )
    assert by_batch.output.numpy().swapaxes(0, 1).tobytes() == whole.output.numpy().tobytes()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("mode", MODES)
def test_a_row_that_is_not_finite_is_nan_alone(mode, value, rng):
    rnn_mode, size, weights = _weights(rng, mode, 10, 20)
    call = _calls(rng, size, 20, 3, 6, 10)
    clean = _run(weights, call, rnn_mode)
    call["input"][1, 2, 3] = value
    call["input_h"][4, 0] = value
    got = _run(weights, call, rnn_mode)
    others = [0, 1, 3, 5]
    assert got.output.numpy()[:, others].tobytes() == clean.output.numpy()[:, others].tobytes()
    assert got.output.numpy()[0, 2].tobytes() == clean.output.numpy()[0, 2].tobytes()
    if rnn_mode != "rnn_relu":  # max(NaN, 0) may be 0
        assert np.isnan(got.output.numpy()[1, 2]).all() and np.isnan(got.output.numpy()[0, 4]).all()


def test_rows_of_zeros_and_tiny_rows(rng):
    rnn_mode, size, weights = _weights(rng, "rnn", 8, 9, bias=False)
    call = _calls(rng, size, 9, 1, 3, 8)
    call["input_h"][:] = 0
    call["input"][0, 0] = 0
    call["input"][0, 1] = 1e-38
    call["input"][0, 2] *= 1e-30
    got = _run(weights, call, rnn_mode, activation="linear").output.numpy()[0]
    assert not got[:2].any()
    given = _of_reference(weights)
    (want,), _ = quantized.step("rnn", call["input"][0], [call["input_h"]], given, "linear")
    np.testing.assert_allclose(got[2], want[2], rtol=1e-5)


def _linear_steps(x, weights):
    """One step of a layer without activation, from h = 0: the op's, the plain ops' and the reference's."""
    batch, units = len(x), weights["recurrent_kernel"].shape[1]
    call = {"input": x[None], "input_h": np.zeros((batch, units), np.float32)}
    call["input_c"] = np.float32(0)
    for packed in (True, False):
        yield _run(weights, call, "rnn", packed=packed, activation="linear").output.numpy()[0]
    yield plain.quantized_layer_rnn("rnn", **call, **weights, activation="linear").output.numpy()[0]
    given = _of_reference(weights)
    (want,), _ = quantized.step("rnn", x, [call["input_h"]], given, "linear")
    yield want


# Tiles of one to several rows, and more rows than a tile has.
@pytest.mark.parametrize("batch", [1, 2, 3, 5, 17])
@pytest.mark.parametrize("largest", [1e20, 1e35, 3e38])
def test_a_sum_of_zero_is_zero_with_any_scale(batch, largest, rng):
    """The factor of the row times the scale of the column overflows; their products with the sum do not."""
    _, _, weights = _weights(rng, "rnn", 12, 37, bias=False)
    weights["kernel"][:, ::2] = 0
    weights["kernel_scale"][::2] = 1e21
    weights["kernel_scale"][1::2] = 1e-5
    x = (rng.choice([-1, 1], size=(batch, 12)) * largest).astype(np.float32)
    *found, want = _linear_steps(x, weights)
    assert np.isfinite(want).all() and not want[:, ::2].any() and want[:, 1::2].any()
    for got in found:
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_the_smallest_row_that_does_not_count_as_zeros(rng):
    """max|r| / 127 is the smallest normal number."""
    smallest = np.float32(127 * 2.0**-126)
    _, _, weights = _weights(rng, "rnn", 5, 19, bias=False)
    weights["kernel"][:] = 127
    weights["kernel_scale"][:] = 1e30
    rows = [smallest, np.nextafter(smallest, np.float32(1)), smallest * 2]
    rows += [np.nextafter(smallest, np.float32(0)), np.float32(1.4e-36), np.float32(8e-37)]
    x = np.outer(rows, np.ones(5)).astype(np.float32)
    *found, want = _linear_steps(x, weights)
    assert (want[:3] > 9e-4).all() and not want[3:].any()
    for got in found:
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_the_smallest_column_that_does_not_count_as_zeros(rng):
    """Its scale, max|w| / 127, is the smallest normal number."""
    smallest = np.float32(2.0**-126)
    scales = [smallest, 2 * smallest, np.nextafter(smallest, np.float32(0)), smallest / 100]
    _, _, weights = _weights(rng, "rnn", 5, len(scales), bias=False)
    weights["kernel"][:], weights["kernel_scale"][:] = 127, scales
    x = np.full((3, 5), 1e30, np.float32)
    want = 127 * 5 * 1e30 * np.float64(scales)
    want[2:] = 0
    for got in list(_linear_steps(x, weights))[:2]:
        np.testing.assert_allclose(got, np.tile(want, (3, 1)), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("mode", MODES)
def test_16_bits(mode, dtype, rng):
    """The op computes in float32 on the widened tensors and rounds the results once."""
    rnn_mode, size, weights = _weights(rng, mode, 12, 21)
    weights["bias"] = tf.cast(tf.cast(weights["bias"], dtype), tf.float32).numpy()
    call = _calls(rng, size, 21, 4, 5, 12)
    call = {
        name: tf.cast(tf.cast(value, dtype), tf.float32).numpy() for name, value in call.items()
    }
    want = _run(weights, call, rnn_mode)
    for packed in (True, False):
        got = _run(weights, call, rnn_mode, dtype, packed=packed)
        for name, tensor in got._asdict().items():
            rounded = tf.cast(getattr(want, name), dtype)
            assert tensor.dtype == dtype
            assert tensor.numpy().tobytes() == rounded.numpy().tobytes(), name


def test_extreme_integers(rng):
    """-128 is a weight, too; sums of the largest products do not saturate."""
    inputs, units = 1000, 8
    _, _, weights = _weights(rng, "rnn", inputs, units, bias=False)
    weights["kernel"][:, ::2] = -128
    weights["kernel"][:, 1::2] = 127
    call = _calls(rng, units, units, 1, 4, inputs)
    call["input"][0] = np.sign(call["input"][0])
    call["input"][0, 0] = 1
    call["input_h"][:] = 0
    got = _run(weights, call, "rnn", activation="linear").output.numpy()[0]
    exact = call["input"][0].astype(np.int64) @ weights["kernel"].astype(np.int64)
    np.testing.assert_allclose(got, exact * weights["kernel_scale"].astype(np.float64), rtol=1e-6)


def _bad(rng, **changes):
    rnn_mode, size, weights = _weights(rng, "lstmp", 4, 6)
    call = _calls(rng, size, 6, 2, 3, 4)
    return {**weights, **call, **changes}, rnn_mode


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel_scale": np.ones(23, np.float32)}, "kernel_scale must have shape"),
        ({"recurrent_kernel_scale": np.ones((24, 1), np.float32)}, "recurrent_kernel_scale must"),
        ({"projection_scale": None}, "projection_scale must have a scale for each column"),
        ({"projection": None}, "projection_scale must have a scale for each column"),
        ({"kernel": np.ones((5, 24), np.int8)}, "must have shape"),
        ({"sequence_lengths": np.array([1, 2, 3], np.int32)}, "sequence_lengths"),
    ],
)
def test_bad_inputs(changes, message, rng):
    given, rnn_mode = _bad(rng, **changes)
    call = {name: given.pop(name) for name in list(given) if name not in WEIGHTS}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        _run(given, call, rnn_mode)


def test_too_many_rows(rng):
    rnn_mode, size, weights = _weights(rng, "rnn_tanh", 132105, 1)
    call = _calls(rng, size, 1, 1, 1, 132105)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="kernel must have at most 132104 rows"
    ):
        _run(weights, call, rnn_mode)


def test_packed_of_another_layer(rng):
    rnn_mode, size, weights = _weights(rng, "lstm", 4, 6)
    _, _, other = _weights(rng, "lstm", 5, 6)
    call = _calls(rng, size, 6, 2, 3, 4)
    given = {name: value for name, value in weights.items() if value is not None}
    other = {name: value for name, value in other.items() if value is not None}
    packed = raw_ops.PackQuantizedLayerRNN(**other)
    with pytest.raises(tf.errors.InvalidArgumentError, match="packed"):
        raw_ops.QuantizedLayerRNN(**call, **given, packed=packed)
    # The packed weights of a float layer are for other kernels: the op packs its own.
    scales = {name: given[name] * given[f"{name}_scale"] for name in ("kernel", "recurrent_kernel")}
    floats = raw_ops.PackLayerRNN(**scales, bias=given["bias"])
    got = raw_ops.QuantizedLayerRNN(**call, **given, packed=floats)
    assert _bytes(got) == _bytes(_run(weights, call, rnn_mode))


def test_kept_weights_are_of_these_weights(rng):
    rnn_mode, size, weights = _weights(rng, "lstm", 4, 6)
    given = {name: tf.constant(value) for name, value in weights.items() if value is not None}
    first = raw_ops.PackQuantizedLayerRNN(**given, keep=True)
    assert (
        raw_ops.PackQuantizedLayerRNN(**given, keep=True).numpy().tobytes()
        == first.numpy().tobytes()
    )
    changed = {**given, "kernel_scale": given["kernel_scale"] * 2}
    assert (
        raw_ops.PackQuantizedLayerRNN(**changed, keep=True).numpy().tobytes()
        != first.numpy().tobytes()
    )


def test_a_gradient_is_an_error(rng):
    rnn_mode, size, weights = _weights(rng, "lstm", 4, 6)
    call = {name: tf.constant(value) for name, value in _calls(rng, size, 6, 2, 3, 4).items()}
    with tf.GradientTape() as tape:
        tape.watch(call["input"])
        output = _run(weights, call, rnn_mode).output
    with pytest.raises(LookupError, match="An op with int8 weights has no gradient"):
        tape.gradient(output, call["input"])
