"""Second derivatives where sizes change from call to call, are 0, or are not known in a graph."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import forwardprop

import tf_rnn_ops
from support import cases, layer_cases, layer_ops, tf_ops
from support.reference.spec import RnnSpec
from support.selection import all_but

ops = tf_rnn_ops.raw_ops
T, B, I, H = 3, 2, 3, 4  # noqa: E741
# Inputs that are not numbers.
INTEGERS = ("sequence_lengths", "seq_len_max", "seed")


def _block(rng, shape=(T, B, I, H)):
    case = cases.block_case(*shape, rng, "float64", use_peephole=True)
    return tf_ops.block_tensors(case), {"use_peephole": True}, ops.BlockLSTMV2, ("cs", "h")


def _layer(rng, mode, shape=(T, B, I, H)):
    case = layer_cases.layer_case(
        mode, shape, rng, "float64", lengths=None, input_mask=False, recurrent_mask=False
    )
    tensors = {n: t for n, t in layer_ops.tensors(case, True).items() if t.shape != (0,)}
    return tensors, case.attrs(), ops.LayerRNN, ("output", "output_h")


def _stack(rng, shape=(T, B, I, H)):
    steps, batch, inputs, units = shape
    case = cases.rnn_case(
        RnnSpec("lstm", 2, units, inputs, num_proj=2), steps, batch, rng, "float64"
    )
    return (
        tf_ops.rnn_tensors(case).inputs(),
        case.spec.attrs(),
        ops.CudnnRNNV3,
        ("output", "output_h"),
    )


NETWORKS = {
    "BlockLSTMV2": _block,
    "CudnnRNNV3": _stack,
    **{
        mode: lambda rng, mode=mode, **more: _layer(rng, mode, **more)
        for mode in (
            "lstm", "gru", "gru_reset_before", "rnn_tanh", "lstmp", "lstm_layer_norm", "lstm_zoneout",
        )
    },
}  # fmt: skip


def _penalty(network, tensors):
    """The gradients of the squared gradient of the squared outputs, by name."""
    _, attrs, op, outputs = network
    values = {n: t for n, t in tensors.items() if n not in INTEGERS}
    fixed = {n: t for n, t in tensors.items() if n in INTEGERS}
    key = "x" if "x" in values else "input"
    with tf.GradientTape() as outer:
        outer.watch(values)
        with tf.GradientTape() as inner:
            inner.watch(values)
            result = op(**values, **fixed, **attrs)
            loss = tf.add_n([tf.reduce_sum(getattr(result, name) ** 2) for name in outputs])
        squared = tf.reduce_sum(inner.gradient(loss, values[key]) ** 2)
    found = outer.gradient(squared, values)
    return {n: g for n, g in found.items() if g is not None}


def _assert_same(got, want):
    assert got.keys() == want.keys()
    for name in want:
        np.testing.assert_allclose(got[name], want[name], rtol=0, atol=1e-11, err_msg=name)


def _slope(network, tensors, name, direction):
    """The central difference of what _penalty derives."""

    def squared(step):
        changed = {**tensors, name: tensors[name] + step * direction}
        _, attrs, op, outputs = network
        key = "x" if "x" in changed else "input"
        with tf.GradientTape() as tape:
            tape.watch(changed[key])
            result = op(**changed, **attrs)
            loss = tf.add_n([tf.reduce_sum(getattr(result, n) ** 2) for n in outputs])
        return tf.reduce_sum(tape.gradient(loss, changed[key]) ** 2)

    return float((squared(1e-6) - squared(-1e-6)) / 2e-6)


@pytest.mark.parametrize("name", all_but(NETWORKS, "BlockLSTMV2", "gru_reset_before"))
def test_sizes_that_change(name, rng):
    """Networks of other sizes, one after the other."""
    for shape in ((T, B, I, H), (T, B, I, 2 * H), (T + 1, B + 1, I + 2, H)):
        network = NETWORKS[name](rng, shape=shape)
        tensors = network[0]
        found = _penalty(network, tensors)
        key = "w" if "w" in tensors else "params" if "params" in tensors else "recurrent_kernel"
        direction = tf.constant(rng.standard_normal(tensors[key].shape))
        want = _slope(network, tensors, key, direction)
        got = float(tf.reduce_sum(found[key] * direction))
        assert abs(got - want) <= 1e-6 * max(1.0, abs(want)), (shape, got, want)


@pytest.mark.parametrize("name", all_but(NETWORKS, "BlockLSTMV2", "lstm"))
def test_no_steps(name, rng):
    network = NETWORKS[name](rng, shape=(0, B, I, H))
    found = _penalty(network, network[0])
    assert found.keys() == _penalty(NETWORKS[name](rng), NETWORKS[name](rng)[0]).keys()
    for key, gradient in found.items():
        assert gradient.shape == network[0][key].shape
        assert not np.any(gradient)


@pytest.mark.parametrize("name", all_but(NETWORKS, "BlockLSTMV2", "gru"))
def test_an_input_that_a_graph_does_not_know(name, rng):
    """If the shape of one input does not determine a size, the other shapes do."""
    network = NETWORKS[name](rng)
    tensors = network[0]
    want = _penalty(network, tensors)
    # H of a stack with a projection is nowhere else.
    matrices = [n for n, t in tensors.items() if t.shape.rank > 1]
    if name == "CudnnRNNV3":
        matrices.remove("input_c")
    for k, unknown in enumerate(matrices):
        # Only the rank is known, or not even the rank, which tells whether an optional tensor is given.
        known = k % 2 or unknown in ("bias", "projection", "peepholes", "layer_norm")
        shape = [None] * tensors[unknown].shape.rank if known else None
        specs = {
            n: tf.TensorSpec(shape if n == unknown else t.shape, t.dtype)
            for n, t in tensors.items()
        }
        function = tf.function(
            lambda values: _penalty(network, values), input_signature=[specs], autograph=False
        )
        _assert_same(function(tensors), want)


def test_sizes_of_a_block_that_nothing_says(rng):
    network = _block(rng)
    specs = {n: tf.TensorSpec([None] * t.shape.rank, t.dtype) for n, t in network[0].items()}
    function = tf.function(
        lambda values: _penalty(network, values), input_signature=[specs], autograph=False
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="the number of units is not known"):
        function(network[0])


@pytest.mark.parametrize("name", all_but(NETWORKS, "BlockLSTMV2", "lstm"))
def test_functions_that_run_eagerly(name, rng):
    network, empty = (NETWORKS[name](rng, shape=(steps, B, I, H)) for steps in (T, 0))
    want, without_steps = (_penalty(one, one[0]) for one in (network, empty))
    tf.config.run_functions_eagerly(True)
    try:
        _assert_same(_penalty(network, network[0]), want)
        _assert_same(_penalty(empty, empty[0]), without_steps)
    finally:
        tf.config.run_functions_eagerly(False)


@pytest.mark.parametrize(
    "name", all_but(["lstm", "BlockLSTMV2", "CudnnRNNV3", "StatelessCudnnRNNV3"], "lstm")
)
def test_forward_mode_over_many_shapes(name, rng, monkeypatch):
    """Derivatives of more traces than 32, after which TensorFlow does not know the sizes."""
    monkeypatch.setattr(forwardprop, "_TRACE_COUNT_LIMIT", 1)
    for steps, units in ((2, 4), (3, 5), (4, 6)):
        made = NETWORKS[name.removeprefix("Stateless")](rng, shape=(steps, 1, 2, units))
        tensors, attrs, op, outputs = made
        if name.startswith("Stateless"):
            op, attrs = ops.StatelessCudnnRNNV3, {**attrs, "seed": [3, 1]}
        key = "x" if "x" in tensors else "input"
        direction = tf.constant(rng.standard_normal(tensors[key].shape))

        def output(x):
            return getattr(op(**{**tensors, key: x}, **attrs), outputs[0])  # noqa: B023

        with tf.autodiff.ForwardAccumulator(tensors[key], direction) as forward:
            found = forward.jvp(output(tensors[key]))
        sides = [output(tensors[key] + sign * 1e-6 * direction) for sign in (1, -1)]
        np.testing.assert_allclose(found, (sides[0] - sides[1]) / 2e-6, rtol=0, atol=1e-8)
