"""tf.vectorized_map and second derivatives of LayerRNN on a GPU, with all ops around it on the CPU.

On a mock GPU this shows which ops of this package run there, and that they fit what runs around them. The
kernels of TensorFlow for GPUs, which would run around them on a GPU, are not shown.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import layer_cases, layer_ops, placed
from support.second_order import assert_slopes, second

pytestmark = pytest.mark.usefixtures("everything_else_on_the_cpu")

ops = tf_rnn_ops.raw_ops

ITERATIONS = (1.0, 0.5, 2.0)


def one_by_one(run, elements):
    results = [run(**{n: t[k] for n, t in elements.items()}) for k in range(len(ITERATIONS))]
    return [tf.stack(parts) for parts in zip(*results)]


def assert_same(got, want, atol=1e-12):
    for a, b in zip(tf.nest.flatten(got), tf.nest.flatten(want), strict=True):
        np.testing.assert_allclose(a, b, atol=atol)


@pytest.mark.parametrize("names", [("input",), ("input_h", "sequence_lengths"), ("kernel",)])
@pytest.mark.parametrize("mode", layer_cases.MODES)
def test_vectorized_map(mode, names, rng):
    """One call for all iterations, unless each has weights of its own."""
    case = layer_cases.layer_case(mode, (5, 4, 3, 6), rng, "float64", seed=False)
    tensors = layer_ops.tensors(case)
    elements = {
        name: tf.stack(
            [tf.cast(factor, tensors[name].dtype) * tensors[name] for factor in (1, 0, 1)]
        )
        if tensors[name].dtype.is_integer
        else tf.stack([factor * tensors[name] for factor in ITERATIONS])
        for name in names
    }

    def run(**element):
        return ops.LayerRNN(**{**tensors, **element}, **case.attrs(), is_training=False)[:3]

    graph = placed.Graph(lambda e: tf.vectorized_map(lambda one: run(**one), e), elements)
    assert "TfRnnOps>LayerRNN" in graph.types
    assert graph.has_loop == ("kernel" in names)
    assert_same(graph.run(), one_by_one(run, elements))


@pytest.mark.parametrize("mode", ["lstm", "gru", "gru_reset_before", "rnn"])
def test_vectorized_map_of_gradients(mode, rng):
    """The gradients of the weights come from a loop over the iterations."""
    case = layer_cases.layer_case(mode, (5, 4, 3, 6), rng, "float64")
    tensors = layer_ops.tensors(case)
    elements = {"input": tf.stack([factor * tensors["input"] for factor in ITERATIONS])}

    def run(**element):
        given = {**tensors, **element}
        watched = [given[name] for name in ("input", "input_h", "kernel", "bias")]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            loss = tf.reduce_sum(ops.LayerRNN(**given, **case.attrs()).output ** 2)
        return tape.gradient(loss, watched)

    graph = placed.Graph(lambda e: tf.vectorized_map(lambda one: run(**one), e), elements)
    assert {"TfRnnOps>LayerRNN", "TfRnnOps>LayerRNNBackprop"} <= set(graph.types)
    assert_same(graph.run(), one_by_one(run, elements))


def _fields(case):
    """The names of the inputs and of the gradients of the outputs: {argument: field of the case}."""
    fields = {n: f for n, f in layer_ops.INPUTS.items() if n in layer_ops.DIFFERENTIABLE}
    found = {n: f for n, f in fields.items() if getattr(case.inputs, f) is not None}
    return found if case.is_lstm else {n: f for n, f in found.items() if n != "input_c"}


@pytest.mark.parametrize("mode", layer_cases.MODES)
def test_second_derivatives(mode, rng):
    """The gradient of the gradient runs TensorFlow's loops where TensorFlow sees a GPU."""
    lengths, masks = [4, 0, 2], {"input_mask": False, "recurrent_mask": True}
    case = layer_cases.layer_case(
        mode, (4, 3, 3, 4), rng, lengths=lengths, clips=(0.0, 0.0), **masks
    )
    tensors = layer_ops.tensors(case)
    arrays = {n: np.asarray(getattr(case.inputs, f)) for n, f in _fields(case).items()}
    cotangents = {n: rng.standard_normal(a.shape) for n, a in arrays.items()}

    def first(values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            result = ops.LayerRNN(**{**tensors, **values}, **case.attrs())
            outputs = [result.output, result.output_h, *([result.output_c] * case.is_lstm)]
        upstream = layer_ops.upstream(case)[: len(outputs)]
        return tape.gradient(outputs, values, output_gradients=upstream)

    values = {n: tf.constant(a) for n, a in arrays.items()}
    graph = placed.Graph(lambda v: second(first, v, cotangents), values)
    assert {"TfRnnOps>LayerRNN", "TfRnnOps>LayerRNNBackprop"} <= set(graph.types)
    assert graph.has_loop and "TfRnnOps>LinearRecurrence" not in graph.types

    def total(moved):
        changed = {**vars(case.inputs), **{f: moved[n] for n, f in _fields(case).items()}}
        gradients = _with_inputs(case, changed).reference()
        return sum(float(np.sum(gradients[f"{n}_backprop"] * c)) for n, c in cotangents.items())

    got = {name: tf.constant(array) for name, array in graph.run().items()}
    assert_slopes(got, total, arrays, rng)


def _with_inputs(case, fields):
    return dataclasses.replace(case, inputs=type(case.inputs)(**fields))
