"""Second derivatives of the ops: against central differences of their gradients, torch's double backward, in
16-bit types against float32, and where sizes change from call to call, are 0, or are not known in a graph."""

import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import forwardprop

import tf_rnn_ops
from support import cases, layer_cases, tf_ops
from support.networks import block, layer, stack
from support.reference import rounding
from support.reference.spec import RnnSpec
from support.second_order import assert_slopes, second
from support.selection import all_but
from tf_rnn_ops.autodiff import second_gradients
from tf_rnn_ops.plain.recurrence import Loops

ops = tf_rnn_ops.raw_ops

SPECS = [
    RnnSpec("lstm", 2, 4, 3, num_proj=2),
    RnnSpec("lstm", 1, 3, 3, input_mode="skip_input"),
    RnnSpec("gru", 1, 4, 3, "bidirectional"),
    RnnSpec("rnn_tanh", 2, 4, 4, input_mode="auto_select"),
    RnnSpec("rnn_relu", 1, 4, 3),
]


def _first(network, tensors, **attrs):
    """The gradients for a dict of inputs and, as "d OUTPUT", of upstream gradients."""
    upstream = {n: tensors[f"d {n}"] for n in network.upstream}
    return network.gradients({n: tensors[n] for n in network.values}, upstream, **attrs)


def _point(network):
    return {**network.values, **{f"d {n}": t for n, t in network.upstream.items()}}


def _check(network, rng, run=lambda function: function, **attrs):
    """The derivatives of a weighted sum of the gradients, for all inputs and upstream gradients.

    `run` makes of a function the one that is called.
    """
    point = _point(network)
    factors = {n: rng.standard_normal(t.shape) for n, t in network.values.items()}

    def total(arrays):
        values = {n: tf.constant(a) for n, a in arrays.items()}
        found = run(functools.partial(_first, network, **attrs))(values)
        return sum(float(tf.reduce_sum(found[n] * f)) for n, f in factors.items())

    got = run(lambda point: second(functools.partial(_first, network, **attrs), point, factors))
    arrays = {n: t.numpy() for n, t in point.items()}
    assert_slopes(got(point), total, arrays, rng)


@pytest.mark.parametrize("spec", all_but(SPECS, *SPECS[:2]), ids=str)
def test_cudnn_rnn(spec, rng):
    _check(stack(spec, rng, lengths=[4, 0, 2]), rng)


@pytest.fixture
def tensorflow_loops(monkeypatch):
    """Loops over time as where TensorFlow sees a GPU."""
    monkeypatch.setattr(second_gradients, "_loops", Loops)
    second_gradients._function.cache_clear()
    yield
    second_gradients._function.cache_clear()


@pytest.mark.parametrize("spec", SPECS[1:3], ids=str)
def test_without_kernels(spec, tensorflow_loops, rng):
    test_cudnn_rnn(spec, rng)


def _in_a_function(function):
    return tf.function(function, autograph=False)


def test_batch_major_in_a_function_at_inference(rng):
    network = stack(RnnSpec("gru", 1, 4, 3), rng, lengths=[4, 0, 2], time_major=False)
    _check(network, rng, _in_a_function, is_training=False)


def test_dropout(rng):
    """A function has kernels of its own, so its first call draws what the first call of any other draws."""
    network = stack(RnnSpec("rnn_tanh", 3, 5, 3), rng, lengths=[4, 0, 2])
    plain = network.gradients(network.values)["params"]
    dropped = network.gradients(network.values, dropout=0.4, seed=21)["params"]
    assert np.any(plain != dropped)
    _check(network, rng, _in_a_function, dropout=0.4, seed=21)


# Each cell with one or two pairs of functions, each pair with two or three cells; all of them are
# differentiated once in tests/transforms.
@pytest.mark.parametrize(
    "mode, functions",
    [
        pytest.param(
            mode,
            functions,
            id="-".join((mode, *functions)),
            marks=[pytest.mark.thorough] * bool(at),
        )
        for at, mode in enumerate(layer_cases.WITH_FUNCTIONS)
        for k, functions in enumerate(layer_cases.FUNCTIONS)
        if (k - at) % 3 == 0
    ],
)
def test_layer_rnn_with_other_activations(mode, functions, rng):
    test_layer_rnn(mode, rng, functions=functions)


@pytest.mark.parametrize(
    "mode", all_but(layer_cases.MODES, "lstm", "gru_reset_before", "lstm_layer_norm")
)
def test_layer_rnn(mode, rng, **given):
    if mode == "rnn_relu":
        given |= {"bias": False, "lengths": None, "input_mask": False}
    else:
        given["lengths"] = np.array([3, 0, 4, 1])
    if mode == "lstmp":
        given["clips"] = (0.5, 0.75)  # with any activation some values reach them, others do not
    _check(layer(mode, rng, (4, 4, 3, 5), **given), rng)


@pytest.mark.parametrize("use_peephole", [False, True])
def test_block_lstm(use_peephole, rng):
    network = block(rng, seq_len_max=3, use_peephole=use_peephole)
    if not use_peephole:
        network.fixed = ("wci", "wcf", "wco")  # nothing depends on them
    _check(network, rng)


@pytest.mark.parametrize("spec", [RnnSpec("lstm", 1, 4, 3), RnnSpec("gru", 1, 4, 3)], ids=str)
def test_torch(spec, rng):
    pytest.importorskip("torch")
    from ops.parity import torch_rnn

    network = stack(spec, rng, (5, 3), lengths="full")
    cotangents = {n: rng.standard_normal(t.shape) for n, t in network.values.items()}
    want = torch_rnn.second_order(network.case, cotangents)
    got = second(functools.partial(_first, network), _point(network), cotangents)
    got |= {field: got[f"d {n}"] for n, field in network.fields.items() if f"d {n}" in got}
    for name, array in want.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-10, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_types(dtype, rng):
    """Inputs that are exact in the type: what is left is the rounding of states and results."""
    network = stack(RnnSpec("lstm", 1, 4, 3), rng, dtype=dtype)
    cotangents = {n: np.ones(t.shape) for n, t in network.values.items()}
    found = {}
    for kind in (dtype, "float32"):
        tensors = {
            n: t if t.dtype == tf.int32 else tf.cast(t, kind) for n, t in network.tensors.items()
        }
        upstream = {n: tf.cast(t, kind) for n, t in network.upstream.items()}
        as_kind = dataclasses.replace(network, tensors=tensors, upstream=upstream)
        found[kind] = second(functools.partial(_first, as_kind), _point(as_kind), cotangents)
    eps = rounding.eps(dtype)
    for name, want in found["float32"].items():
        got = found[dtype][name]
        assert got.dtype == dtype
        error = np.max(np.abs(tf_ops.to_float64(got) - want)) / np.max(np.abs(want))
        assert error < 4 * eps, (name, error / eps)


def test_third_order(rng):
    """Twice through the ordinary ops, against differences of the second."""
    network = stack(RnnSpec("gru", 1, 3, 2), rng, lengths=[4, 0, 2])

    def penalty(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = _first(network, {**_point(network), "input": x})
            total = tf.reduce_sum(found["input"] ** 3)
        return tape.gradient(total, x)

    run = tf.function(penalty, autograph=False)
    x = network.tensors["input"]
    direction = tf.constant(rng.standard_normal(x.shape))
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(run(x) * direction)
    assert_slopes(
        {"input": tape.gradient(total, x)},
        lambda a: float(tf.reduce_sum(run(tf.constant(a["input"])) * direction)),
        {"input": x.numpy()},
        rng,
    )


def test_derivative_with_respect_to_a_result_is_refused(rng):
    case = cases.rnn_case(SPECS[2], 4, 3, rng)
    result = tf_ops.rnn_forward(ops, case)
    for name in ("output", "reserve_space"):
        source = getattr(result, name)
        with tf.GradientTape() as tape:
            tape.watch(source)
            first = tf_ops.rnn_backward(ops, case, result)
        with pytest.raises(tf.errors.InvalidArgumentError, match="results of the forward op"):
            tape.gradient(first.input_backprop, source)


# ---- Sizes ----

T, B, I, H = 3, 2, 3, 4  # noqa: E741


def _stack_of(rng, size=(T, B, I, H)):
    steps, batch, inputs, units = size
    return stack(RnnSpec("lstm", 2, units, inputs, num_proj=2), rng, (steps, batch))


def _layer_of(mode):
    without = {"lengths": None, "input_mask": False, "recurrent_mask": False}
    return lambda rng, size=(T, B, I, H): layer(mode, rng, size, **without)


NETWORKS = {
    "BlockLSTMV2": lambda rng, size=(T, B, I, H): block(rng, size, use_peephole=True),
    "CudnnRNNV3": _stack_of,
    **{
        mode: _layer_of(mode)
        for mode in (
            "lstm", "gru", "gru_reset_before", "rnn_tanh", "lstmp", "lstm_layer_norm", "lstm_zoneout",
        )
    },
}  # fmt: skip


def _penalty(network, tensors=None):
    """The gradients of the squared gradient of the squared outputs, by name."""
    tensors = network.tensors if tensors is None else tensors
    values = {n: tensors[n] for n in network.values}
    key = next(n for n in ("x", "input") if n in values)
    with tf.GradientTape() as outer:
        outer.watch(values)
        with tf.GradientTape() as inner:
            inner.watch(values)
            outputs = list(network.outputs({**tensors, **values}).values())[:2]
            loss = tf.add_n([tf.reduce_sum(output**2) for output in outputs])
        squared = tf.reduce_sum(inner.gradient(loss, values[key]) ** 2)
    found = outer.gradient(squared, values)
    return {n: g for n, g in found.items() if g is not None}


def _assert_same(got, want):
    assert got.keys() == want.keys()
    for name in want:
        np.testing.assert_allclose(got[name], want[name], rtol=0, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("name", all_but(NETWORKS, "BlockLSTMV2", "gru_reset_before"))
def test_sizes_that_change(name, rng):
    """Networks of other sizes, one after the other."""
    for size in ((T, B, I, H), (T, B, I, 2 * H), (T + 1, B + 1, I + 2, H)):
        _check(NETWORKS[name](rng, size), rng)


@pytest.mark.parametrize("name", all_but(NETWORKS, "BlockLSTMV2", "lstm"))
def test_no_steps(name, rng):
    network = NETWORKS[name](rng, (0, B, I, H))
    found = _penalty(network)
    assert found.keys() == _penalty(NETWORKS[name](rng)).keys()
    for key, gradient in found.items():
        assert gradient.shape == network.tensors[key].shape
        assert not np.any(gradient)


@pytest.mark.parametrize("name", all_but(NETWORKS, "BlockLSTMV2", "gru"))
def test_an_input_that_a_graph_does_not_know(name, rng):
    """If the shape of one input does not determine a size, the other shapes do."""
    network = NETWORKS[name](rng)
    want = _penalty(network)
    # H of a stack with a projection is nowhere else.
    matrices = [
        n
        for n, t in network.tensors.items()
        if t.shape.rank > 1 and not (name == "CudnnRNNV3" and n == "input_c")
    ]
    for k, unknown in enumerate(matrices):
        # Only the rank is known, or not even the rank, which tells whether an optional tensor is given.
        known = k % 2 or unknown in ("bias", "projection", "peepholes", "layer_norm")
        shape = [None] * network.tensors[unknown].shape.rank if known else None
        function = _of_shapes(network, {unknown: shape})
        _assert_same(function(network.tensors), want)


def _of_shapes(network, shapes):
    """_penalty as a function of all inputs, of which some have other shapes in the graph."""
    specs = {n: tf.TensorSpec(shapes.get(n, t.shape), t.dtype) for n, t in network.tensors.items()}
    return tf.function(
        functools.partial(_penalty, network), input_signature=[specs], autograph=False
    )


@pytest.mark.parametrize(
    ("name", "size"), [("BlockLSTMV2", "number of units"), ("CudnnRNNV3", "number of layers")]
)
def test_sizes_that_nothing_says_are_refused(name, size, rng):
    network = NETWORKS[name](rng)
    shapes = {n: [None] * t.shape.rank for n, t in network.tensors.items()}
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"the {size} is not known"):
        _of_shapes(network, shapes).get_concrete_function()


@pytest.mark.parametrize("name", all_but(NETWORKS, "BlockLSTMV2", "lstm"))
def test_functions_that_run_eagerly(name, rng):
    both = [NETWORKS[name](rng, (steps, B, I, H)) for steps in (T, 0)]
    want = [_penalty(network) for network in both]
    tf.config.run_functions_eagerly(True)
    try:
        for network, found in zip(both, want):
            _assert_same(_penalty(network), found)
    finally:
        tf.config.run_functions_eagerly(False)


@pytest.mark.parametrize(
    "name", all_but(["lstm", "BlockLSTMV2", "CudnnRNNV3", "StatelessCudnnRNNV3"], "lstm")
)
def test_forward_mode_over_many_shapes(name, rng, monkeypatch):
    """Derivatives of more traces than 32, after which TensorFlow does not know the sizes."""
    monkeypatch.setattr(forwardprop, "_TRACE_COUNT_LIMIT", 1)
    for steps, units in ((2, 4), (3, 5), (4, 6)):
        network = NETWORKS[name.removeprefix("Stateless")](rng, (steps, 1, 2, units))
        if name.startswith("Stateless"):
            network.op, network.attrs = name, {**network.attrs, "seed": [3, 1]}
        key = "x" if "x" in network.tensors else "input"
        x = network.tensors[key]
        direction = tf.constant(rng.standard_normal(x.shape))

        def output(x):
            return next(iter(network.outputs({key: x}).values()))  # noqa: B023

        with tf.autodiff.ForwardAccumulator(x, direction) as forward:
            found = forward.jvp(output(x))
        sides = [output(x + sign * 1e-6 * direction) for sign in (1, -1)]
        np.testing.assert_allclose(found, (sides[0] - sides[1]) / 2e-6, rtol=0, atol=1e-8)
