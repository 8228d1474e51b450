"""CudnnRNNParamsSize, CudnnRNNCanonicalToParamsV2 and CudnnRNNParamsToCanonicalV2."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from robustness.problem import grammar, laws, values
from support import cases
from support.problem_lines import TYPES, lines
from support.reference import layout
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops


def _sizes(spec):
    return {
        "num_layers": tf.constant(spec.layers),
        "num_units": tf.constant(spec.units),
        "input_size": tf.constant(spec.input_size),
    }


SPECS = [
    *lines("cell={cell} I={i} H={h} L={l} D={d}", cell=("lstm", "gru", "tanh", "relu"), i=(1, 7),
           h=(1, 4, 33), l=(1, 2, 3), d=(1, 2)),
    *lines("cell={cell} I=5 H=5 L=2 D=2 input={mode}", cell=("lstm", "gru", "tanh", "relu"),
           mode=("skip", "auto")),
    *lines("cell=lstm I=3 H=5 L={l} D={d} P={p}", l=(1, 2), d=(1, 2), p=(1, 2, 5)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
def test_buffer_of_the_reference_and_back(dtype):
    """The size, and each matrix and bias where the reference has it. The size counts elements of any type."""
    for seed, line in enumerate(SPECS):
        problem = grammar.parse(f"{line} type={dtype} seed={seed}")
        case = values.case(problem)
        laws.parameter_buffer(laws.Subject(problem, case, {}, decided=True))
        size = ops.CudnnRNNParamsSize(
            **_sizes(case.spec), T=tf.as_dtype(dtype), S=tf.int32, **case.spec.attrs()
        )
        assert size.dtype == tf.int32 and size.numpy().tolist() == [layout.params_size(case.spec)]


def test_params_size_beyond_int32_needs_int64():
    spec = RnnSpec("lstm", 1, 20000, 20000)
    size = ops.CudnnRNNParamsSize(**_sizes(spec), T=tf.float32, S=tf.int64, **spec.attrs())
    assert int(size[0]) == 4 * 20000 * 40000 + 8 * 20000
    message = f"params_size is {int(size[0])}, which S=int32 cannot hold"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        ops.CudnnRNNParamsSize(**_sizes(spec), T=tf.float32, S=tf.int32, **spec.attrs())


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
