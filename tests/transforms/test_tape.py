"""Registered gradients: numeric, through tapes, functions with unknown shapes, and some inputs or outputs only."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf

from support import layer_cases, networks, tf_ops
from support.bounds import assert_close
from support.central_differences import assert_gradients
from support.networks import block, layer, stack
from support.reference.spec import RnnSpec
from support.selection import all_but

TYPES = ("bfloat16", "float16", "float32", "float64")
WITHOUT_MASKS = {"input_mask": False, "recurrent_mask": False}
SPECS = (
    RnnSpec("lstm", 2, 17, 5, "bidirectional", num_proj=6),
    RnnSpec("gru", 2, 17, 5, "bidirectional"),
    RnnSpec("rnn_tanh", 2, 17, 5, "bidirectional"),
    RnnSpec("rnn_relu", 2, 17, 5, "bidirectional"),
)
# Functions of rng and of more arguments of support/networks.py.
STACKS = {f"stack {spec}": functools.partial(stack, spec, size=(6, 5)) for spec in SPECS}
LAYERS = {
    f"layer {mode}": functools.partial(layer, mode, size=(6, 5, 5, 17))
    for mode in layer_cases.MODES
}
BLOCKS = {
    f"block {use_peephole}": functools.partial(block, size=(6, 5, 7, 17), use_peephole=use_peephole)
    for use_peephole in (False, True)
}
NETWORKS = {**STACKS, **LAYERS, **BLOCKS}


def _check(network, got, context=""):
    assert_close(network.arrays(got), network.reference(), network.case.dtype, context)


SMALL_SPECS = [
    RnnSpec("lstm", 1, 3, 2),
    RnnSpec("lstm", 2, 3, 2, "bidirectional"),
    RnnSpec("lstm", 2, 3, 3, "bidirectional", "skip_input", 2),
    RnnSpec("gru", 1, 3, 2),
    RnnSpec("gru", 2, 3, 3, "bidirectional", "auto_select"),
    RnnSpec("rnn_tanh", 2, 3, 2, "bidirectional"),
    RnnSpec("rnn_relu", 2, 3, 2, "bidirectional"),
]


# (time_major, is_training)
WAYS = list(itertools.product([True, False], repeat=2))


@pytest.mark.parametrize(
    "case",
    all_but(list(itertools.product(SMALL_SPECS, WAYS)), *zip(SMALL_SPECS, itertools.cycle(WAYS))),
    ids=str,
)
def test_numeric_stack(case, rng):
    spec, (time_major, is_training) = case
    network = stack(spec, rng, (3, 3), lengths=[3, 0, 2], time_major=time_major)
    assert_gradients(functools.partial(network.loss, is_training=is_training), network.values)


GIVEN = {"all": {}, "no masks": WITHOUT_MASKS, "no bias": {"bias": False}}


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(layer_cases.MODES, GIVEN, WAYS)),
        *zip(layer_cases.MODES, itertools.cycle(GIVEN), itertools.cycle(WAYS)),
    ),
    ids=str,
)
def test_numeric_layer(case, rng):
    mode, given, way = case
    check_layer(mode, GIVEN[given], *way, rng)


def check_layer(mode, given, time_major, is_training, rng):
    network = layer(mode, rng, (3, 3, 2, 3), time_major=time_major, lengths=[3, 0, 2], **given)
    assert_gradients(functools.partial(network.loss, is_training=is_training), network.values)


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(layer_cases.WITH_FUNCTIONS, layer_cases.FUNCTIONS, [True, False])),
        *zip(
            layer_cases.WITH_FUNCTIONS,
            itertools.cycle(layer_cases.FUNCTIONS),
            itertools.cycle([True, False]),
        ),
    ),
    ids=str,
)
def test_numeric_layer_with_other_activations(case, rng):
    mode, functions, is_training = case
    check_layer(mode, {"functions": functions}, True, is_training, rng)


# A clip that no c reaches: the gradient, which ignores the clip, is exact.
@pytest.mark.parametrize("cell_clip", [0.0, 100.0])
@pytest.mark.parametrize("seq_len_max", [4, 2, 0])
@pytest.mark.parametrize("use_peephole", [False, True])
def test_numeric_block_lstm(use_peephole, seq_len_max, cell_clip, rng):
    network = block(rng, seq_len_max=seq_len_max, use_peephole=use_peephole, cell_clip=cell_clip)
    assert_gradients(network.loss, network.values)


@pytest.mark.parametrize("name", NETWORKS)
def test_registered_gradient_equals_the_reference(name, rng):
    """Also of inference, whose gradient recomputes, without dropout."""
    for dtype in TYPES[2:]:
        for time_major in (True, False)[: 1 if name in BLOCKS else 2]:
            given = {} if name in BLOCKS else {"time_major": time_major}
            network = NETWORKS[name](rng, dtype=dtype, **given)
            _check(network, network.gradients(network.values), name)
            if name in BLOCKS:
                continue
            attrs = {"dropout": 0.8} if name in STACKS else {}
            _check(network, network.gradients(network.values, is_training=False, **attrs), name)


# Each type with dropout and without.
DROPPED = [(dtype, dropout) for dropout in (0.0, 0.5) for dtype in TYPES]


@pytest.mark.parametrize(
    "case",
    all_but(list(itertools.product(NETWORKS, DROPPED)), *zip(NETWORKS, itertools.cycle(DROPPED))),
    ids=str,
)
def test_second_gradient_on_a_persistent_tape_equals_the_first(case, rng):
    name, (dtype, dropout) = case
    attrs = {"dropout": dropout} if name in STACKS else {}
    # Masks switch the layer between two kinds of kernels.
    given = WITHOUT_MASKS if name in LAYERS and dropout else {}
    network = NETWORKS[name](rng, dtype=dtype, **given)
    values = network.values
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(values)
        outputs = network.outputs(values, **attrs)
        # Another call of the same kernel must not disturb the first one's reserve space.
        network.call(values, **attrs)
    first, second = (
        tape.gradient(outputs, values, output_gradients=network.upstream) for _ in range(2)
    )
    for key in values:
        # WHY: numpy cannot compare scalars of bfloat16.
        pair = tf_ops.to_float64(first[key]), tf_ops.to_float64(second[key])
        np.testing.assert_array_equal(*pair, err_msg=key)
        assert np.any(pair[0] != 0) or key.startswith("wc"), key


@pytest.mark.parametrize("used", ["output", "output_h", "output_c"])
@pytest.mark.parametrize("name", [next(iter(STACKS)), "layer lstm"])
def test_gradients_of_a_single_output(name, used, rng):
    network = NETWORKS[name](rng)
    with tf.GradientTape() as tape:
        tape.watch(network.values)
        values = network.values
        loss = tf.reduce_sum(network.outputs(values)[used] * network.upstream[used])
    for output, field in network.fields.items():
        if output != used:
            setattr(network.case, field, np.zeros_like(getattr(network.case, field)))
    _check(network, tape.gradient(loss, values), used)


@pytest.mark.parametrize("shape", [[], [7], [2, 3, 4]])
def test_gradient_of_an_ignored_input_c_has_its_shape(shape, rng):
    for name in (list(STACKS)[1], "layer gru"):
        network = NETWORKS[name](rng)
        grads = network.gradients({**network.values, "input_c": tf.ones(shape, tf.float64)})
        np.testing.assert_array_equal(grads["input_c"], np.zeros(shape))


def test_lengths_masks_and_an_absent_bias_have_no_gradient(rng):
    for mode in layer_cases.MODES:
        network = layer(mode, rng, bias=False)
        masks = {n: network.tensors[n] for n in ("input_mask", "recurrent_mask")}
        with tf.GradientTape() as tape:
            tape.watch(masks)
            output = network.call(masks).output
        assert tape.gradient(output, masks) == dict.fromkeys(masks)
        bias = {"bias": network.tensors["bias"]}
        assert network.gradients({**network.values, **bias})["bias"].shape == [0]


def test_gradient_of_one_variable(rng):
    network = NETWORKS[list(STACKS)[1]](rng)
    params = tf.Variable(network.tensors["params"])
    with tf.GradientTape() as tape:
        loss = network.loss({"params": params})
    got = network.arrays({"params": tape.gradient(loss, params)})
    assert_close(got, {"params_grad": network.reference()["params_grad"]}, "float64")


def _signature(tensors, how):
    if how == "unknown ranks":
        return {n: tf.TensorSpec(None, t.dtype) for n, t in tensors.items()}
    return {n: tf.TensorSpec([None] * t.shape.rank, t.dtype) for n, t in tensors.items()}


# (how, is_training)
UNKNOWN = list(itertools.product(["unknown dimensions", "unknown ranks"], [True, False]))


@pytest.mark.parametrize(
    "case",
    all_but(list(itertools.product(NETWORKS, UNKNOWN)), *zip(NETWORKS, itertools.cycle(UNKNOWN))),
    ids=str,
)
def test_function_with_unknown_shapes(case, rng):
    name, (how, is_training) = case
    sizes = [(3, 4)] if name in STACKS else [(3, 4, 2, 7), (2, 1, 9, 4)]
    problems = [NETWORKS[name](rng), *(NETWORKS[name](rng, size=size) for size in sizes)]
    if name in LAYERS and how == "unknown ranks":
        # The same graph serves calls with and without the optional tensors.
        given = {"bias": False, "lengths": None, **WITHOUT_MASKS}
        problems.append(NETWORKS[name](rng, size=(2, 1, 9, 4), **given))
    attrs = {} if name in BLOCKS else {"is_training": is_training}
    first = problems[0]
    names = [n for n in first.tensors if n not in networks.FIXED]

    def gradients(tensors, upstream):
        values = {n: tensors[n] for n in names}
        with tf.GradientTape() as tape:
            tape.watch(values)
            outputs = first.outputs({**tensors, **values}, **attrs)
        return tape.gradient(outputs, values, output_gradients=upstream)

    signature = [_signature(part, how) for part in (first.tensors, first.upstream)]
    function = tf.function(gradients, input_signature=signature)
    for network in problems:
        grads = function(network.tensors, network.upstream)
        _check(network, {n: grads[n] for n in network.values}, f"{how} {network.case}")


def test_gradients_inside_a_while_loop(rng):
    """A loop keeps every iteration's reserve space until its backward iteration."""
    network = stack(RnnSpec("gru", 2, 6, 6, input_mode="skip_input"), rng)
    params = network.tensors["params"]

    def gradient(rounds):
        x = network.tensors["input"]
        with tf.GradientTape() as tape:
            tape.watch(params)
            for _ in rounds:
                x = network.call({"input": x, "params": params}).output
            total = tf.reduce_sum(x * network.upstream["output"])
        return tape.gradient(total, params)

    looped = tf.function(lambda: gradient(tf.range(3)))()
    np.testing.assert_allclose(looped, gradient(range(3)), rtol=1e-12, atol=1e-13)
