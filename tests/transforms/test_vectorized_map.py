"""The ops in tf.vectorized_map and jacobians: the values of as many calls, and in one call where it can be."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, layer_cases, layer_ops, loops, packed_calls, tf_ops
from support.quantized_case import WEIGHTS, QuantizedCase
from support.reference import quantized
from support.reference.spec import CELLS, RnnSpec
from support.selection import all_but
from tf_rnn_ops.native import xla
from tf_rnn_ops.native.tf_internals import pfor

ops = tf_rnn_ops.raw_ops
ITERATIONS = 3

pytestmark = pytest.mark.skipif(
    None in pfor._members().values(), reason="this TensorFlow has another pfor"
)


def one_by_one(function, elements):
    results = [
        function(tf.nest.map_structure(lambda t: t[k], elements))  # noqa: B023
        for k in range(ITERATIONS)
    ]
    return tf.nest.map_structure(lambda *ts: tf.stack(ts), *results)


def assert_same(got, want, atol=1e-11):
    for one, other in zip(tf.nest.flatten(got), tf.nest.flatten(want), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def varied(tensors, names, rng):
    """Some of the tensors as ITERATIONS different ones."""
    found = {}
    for name in names:
        tensor = tensors[name]
        if tensor.dtype == tf.int32:
            found[name] = tf.stack([tf.roll(tensor, k, 0) for k in range(ITERATIONS)])
        else:
            factors = rng.uniform(0.5, 1.5, [ITERATIONS] + [1] * tensor.shape.rank)
            found[name] = tensor * tf.constant(factors, tensor.dtype)
    return found


def types_of(function, elements):
    """The types of ops in the graph of a map, those of loops included."""
    graph = tf.function(lambda: tf.vectorized_map(function, elements)).get_concrete_function().graph
    definition = graph.as_graph_def()
    nodes = list(definition.node)
    for body in definition.library.function:
        nodes += body.node_def
    return [node.op for node in nodes]


def has_loop(function, elements):
    return not {"While", "StatelessWhile"}.isdisjoint(types_of(function, elements))


LAYER_STACKS = [
    ("input",),
    ("input_h",),
    ("sequence_lengths",),
    ("input_mask", "recurrent_mask"),
    ("input", "input_h", "input_c", "sequence_lengths", "input_mask"),
]


# Each of LAYER_STACKS once with each.
TIME_MAJOR = [time_major for time_major in (True, False) for _ in LAYER_STACKS]


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(layer_cases.MODES, LAYER_STACKS, [True, False])),
        *zip(layer_cases.MODES, itertools.cycle(LAYER_STACKS), itertools.cycle(TIME_MAJOR)),
    ),
    ids=str,
)
def test_layer_rnn(case, rng):
    mode, names, time_major = case
    case = layer_cases.layer_case(mode, (5, 4, 3, 6), rng, "float64", seed=False)
    tensors = layer_ops.tensors(case, time_major)
    elements = varied(tensors, names, rng)
    for is_training in (True, False):

        def run(element):
            result = ops.LayerRNN(
                **{**tensors, **element},
                **case.attrs(),
                time_major=time_major,
                is_training=is_training,  # noqa: B023
            )
            return result[:3]

        assert_same(tf.vectorized_map(run, elements), one_by_one(run, elements))
        assert not has_loop(run, elements) or is_training


@pytest.mark.parametrize("mode", ["lstm_zoneout", "gru_zoneout"])
def test_zoneout_draws_what_it_draws_in_a_loop(mode, rng):
    case = layer_cases.layer_case(mode, (5, 4, 3, 6), rng, "float64")
    tensors = layer_ops.tensors(case)
    elements = varied(tensors, ("input",), rng)

    def run(element):
        given = {**tensors, **element}
        with tf.GradientTape() as tape:
            tape.watch(given["input"])
            result = ops.LayerRNN(**given, **case.attrs())
        return result.output, tape.gradient(result.output, given["input"])

    assert_same(tf.vectorized_map(run, elements), one_by_one(run, elements))


@pytest.mark.parametrize("names", [("input",), ("input", "sequence_lengths"), ("kernel",)])
def test_gradients_of_each_iteration(names, rng):
    """Also those of the weights, and where the weights differ, which a loop computes."""
    case = layer_cases.layer_case("lstm", (5, 4, 3, 6), rng, "float64", input_mask=False)
    tensors = layer_ops.tensors(case)

    def run(element):
        given = {**tensors, **element}
        watched = [given[n] for n in ("input", "input_h", "input_c", "kernel", "bias")]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            loss = tf.reduce_sum(ops.LayerRNN(**given, **case.attrs()).output ** 2)
        return tape.gradient(loss, watched)

    elements = varied(tensors, names, rng)
    assert_same(tf.vectorized_map(run, elements), one_by_one(run, elements))


@pytest.mark.parametrize(
    ("spec", "time_major", "batch"),
    [
        (RnnSpec("lstm", 2, 5, 3, "bidirectional"), True, 1),
        (RnnSpec("lstm", 2, 5, 3, "bidirectional"), False, 5),
        (RnnSpec("gru", 1, 4, 3), False, 2),
    ],
    ids=str,
)
def test_jacobian_of_a_stack(spec, time_major, batch, rng):
    case = cases.rnn_case(spec, 4, batch, rng, "float64")
    tensors = tf_ops.rnn_tensors(case, time_major)

    def gradient(weights):
        with tf.GradientTape() as tape:
            tape.watch([tensors.input, tensors.params])
            result = ops.CudnnRNNV3(**tensors.inputs(), **spec.attrs(), time_major=time_major)
        sources = [tensors.input, tensors.params]
        return tape.gradient(result.output, sources, output_gradients=weights)

    with tf.GradientTape(persistent=True) as tape:
        tape.watch([tensors.input, tensors.params])
        result = ops.CudnnRNNV3(**tensors.inputs(), **spec.attrs(), time_major=time_major)
        chosen = tf.reshape(result.output, [-1])[:ITERATIONS]
    size = int(tf.size(result.output))
    rows = [
        tf.reshape(tf.one_hot(k, size, dtype=tf.float64), result.output.shape)
        for k in range(ITERATIONS)
    ]
    want = tf.nest.map_structure(lambda *ts: tf.stack(ts), *[gradient(row) for row in rows])
    assert_same(tape.jacobian(chosen, [tensors.input, tensors.params]), want)
    # One call for all rows recomputes its reserve space.
    recomputes = "TfRnnOps>StatelessCudnnRNNV3" in types_of(gradient, tf.stack(rows))
    assert recomputes == (batch <= 2)


@pytest.mark.parametrize("names", [("input",), ("input_h", "sequence_lengths"), ("params",), ()])
@pytest.mark.parametrize("time_major", [True, False])
def test_inference_of_a_stack(time_major, names, rng):
    spec = RnnSpec("lstm", 2, 5, 3, "bidirectional", num_proj=4)
    case = cases.rnn_case(spec, 4, 3, rng, "float64")
    tensors = tf_ops.rnn_tensors(case, time_major).inputs()
    sizes = {"num_layers": 2, "num_units": 5, "input_size": 3}
    attrs = {"rnn_mode": "lstm", "direction": "bidirectional", "num_proj": 4}
    packed = ops.PackCudnnRNNParams(params=tensors["params"], **sizes, **attrs)
    elements = {**varied(tensors, names, rng), "unused": tf.zeros([ITERATIONS])}

    def run(element):
        given = {**tensors, **{name: element[name] for name in names}}
        plain = ops.CudnnRNNV3(**given, **attrs, time_major=time_major, is_training=False)
        if "params" in names:
            return plain
        of_packed = ops.CudnnRNNV3Packed(**given, packed=packed, **attrs, time_major=time_major)
        return plain, of_packed

    assert_same(tf.vectorized_map(run, elements), one_by_one(run, elements))
    assert has_loop(run, elements) == ("params" in names)


def test_packed_layer(rng):
    case = layer_cases.layer_case(
        "gru", (4, 3, 5, 6), rng, "float64", input_mask=False, recurrent_mask=False
    )
    tensors = layer_ops.tensors(case)
    for name in packed_calls.TRAINING:
        del tensors[name]
    weights = {n: tensors[n] for n in ("kernel", "recurrent_kernel", "bias", "projection")}
    packed = ops.PackLayerRNN(**weights, rnn_mode="gru")
    elements = varied(tensors, ("input", "input_h"), rng)

    def run(element):
        return ops.LayerRNNPacked(**{**tensors, **element}, packed=packed, rnn_mode="gru")

    assert_same(tf.vectorized_map(run, elements), one_by_one(run, elements))
    assert not has_loop(run, elements)


def quantized_case(mode, rng):
    """A call of QuantizedLayerRNN with T, B, I, H = 5, 4, 3, 6."""
    columns = 6 * CELLS[mode].gates
    given = {"bias": rng.normal(size=(2, columns) if CELLS[mode].bias_rows == 2 else columns)}
    for name, rows in (("kernel", 3), ("recurrent_kernel", 6)):
        given[name], given[f"{name}_scale"] = quantized.quantized_columns(
            rng.normal(size=(rows, columns))
        )
    x, h0, c0 = (rng.normal(size=size) for size in ((5, 4, 3), (4, 6), (4, 6)))
    return QuantizedCase(mode, x, h0, c0, **given, lengths=np.array([5, 0, 3, 2]))


QUANTIZED_STACKS = [
    ("input",),
    ("input_h",),
    ("sequence_lengths",),
    ("input", "input_h", "input_c", "sequence_lengths"),
]


QUANTIZED_MODES = ("lstm", "gru", "gru_reset_before", "rnn_tanh")


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(QUANTIZED_MODES, QUANTIZED_STACKS, [True, False])),
        # input_c is a tensor of an LSTM.
        *zip(QUANTIZED_MODES, QUANTIZED_STACKS[::-1], itertools.cycle([False, True])),
    ),
    ids=str,
)
def test_int8_weights(case, rng):
    """One call for all iterations gives the bits of single calls, since rows do not depend on each other."""
    mode, names, time_major = case
    case = quantized_case(mode, rng)
    packed = case.pack(ops)
    tensors = {name: tf.constant(array) for name, array in case.tensors(time_major).items()}
    names = [name for name in names if name != "input_c" or mode == "lstm"]
    elements = varied(tensors, names, rng)

    def run(element):
        given = {**tensors, **element}
        return ops.QuantizedLayerRNN(**given, packed=packed, **case.attrs(time_major))

    with loops.warned() as warnings:
        assert_same(tf.vectorized_map(run, elements), one_by_one(run, elements), atol=0)
        assert not has_loop(run, elements)
    assert not warnings


@pytest.mark.parametrize("name", ["bias", "kernel_scale", "recurrent_kernel"])
def test_int8_weights_of_each_iteration(name, rng):
    case = quantized_case("lstm", rng)
    tensors = {name: tf.constant(array) for name, array in case.tensors().items()}
    each = [tf.reverse(tensors[name], [0]), tensors[name], tf.roll(tensors[name], 1, -1)]

    def run(weight):
        given = {**tensors, name: weight}
        weights = {name: given[name] for name in WEIGHTS}
        packed = ops.PackQuantizedLayerRNN(**weights, rnn_mode="lstm")
        return ops.QuantizedLayerRNN(**given, packed=packed, **case.attrs())

    elements = tf.stack(each)
    want = one_by_one(run, elements)
    with loops.warned() as warnings:
        assert_same(tf.vectorized_map(run, elements), want, atol=0)
    assert any("PackQuantizedLayerRNN" in line for line in warnings)
    assert np.any(want.output[0] != want.output[1]) and np.any(want.output[1] != want.output[2])


@pytest.mark.parametrize(("mode", "jit_compile"), [("lstm", False), ("gru", True)])
def test_sizes_that_a_graph_does_not_know(mode, jit_compile, rng):
    """With gradients of second order, whose loops over time are ops too."""
    if jit_compile and xla.unavailable() is not None:
        pytest.skip(f"there are no ops for XLA: {xla.unavailable()}")
    case = layer_cases.layer_case(
        mode, (4, 2, 3, 5), rng, "float64", input_mask=False, recurrent_mask=False, lengths=None
    )
    tensors = layer_ops.tensors(case)

    def run(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                loss = tf.reduce_sum(
                    ops.LayerRNN(**{**tensors, "input": x}, **case.attrs()).output ** 2
                )
            total = tf.reduce_sum(inner.gradient(loss, x) ** 2)
        return outer.gradient(total, x)

    xs = varied(tensors, ("input",), rng)["input"]
    function = tf.function(lambda xs: tf.vectorized_map(run, xs), jit_compile=jit_compile)
    if not jit_compile:
        function = tf.function(
            lambda xs: tf.vectorized_map(run, xs),
            input_signature=[tf.TensorSpec([None, None, None, 3], tf.float64)],
        )
    assert_same(function(xs), one_by_one(run, xs), atol=1e-9)


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_lengths_that_may_be_absent(given, stacked, rng):
    case = layer_cases.layer_case("lstm", (5, 4, 3, 6), rng, "float64", input_mask=False)
    tensors = layer_ops.tensors(case)
    del tensors["sequence_lengths"]
    lengths = tf.constant([5, 0, 3, 2] if given else [], tf.int32)
    xs = varied(tensors, ("input",), rng)["input"]
    if stacked:
        lengths = tf.stack([lengths] * ITERATIONS)

    def run(element):
        given = {**tensors, **element}
        return ops.LayerRNN(**given, **case.attrs(), is_training=False)[:3]

    def mapped(xs, lengths):
        if stacked:
            return tf.vectorized_map(run, {"input": xs, "sequence_lengths": lengths})
        return tf.vectorized_map(lambda x: run({"input": x, "sequence_lengths": lengths}), xs)

    unknown = [tf.TensorSpec([None] * t.shape.rank, t.dtype) for t in (xs, lengths)]
    got = tf.function(mapped, input_signature=unknown)(xs, lengths)
    every = lengths if stacked else tf.stack([lengths] * ITERATIONS)
    assert_same(got, one_by_one(run, {"input": xs, "sequence_lengths": every}))


def test_each_iteration_draws_its_own_dropout():
    spec = RnnSpec("rnn_relu", 2, 16, 16)
    ones = tf.ones([ITERATIONS, 4, 8, 16])

    def run(x):
        return ops.CudnnRNNV3(
            input=x,
            input_h=tf.zeros([2, 8, 16]),
            input_c=0.0,
            params=tf.fill([1088], 0.1),
            sequence_lengths=tf.fill([8], 4),
            **{**spec.attrs(), "dropout": 0.5, "seed": 3},
        ).output

    first, second, _ = tf.vectorized_map(run, ones)
    assert np.any(first != second)


def test_without_tensorflow_s_loop(rng):
    """If a caller forbids the loop, calls that need it raise an error, and other calls are computed."""
    case = layer_cases.layer_case("lstm", (5, 4, 3, 6), rng, "float64")
    tensors = layer_ops.tensors(case)

    def run(element):
        return ops.LayerRNN(**{**tensors, **element}, **case.attrs(), is_training=False).output

    def mapped(elements):
        return tf.vectorized_map(run, elements, fallback_to_while_loop=False)

    elements = varied(tensors, ("input",), rng)
    assert_same(mapped(elements), one_by_one(run, elements))
    with pytest.raises(ValueError, match="Each iteration has its own kernel"):
        mapped(varied(tensors, ("kernel",), rng))
