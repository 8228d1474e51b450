"""Gradients through tapes, functions with unknown shapes and partial sets of outputs and inputs."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, tf_ops
from support.bounds import assert_close
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

SPECS = [
    RnnSpec("lstm", 2, 17, 5, "bidirectional", num_proj=6),
    RnnSpec("gru", 2, 17, 5, "bidirectional"),
    RnnSpec("rnn_tanh", 2, 17, 5, "bidirectional"),
    RnnSpec("rnn_relu", 2, 17, 5, "bidirectional"),
]


def _rnn_values(tensors):
    return {n: t for n, t in tensors.inputs().items() if n != "sequence_lengths"}


def _rnn_gradients(case, values, lengths, upstream, **attrs):
    """Gradients of the registered gradient function as rnn_arrays names them."""
    with tf.GradientTape() as tape:
        tape.watch(values)
        result = ops.CudnnRNNV3(**values, sequence_lengths=lengths, **case.spec.attrs(), **attrs)
        outputs = [result.output, result.output_h, result.output_c]
    return tape.gradient(outputs, values, output_gradients=upstream)


def _as_arrays(case, grads):
    arrays = {f"{n}_backprop": tf_ops.to_float64(g) for n, g in grads.items()}
    if not case.spec.is_lstm:
        assert arrays.pop("input_c_backprop").shape == ()
    return arrays


def _reference_gradients(case):
    arrays = tf_ops.rnn_reference_arrays(case, *case.reference())
    return {name: value for name, value in arrays.items() if name.endswith("_backprop")}


@pytest.mark.each_value
@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_second_gradient_on_a_persistent_tape_equals_the_first(spec, dtype, dropout, rng):
    case = cases.rnn_case(spec, 6, 5, rng, dtype)
    tensors = tf_ops.rnn_tensors(case)
    values = _rnn_values(tensors)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(values)
        result = ops.CudnnRNNV3(
            **values, sequence_lengths=tensors.sequence_lengths, **spec.attrs(), dropout=dropout
        )
        # Another call of the same kernel must not disturb the first one's reserve space.
        ops.CudnnRNNV3(
            **values, sequence_lengths=tensors.sequence_lengths, **spec.attrs(), dropout=dropout
        )
    outputs = [result.output, result.output_h, result.output_c]
    upstream = [tensors.dy, tensors.dh, tensors.dc]
    first, second = (tape.gradient(outputs, values, output_gradients=upstream) for _ in range(2))
    for name in values:
        # WHY: numpy cannot compare scalars of bfloat16.
        pair = tf_ops.to_float64(first[name]), tf_ops.to_float64(second[name])
        np.testing.assert_array_equal(*pair, err_msg=name)


@pytest.mark.parametrize("use_peephole", [False, True])
def test_second_block_lstm_gradient_equals_the_first(use_peephole, rng):
    case = cases.block_case(6, 5, 7, 17, rng, "float32", use_peephole=use_peephole)
    values = tf_ops.block_tensors(case)
    length = values.pop("seq_len_max")
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(values)
        result = ops.BlockLSTMV2(seq_len_max=length, **values, use_peephole=use_peephole)
    first, second = (tape.gradient([result.cs, result.h], values) for _ in range(2))
    for name in values:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_registered_gradient_equals_the_reference(spec, rng):
    for dtype in ("float32", "float64"):
        case = cases.rnn_case(spec, 6, 5, rng, dtype)
        tensors = tf_ops.rnn_tensors(case)
        upstream = [tensors.dy, tensors.dh, tensors.dc]
        grads = _rnn_gradients(case, _rnn_values(tensors), tensors.sequence_lengths, upstream)
        assert_close(_as_arrays(case, grads), _reference_gradients(case), dtype, str(spec))


@pytest.mark.parametrize("dropout", [0.0, 0.8])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_gradients_at_inference(spec, dropout, rng):
    """is_training=False: the backward pass recomputes, and dropout is the identity in it too."""
    case = cases.rnn_case(spec, 6, 5, rng)
    tensors = tf_ops.rnn_tensors(case)
    upstream = [tensors.dy, tensors.dh, tensors.dc]
    grads = _rnn_gradients(
        case,
        _rnn_values(tensors),
        tensors.sequence_lengths,
        upstream,
        is_training=False,
        dropout=dropout,
    )
    assert_close(_as_arrays(case, grads), _reference_gradients(case), "float64", str(spec))


@pytest.mark.parametrize("used", ["output", "output_h", "output_c"])
def test_gradients_of_a_single_output(used, rng):
    case = cases.rnn_case(SPECS[0], 6, 5, rng)
    tensors = tf_ops.rnn_tensors(case)
    values = _rnn_values(tensors)
    with tf.GradientTape() as tape:
        tape.watch(values)
        result = ops.CudnnRNNV3(
            **values, sequence_lengths=tensors.sequence_lengths, **case.spec.attrs()
        )
        upstream = {"output": tensors.dy, "output_h": tensors.dh, "output_c": tensors.dc}[used]
        loss = tf.reduce_sum(getattr(result, used) * upstream)
    grads = tape.gradient(loss, values)
    for name in ("output", "output_h", "output_c"):
        if name != used:
            attribute = {"output": "dy", "output_h": "dh", "output_c": "dc"}[name]
            setattr(case, attribute, np.zeros_like(getattr(case, attribute)))
    assert_close(_as_arrays(case, grads), _reference_gradients(case), "float64", used)


@pytest.mark.parametrize("shape", [[], [7], [2, 3, 4]])
def test_gradient_of_an_ignored_input_c_has_its_shape(shape, rng):
    case = cases.rnn_case(SPECS[1], 6, 5, rng)
    tensors = tf_ops.rnn_tensors(case)
    values = {**_rnn_values(tensors), "input_c": tf.ones(shape, tf.float64)}
    upstream = [tensors.dy, tensors.dh, tensors.dc]
    grads = _rnn_gradients(case, values, tensors.sequence_lengths, upstream)
    np.testing.assert_array_equal(grads["input_c"], np.zeros(shape))


def test_gradient_of_one_variable(rng):
    case = cases.rnn_case(SPECS[1], 6, 5, rng)
    tensors = tf_ops.rnn_tensors(case)
    params = tf.Variable(tensors.params)
    with tf.GradientTape() as tape:
        result = ops.CudnnRNNV3(**{**tensors.inputs(), "params": params}, **case.spec.attrs())
        loss = tf.reduce_sum(result.output * tensors.dy) + tf.reduce_sum(
            result.output_h * tensors.dh
        )
    got = {"params_backprop": tf_ops.to_float64(tape.gradient(loss, params))}
    want = {"params_backprop": _reference_gradients(case)["params_backprop"]}
    assert_close(got, want, "float64")


def _signature(values, how):
    if how == "unknown ranks":
        return {n: tf.TensorSpec(None, t.dtype) for n, t in values.items()}
    return {n: tf.TensorSpec([None] * t.shape.rank, t.dtype) for n, t in values.items()}


@pytest.mark.each_value
@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("how", ["unknown dimensions", "unknown ranks"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_function_with_unknown_shapes(spec, how, is_training, rng):
    case = cases.rnn_case(spec, 6, 5, rng)
    other = cases.rnn_case(spec, 3, 4, rng)

    def gradients(inputs, upstream):
        values = {n: t for n, t in inputs.items() if n != "sequence_lengths"}
        return _rnn_gradients(
            case,
            values,
            inputs["sequence_lengths"],
            list(upstream.values()),
            is_training=is_training,
        )

    def arguments(case):
        tensors = tf_ops.rnn_tensors(case)
        return tensors.inputs(), {"dy": tensors.dy, "dh": tensors.dh, "dc": tensors.dc}

    inputs, upstream = arguments(case)
    function = tf.function(
        gradients, input_signature=[_signature(inputs, how), _signature(upstream, how)]
    )
    for problem in (case, other):
        grads = function(*arguments(problem))
        assert_close(_as_arrays(problem, grads), _reference_gradients(problem), "float64", how)


@pytest.mark.parametrize("how", ["unknown dimensions", "unknown ranks"])
def test_block_lstm_function_with_unknown_shapes(how, rng):
    problems = [cases.block_case(*s, rng, use_peephole=True) for s in ((5, 3, 4, 6), (2, 1, 7, 9))]

    def gradients(inputs, upstream):
        values = {n: t for n, t in inputs.items() if n != "seq_len_max"}
        with tf.GradientTape() as tape:
            tape.watch(values)
            result = ops.BlockLSTMV2(seq_len_max=inputs["seq_len_max"], **values, use_peephole=True)
        return tape.gradient(
            [result.cs, result.h], values, output_gradients=list(upstream.values())
        )

    def arguments(case):
        upstream = {"cs": tf.constant(case.cs_grad), "h": tf.constant(case.h_grad)}
        return tf_ops.block_tensors(case), upstream

    function = tf.function(
        gradients, input_signature=[_signature(part, how) for part in arguments(problems[0])]
    )
    for case in problems:
        _, want = case.reference()
        got = {f"{n}_grad": tf_ops.to_float64(g) for n, g in function(*arguments(case)).items()}
        assert_close(got, {f"{n}_grad": g for n, g in want.items()}, "float64", how)


def test_gradients_inside_a_while_loop(rng):
    """A loop keeps every iteration's reserve space until its backward iteration."""
    case = cases.rnn_case(RnnSpec("gru", 2, 6, 6, input_mode="skip_input"), 4, 3, rng)
    tensors = tf_ops.rnn_tensors(case)

    def run(params, rounds):
        x = tensors.input
        for _ in rounds:
            x = ops.CudnnRNNV3(
                input=x,
                input_h=tensors.input_h,
                input_c=tensors.input_c,
                params=params,
                sequence_lengths=tensors.sequence_lengths,
                **case.spec.attrs(),
            ).output
        with_weights = x * tensors.dy
        return tf.reduce_sum(with_weights)

    def gradient(rounds):
        with tf.GradientTape() as tape:
            tape.watch(tensors.params)
            total = run(tensors.params, rounds)
        return tape.gradient(total, tensors.params)

    looped = tf.function(lambda: gradient(tf.range(3)))()
    np.testing.assert_allclose(looped, gradient(range(3)), rtol=1e-12, atol=1e-13)
