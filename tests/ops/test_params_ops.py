"""CudnnRNNParamsSize, CudnnRNNCanonicalToParamsV2 and CudnnRNNParamsToCanonicalV2."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, tf_ops
from support.reference import layout
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops
DTYPES = ("bfloat16", "float16", "float32", "float64")


def _sizes(spec):
    return {
        "num_layers": tf.constant(spec.layers),
        "num_units": tf.constant(spec.units),
        "input_size": tf.constant(spec.input_size),
    }


@pytest.mark.parametrize("index_type", [tf.int32, tf.int64])
def test_params_size(index_type, rng):
    for k in range(60):
        spec = cases.random_spec(rng, max_units=40)
        dtype = DTYPES[k % 4]
        size = ops.CudnnRNNParamsSize(
            **_sizes(spec), T=tf.as_dtype(dtype), S=index_type, **spec.attrs()
        )
        assert size.dtype == index_type
        assert size.shape == [1]
        # The opaque buffer counts elements, whatever their type.
        assert int(size[0]) == layout.params_size(spec), spec


def test_params_size_beyond_int32_needs_int64():
    spec = RnnSpec("lstm", 1, 20000, 20000)
    size = ops.CudnnRNNParamsSize(**_sizes(spec), T=tf.float32, S=tf.int64, **spec.attrs())
    assert int(size[0]) == 4 * 20000 * 40000 + 8 * 20000
    message = f"params_size is {int(size[0])}, which S=int32 cannot hold"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        ops.CudnnRNNParamsSize(**_sizes(spec), T=tf.float32, S=tf.int32, **spec.attrs())


@pytest.mark.parametrize("dtype", DTYPES)
def test_canonical_to_params_and_back(dtype, rng):
    for _ in range(20):
        spec = cases.random_spec(rng)
        case = cases.rnn_case(spec, 1, 1, rng, dtype)
        weights, biases = layout.canonical(spec, case.params)
        flat = ops.CudnnRNNCanonicalToParamsV2(
            **_sizes(spec),
            weights=[tf_ops.constant(w, dtype) for w in weights],
            biases=[tf_ops.constant(b, dtype) for b in biases],
            **spec.attrs(),
        )
        np.testing.assert_array_equal(tf_ops.to_float64(flat), case.params, err_msg=str(spec))
        result = ops.CudnnRNNParamsToCanonicalV2(
            **_sizes(spec),
            params=flat,
            num_params_weights=len(weights),
            num_params_biases=len(biases),
            **spec.attrs(),
        )
        assert len(result.weights) == len(weights)
        assert len(result.biases) == len(biases)
        for got, want in zip(list(result.weights) + list(result.biases), weights + biases):
            assert got.shape == want.shape
            np.testing.assert_array_equal(tf_ops.to_float64(got), want, err_msg=str(spec))


def test_python_layout_is_the_same_layout(rng):
    for _ in range(60):
        spec = cases.random_spec(rng)
        mirror = tf_rnn_ops.params.Layout(
            spec.rnn_mode,
            spec.layers,
            spec.units,
            spec.input_size,
            direction=spec.direction,
            input_mode=spec.input_mode,
            num_proj=spec.num_proj,
        )
        size = ops.CudnnRNNParamsSize(**_sizes(spec), T=tf.float32, S=tf.int32, **spec.attrs())
        assert mirror.size == int(size[0]) == layout.params_size(spec), spec
        flat = rng.standard_normal(mirror.size)
        for got, want in zip(mirror.unpack(flat), layout.canonical(spec, flat), strict=True):
            for a, b in zip(got, want, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=str(spec))
        np.testing.assert_array_equal(mirror.pack(*mirror.unpack(flat)), flat)


def test_canonical_weights_drive_the_op(rng):
    """Weights placed by the canonical op produce the reference's output."""
    spec = RnnSpec("lstm", 2, 5, 3, "bidirectional", num_proj=2)
    case = cases.rnn_case(spec, 4, 3, rng)
    weights, biases = layout.canonical(spec, case.params)
    flat = ops.CudnnRNNCanonicalToParamsV2(
        **_sizes(spec), weights=weights, biases=biases, **spec.attrs()
    )
    tensors = tf_ops.rnn_tensors(case).inputs()
    tensors["params"] = flat
    got = ops.CudnnRNNV3(**tensors, **spec.attrs()).output
    np.testing.assert_allclose(got, case.reference()[0].output, rtol=0, atol=1e-14)
