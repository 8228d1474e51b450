"""TensorFlow's own ops with our kernels against tf_rnn_ops.raw_ops, bit for bit."""

import itertools

import numpy as np
import pytest
import stock_calls
import tensorflow as tf

import tf_rnn_ops
from support import calls, cases, tf_ops
from support.reference import layout
from support.reference.spec import RnnSpec
from support.selection import all_but

ours = tf_rnn_ops.raw_ops
DTYPES = ("bfloat16", "float16", "float32", "float64")
SPECS = (
    RnnSpec("lstm", 2, 7, 3, "bidirectional", num_proj=4),
    RnnSpec("lstm", 2, 6, 6, input_mode="auto_select"),
    RnnSpec("gru", 2, 5, 3, "bidirectional"),
    RnnSpec("rnn_tanh", 1, 6, 2),
    RnnSpec("rnn_relu", 2, 4, 4, input_mode="skip_input"),
)


@pytest.fixture(scope="module", autouse=True)
def stock():
    assert tf_rnn_ops.enable_stock_ops() == list(stock_calls.NAMES)


RESERVE_SPACE = 3  # of a forward op


def same_bits(got, want, forward=False):
    """The same types, shapes and values; of reserve_space type and shape."""
    assert len(got) == len(want)
    for k, (a, b) in enumerate(zip(got, want)):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), k
        # The gaps between its sections are not written; what is read of it shows in the gradients.
        if not (forward and k == RESERVE_SPACE):
            np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=str(k))


@pytest.mark.parametrize(
    "call",
    all_but(
        list(itertools.product(SPECS, DTYPES, [True, False])),
        *zip(SPECS, itertools.cycle(DTYPES), itertools.cycle([True, False])),
    ),
    ids=str,
)
def test_v3(call, rng):
    spec, dtype, time_major = call
    case = cases.rnn_case(spec, 5, 4, rng, dtype)
    attrs = {"time_major": time_major, "dropout": 0.25, "seed": 3, "seed2": 4}
    results = [tf_ops.rnn_forward(ops, case, **attrs) for ops in (tf.raw_ops, ours)]
    same_bits(*results, forward=True)
    grads = [
        tf_ops.rnn_backward(ops, case, result, **attrs)
        for ops, result in zip((tf.raw_ops, ours), results)
    ]
    same_bits(*grads)
    inference = [
        tf_ops.rnn_forward(ops, case, is_training=False, **attrs) for ops in (tf.raw_ops, ours)
    ]
    same_bits(*inference, forward=True)


def _cast(call, dtype):
    call = call.copy()
    for name, value in call.tensors.items():
        if np.asarray(value).dtype == np.float32:
            call.tensors[name] = tf.cast(value, dtype)
    return call


FIRST_SPECS = [spec for spec in SPECS if not spec.num_proj]


@pytest.mark.parametrize(
    "call",
    all_but(
        list(itertools.product(FIRST_SPECS, DTYPES, [1, 2])),
        *zip(FIRST_SPECS, itertools.cycle(DTYPES), itertools.cycle([1, 2])),
    ),
    ids=str,
)
def test_first_versions(call, rng):
    spec, dtype, version = call
    forward, _ = stock_calls.full_length_calls(ours, spec, 5, 4, rng)
    forward = _cast(forward, dtype)
    want = calls.run_eagerly(ours, forward)
    got = calls.run_eagerly(tf.raw_ops, stock_calls.as_version(forward, version))
    same_bits(got[:4], want[:4], forward=True)
    if version == 2:
        assert (got.host_reserved.dtype, got.host_reserved.shape) == (tf.int8, (2,))
    upstream = {
        f"{name}_backprop": tf.ones_like(getattr(want, name)) * tf.cast(0.5, dtype)
        for name in ("output", "output_h", "output_c")
    }
    attrs = {k: v for k, v in forward.attrs.items() if k != "is_training"}
    names = ("output", "output_h", "output_c", "reserve_space", "host_reserved")
    tensors = {**forward.tensors, **{n: getattr(want, n) for n in names}, **upstream}
    backward = calls.Call("CudnnRNNBackpropV3", tensors, attrs)
    same_bits(
        calls.run_eagerly(tf.raw_ops, stock_calls.as_version(backward, version)),
        calls.run_eagerly(ours, backward),
    )


def test_inference_of_v2_has_a_scalar_for_host_reserved(rng):
    forward, _ = stock_calls.full_length_calls(ours, SPECS[2], 5, 4, rng)
    call = stock_calls.as_version(forward.with_attr("is_training", False), 2)
    result = calls.run_eagerly(tf.raw_ops, call)
    assert result.host_reserved.shape == result.reserve_space.shape == ()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_params_ops(spec, dtype, rng):
    size, to_params, to_canonical = calls.params_calls(spec, rng)
    for kind in (tf.int32, tf.int64):
        call = size.with_attr("T", tf.as_dtype(dtype)).with_attr("S", kind)
        found = calls.run_eagerly(tf.raw_ops, call)
        assert (found.dtype, found.numpy().tolist()) == (kind, [layout.params_size(spec)])
    to_params = to_params.copy()
    for name in ("weights", "biases"):
        to_params.tensors[name] = [tf.cast(t, dtype) for t in to_params.tensors[name]]
    to_canonical = _cast(to_canonical, dtype)
    variants = [(to_params, to_canonical)]
    if not spec.num_proj:
        first = (stock_calls.as_first_canonical(c) for c in (to_params, to_canonical))
        variants.append(tuple(first))
    want_params = calls.run_eagerly(ours, to_params)
    want = calls.run_eagerly(ours, to_canonical)
    for pack, unpack in variants:
        same_bits([calls.run_eagerly(tf.raw_ops, pack)], [want_params])
        got = calls.run_eagerly(tf.raw_ops, unpack)
        same_bits(got.weights, want.weights)
        same_bits(got.biases, want.biases)
