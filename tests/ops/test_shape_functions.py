"""Static shapes at graph construction, with known, partly known and unknown inputs.

The rules are those of the kernels, which tests/cc/core/op tests one by one. support/bad_inputs.py has what graph
construction rejects; here is what it rejects because of a value that it knows.
"""

import collections

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import bad_inputs, calls, cases, layer_cases, layer_ops, tf_ops
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

T, B, I_SIZE, H, P = 5, 3, 4, 6, 2
SIZES = ("num_layers", "num_units", "input_size")
# Shapes that depend on values: on lengths, and on how weights are packed on this machine.
UNKNOWN = ("reserve_space", "packed")


def _placeholder(shape, dtype=tf.float32):
    return tf.compat.v1.placeholder(dtype, shape)


def _static(call, shape_of, constants=()):
    """_shapes() of the results in a graph whose inputs have the shapes shape_of(array)."""
    flat, rebuild = calls.flatten(call)
    with tf.Graph().as_default():
        arrays = [np.asarray(a) for a in flat]
        tensors = rebuild([_placeholder(shape_of(a), a.dtype) for a in arrays])
        result = calls.run(ops, call, {**tensors, **{n: call.tensors[n] for n in constants}})
        return _shapes(result)


def _shapes(result):
    """{(name of the result, number in its list): shape}."""
    if tf.is_tensor(result):
        return {("packed" if result.dtype == tf.uint8 else "", 0): result.shape}
    named = result._asdict().items() if hasattr(result, "_asdict") else enumerate(result)
    return {
        (name, k): t.shape for name, value in named for k, t in enumerate(tf.nest.flatten(value))
    }


@pytest.fixture(scope="module")
def base_calls():
    return bad_inputs.base_calls(ops, np.random.default_rng(5))


def test_known_shapes_are_those_of_the_results(base_calls):
    seen = collections.Counter()
    for call in base_calls:
        sizes = [name for name in SIZES if name in call.tensors]
        got = _static(call, lambda a: a.shape, sizes)
        want = _shapes(calls.run_eagerly(ops, call))
        assert got.keys() == want.keys()
        for key, shape in want.items():
            if key[0] in UNKNOWN and shape.rank:
                assert got[key].as_list() == [None], (call.op, key)
            else:
                assert got[key] == shape, (call.op, key)
        seen[call.op] += 1
    assert len(seen) >= 17


@pytest.mark.parametrize("known", ["rank", "nothing"])
def test_unknown_shapes_are_compatible_with_the_results(known, base_calls):
    for call in base_calls:
        got = _static(call, lambda a: [None] * a.ndim if known == "rank" else None)
        for key, shape in _shapes(calls.run_eagerly(ops, call)).items():
            assert got[key].is_compatible_with(shape), (call.op, key)
            # Only some ranks follow from no shape: the gradient of an optional tensor has its rank.
            if key[0] in ("output", "output_h", "h", "cs", *UNKNOWN):
                assert got[key].rank == shape.rank, (call.op, key)
                assert shape.rank == 0 or None in got[key].as_list(), (call.op, key)


def _stack_shapes(input, input_h, input_c, lengths=(B,), params=(None,), **attrs):
    with tf.Graph().as_default():
        result = ops.CudnnRNNV3(
            input=_placeholder(input),
            input_h=_placeholder(input_h),
            input_c=_placeholder(input_c),
            params=_placeholder(params),
            sequence_lengths=_placeholder(lengths, tf.int32),
            **attrs,
        )
        return [t.shape.as_list() for t in result][:3]


def test_partly_known_stack():
    shapes = _stack_shapes([None, None, I_SIZE], [2, None, H], [2, None, H], lengths=[None])
    assert shapes == [[None, None, H], [2, None, H], [2, None, H]]
    # One input's batch serves for all.
    shapes = _stack_shapes([T, None, I_SIZE], [2, B, H], [None, None, None], lengths=None)
    assert shapes == [[T, B, H], [2, B, H], [2, B, H]]
    shapes = _stack_shapes([B, T, I_SIZE], [B, 2, P], [B, 2, H], num_proj=P, time_major=False)
    assert shapes == [[B, T, P], [B, 2, P], [B, 2, H]]
    for input_c in ([], [None], [2, B, H], None):
        shapes = _stack_shapes([T, B, I_SIZE], [2, B, H], input_c, rnn_mode="gru")
        assert shapes == [[T, B, H], [2, B, H], []]


@pytest.mark.parametrize("name", ["kernel", "recurrent_mask", "projection", "input_h"])
def test_partly_known_layer(name, rng):
    """The shapes that follow from that of only one input, and without it."""
    mode = "lstmp" if name == "projection" else "lstm"
    case = layer_cases.layer_case(mode, (T, B, I_SIZE, H), rng, "float32")
    tensors = layer_ops.tensors(case)

    def output(shape_of):
        with tf.Graph().as_default():
            given = {n: _placeholder(shape_of(n, t.shape), t.dtype) for n, t in tensors.items()}
            return ops.LayerRNN(**given, **case.attrs()).output.shape.as_list()

    only = {"kernel": H, "recurrent_mask": H, "projection": case.hidden, "input_h": H}[name]
    batch = B if name in ("recurrent_mask", "input_h") else None
    # While it is not known whether there is a projection, the size of the output is not either.
    absent = ("projection",) if name != "projection" else ()
    found = output(lambda n, shape: shape if n == name or n in absent else None)
    assert found == [None, batch, only]
    found = output(lambda n, shape: None if n == name else shape)
    assert found == [T, B, None if name == "projection" else H]


def _refused(build, message):
    with (
        tf.Graph().as_default(),
        pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message),
    ):
        build()


def test_lengths_that_are_known_at_construction(rng):
    lengths = tf.constant([T, T + 1, 0])
    stack = tf_ops.rnn_tensors(cases.rnn_case(RnnSpec("gru", 1, H, 4), T, B, rng, "float32"))
    layer = layer_ops.tensors(layer_cases.layer_case("gru", (T, B, I_SIZE, H), rng, "float32"))
    stack = {n: t.numpy() for n, t in stack.inputs().items()}
    layer = {n: t.numpy() for n, t in layer.items()}
    given = {"sequence_lengths": lengths.numpy(), "rnn_mode": "gru"}
    packed = {n: a for n, a in layer.items() if "mask" not in n and n not in ("seed", "peepholes")}
    packed = {n: packed[n] for n in ("input", "input_h", "input_c", "kernel", "recurrent_kernel")}
    none = {"packed": np.zeros([0], np.uint8), "bias": layer["bias"]}
    _refused(lambda: ops.CudnnRNNV3(**{**stack, **given}), "sequence_lengths")
    _refused(lambda: ops.LayerRNN(**{**layer, **given}), "sequence_lengths")
    _refused(lambda: ops.LayerRNNPacked(**{**packed, **none, **given}), "sequence_lengths")


def test_params_ops_with_sizes_known_at_construction():
    sizes = {"num_layers": 2, "num_units": H, "input_size": I_SIZE}
    count = 4 * H * (I_SIZE + H) + 4 * H * (H + H) + 2 * 8 * H

    def to_params(weights=16, bias=H):
        found = {"weights": [_placeholder(None)] * weights, "biases": [_placeholder([bias])] * 16}
        return ops.CudnnRNNCanonicalToParamsV2(**sizes, **found)

    def to_canonical(size=count, weights=16):
        return ops.CudnnRNNParamsToCanonicalV2(
            **sizes, params=_placeholder([size]), num_params_weights=weights, num_params_biases=16
        )

    def size(units, **given):
        given = {"num_layers": 1, "input_size": units or 1, "num_units": units, **given}
        return ops.CudnnRNNParamsSize(**given, T=tf.float32, S=tf.int32)

    _refused(lambda: to_canonical(size=count + 1), rf"params.*{count} .*\[{count + 1}\]")
    _refused(lambda: to_canonical(weights=15), "16 and 16 .* 15 and 16")
    _refused(lambda: to_params(weights=15), "16 and 16 .* 15 and 16")
    _refused(lambda: to_params(bias=H + 1), rf"biases\[0\].*{H} .*\[{H + 1}\]")
    _refused(lambda: size(0), "num_units.*0")
    _refused(lambda: size(40000), "params_size is 12800320000, .*int64")
