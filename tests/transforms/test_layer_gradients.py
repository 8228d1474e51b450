"""The registered gradient of LayerRNN: numeric, through tapes and functions, and a SavedModel."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import layer_ops, load_model, subproc, tf_ops
from support.bounds import assert_close
from support.central_differences import assert_gradients
from support.layer_cases import FUNCTIONS, MODES, WITH_FUNCTIONS, layer_case

ops = tf_rnn_ops.raw_ops

WITHOUT_MASKS = {"input_mask": False, "recurrent_mask": False}
FIXED = ("sequence_lengths", "input_mask", "recurrent_mask", "seed")


def _values(case, time_major=True):
    """(what is differentiated, the other inputs), as keywords of LayerRNN."""
    inputs = layer_ops.tensors(case, time_major)
    constants = {name: inputs.pop(name) for name in FIXED}
    for name in (*layer_ops.OPTIONAL_WEIGHTS, "input_c"):
        if inputs[name].shape.num_elements() == 0 or (name == "input_c" and not case.is_lstm):
            constants[name] = inputs.pop(name)
    return inputs, constants


def _gradients(case, values, constants, upstream, time_major=True, **attrs):
    with tf.GradientTape() as tape:
        tape.watch(values)
        result = ops.LayerRNN(**values, **constants, **case.attrs(), time_major=time_major, **attrs)
    return tape.gradient(list(result[:3]), values, output_gradients=upstream)


def _as_arrays(case, grads, time_major=True):
    named = {f"{name}_backprop": grad for name, grad in grads.items()}
    return layer_ops.arrays(case, named, time_major)


def _want(case):
    return {name: a for name, a in case.reference().items() if name.endswith("_backprop")}


@pytest.mark.each_value
@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("given", [{}, WITHOUT_MASKS, {"bias": False}], ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_numeric(mode, given, time_major, is_training, rng):
    case = layer_case(mode, (3, 3, 2, 3), rng, lengths=[3, 0, 2], **given)
    values, constants = _values(case, time_major)
    dy, dh, dc = layer_ops.upstream(case, time_major)

    def loss(values):
        result = ops.LayerRNN(
            **values, **constants, **case.attrs(), time_major=time_major, is_training=is_training
        )
        return (
            tf.reduce_sum(result.output * dy)
            + tf.reduce_sum(result.output_h * dh)
            + tf.reduce_sum(result.output_c * dc)
        )

    assert_gradients(loss, values)


@pytest.mark.each_value
@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("functions", FUNCTIONS, ids="-".join)
@pytest.mark.parametrize("mode", WITH_FUNCTIONS)
def test_numeric_of_other_activations(mode, functions, is_training, rng):
    test_numeric(mode, {"functions": functions}, True, is_training, rng)


@pytest.mark.parametrize("mode", MODES)
def test_lengths_and_masks_have_no_gradient(mode, rng):
    case = layer_case(mode, (4, 3, 5, 6), rng)
    inputs = layer_ops.tensors(case)
    masks = {name: inputs[name] for name in ("input_mask", "recurrent_mask")}
    with tf.GradientTape() as tape:
        tape.watch(masks)
        result = ops.LayerRNN(**inputs, **case.attrs())
    assert tape.gradient(result.output, masks) == {name: None for name in masks}


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("given", [{}, WITHOUT_MASKS], ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_second_gradient_on_a_persistent_tape_equals_the_first(mode, given, dtype, rng):
    case = layer_case(mode, (6, 5, 5, 17), rng, dtype, **given)
    values, constants = _values(case)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(values)
        result = ops.LayerRNN(**values, **constants, **case.attrs())
        # Another call of the same kernel must not disturb the first one's reserve space.
        ops.LayerRNN(**values, **constants, **case.attrs())
    outputs, upstream = list(result[:3]), layer_ops.upstream(case)
    first, second = (tape.gradient(outputs, values, output_gradients=upstream) for _ in range(2))
    for name in values:
        pair = tf_ops.to_float64(first[name]), tf_ops.to_float64(second[name])
        np.testing.assert_array_equal(*pair, err_msg=name)
        assert np.any(pair[0] != 0), name


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_registered_gradient_equals_the_reference(mode, is_training, rng):
    for dtype in ("float32", "float64"):
        for time_major in (True, False):
            case = layer_case(mode, (6, 5, 5, 17), rng, dtype)
            upstream = layer_ops.upstream(case, time_major)
            grads = _gradients(
                case,
                *_values(case, time_major),
                upstream,
                time_major,
                is_training=is_training,
            )
            assert_close(_as_arrays(case, grads, time_major), _want(case), dtype, mode)


@pytest.mark.parametrize("used", ["output", "output_h", "output_c"])
def test_gradients_of_a_single_output(used, rng):
    case = layer_case("lstm", (6, 5, 5, 17), rng)
    values, constants = _values(case)
    fields = {"output": "dy", "output_h": "dh", "output_c": "dc"}
    with tf.GradientTape() as tape:
        tape.watch(values)
        result = ops.LayerRNN(**values, **constants)
        loss = tf.reduce_sum(getattr(result, used) * getattr(case, fields.pop(used)))
    grads = tape.gradient(loss, values)
    for field in fields.values():
        setattr(case, field, np.zeros_like(getattr(case, field)))
    assert_close(_as_arrays(case, grads), _want(case), "float64", used)


@pytest.mark.parametrize("shape", [[], [7], [2, 3, 4]])
def test_gradient_of_an_ignored_input_c_has_its_shape(shape, rng):
    case = layer_case("gru", (6, 5, 5, 17), rng)
    values, constants = _values(case)
    del constants["input_c"]
    values["input_c"] = tf.ones(shape, tf.float64)
    grads = _gradients(case, values, constants, layer_ops.upstream(case))
    np.testing.assert_array_equal(grads["input_c"], np.zeros(shape))


def test_gradient_of_an_absent_bias_is_empty(rng):
    case = layer_case("lstm", (6, 5, 5, 17), rng, bias=False)
    values, constants = _values(case)
    values["bias"] = constants.pop("bias")
    grads = _gradients(case, values, constants, layer_ops.upstream(case))
    assert grads["bias"].shape == [0]


def _signature(tensors, how):
    if how == "unknown ranks":
        return {n: tf.TensorSpec(None, t.dtype) for n, t in tensors.items()}
    return {n: tf.TensorSpec([None] * t.shape.rank, t.dtype) for n, t in tensors.items()}


@pytest.mark.each_value
@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("how", ["unknown dimensions", "unknown ranks"])
@pytest.mark.parametrize("mode", MODES)
def test_function_with_unknown_shapes(mode, how, is_training, rng):
    given = [{}, {}]
    if how == "unknown ranks":
        # The same graph serves calls with and without the optional tensors.
        given.append({"bias": False, "lengths": None, **WITHOUT_MASKS})
    problems = [
        layer_case(mode, shape, rng, **optional)
        for shape, optional in zip([(6, 5, 5, 17), (3, 4, 2, 7), (2, 1, 9, 4)], given)
    ]

    def gradients(inputs, upstream):
        values = {n: inputs[n] for n in layer_ops.DIFFERENTIABLE}
        constants = {n: inputs[n] for n in FIXED}
        upstream = list(upstream.values())
        return _gradients(problems[0], values, constants, upstream, is_training=is_training)

    def arguments(case):
        return layer_ops.tensors(case), dict(zip("yhc", layer_ops.upstream(case)))

    signature = [_signature(tensors, how) for tensors in arguments(problems[0])]
    function = tf.function(gradients, input_signature=signature)
    for case in problems:
        grads = function(*arguments(case))
        assert_close(_as_arrays(case, grads), _want(case), "float64", f"{how} {case}")


def _module(mode, values, is_training):
    def forward(values):
        result = ops.LayerRNN(**values, rnn_mode=mode, is_training=is_training)
        return {"output": result.output, "output_h": result.output_h}

    def gradients(values):
        floats = {n: t for n, t in values.items() if n in layer_ops.DIFFERENTIABLE}
        with tf.GradientTape() as tape:
            tape.watch(floats)
            loss = sum(tf.reduce_sum(t) for t in forward({**values, **floats}).values())
        return tape.gradient(loss, floats)

    signature = [_signature(values, "unknown dimensions")]
    module = tf.Module()
    module.layer_forward = tf.function(forward, input_signature=signature)
    module.layer_gradients = tf.function(gradients, input_signature=signature)
    return module


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_saved_model_in_a_fresh_process(mode, is_training, tmp_path, rng):
    values = layer_ops.tensors(layer_case(mode, (5, 4, 3, 7), rng, "float32"))
    module = _module(mode, values, is_training)
    inputs = {f"layer.{name}": tensor.numpy() for name, tensor in values.items()}
    want = load_model.outcomes(module, inputs)
    np.savez(tmp_path / "inputs.npz", **inputs)
    tf.saved_model.save(module, str(tmp_path / "model"))
    subproc.run_module(
        "support.load_model", tmp_path / "model", tmp_path / "inputs.npz", tmp_path / "out.npz"
    )
    with np.load(tmp_path / "out.npz") as got:
        assert set(got.files) == set(want)
        for name in got.files:
            np.testing.assert_array_equal(got[name], want[name], err_msg=name)
    for name in ("kernel", "recurrent_kernel", "bias"):
        outer, inner = want[f"layer.outer.{name}"], want[f"layer.gradients.{name}"]
        np.testing.assert_array_equal(outer, inner)
        assert np.any(outer != 0)
