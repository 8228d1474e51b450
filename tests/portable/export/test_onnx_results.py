"""Every layer as ONNX in ONNX Runtime, next to the model: directions, masks, states, stacks, types."""

import itertools

import export_cases
import keras
import numpy as np
import onnx
import pytest
from export_cases import (
    LOOPS,
    NODES,
    RECURRENT,
    SEQUENCES,
    SIZE,
    STACKS,
    UNITS,
    check,
    ops_of,
    recurrent,
)

import tf_rnn_ops.keras as rnn
from support.models import drawn
from support.selection import all_but
from tf_rnn_ops._formats import onnx as writer


@pytest.fixture
def export(tmp_path):
    """Writes a model: (the report, the counts of ops, a function that runs the file)."""

    def write(model, **options):
        path = tmp_path / "model.onnx"
        report = rnn.export(drawn(model), path, "onnx", print_fn=None, **options)
        return report, ops_of(onnx.load(path)), writer.load(path)

    return write


def _sequences(rng, batch=3, time=5):
    return rng.standard_normal((batch, time, SIZE)).astype(np.float32)


def test_a_loop_is_refused_if_it_is_not_wanted(tmp_path):
    for name in ("layer_norm", "elu"):
        inputs = keras.Input((None, SIZE))
        model = keras.Model(inputs, LOOPS[name][0]()(inputs))
        with pytest.raises(ValueError, match=f"becomes a loop, because .*{LOOPS[name][1]}"):
            rnn.export(model, tmp_path / "m.onnx", "onnx", loops=False, print_fn=None)
        assert not list(tmp_path.iterdir())


STATES = ["lstm", "gru", "gru_before", "simple", "peephole", "projected"]


@pytest.mark.parametrize("name", all_but(STATES, "gru", "projected"))
def test_states(name, export, rng):
    """Initial states in, final states out; of rows without a valid step these are the initial ones."""
    make = NODES.get(name) or LOOPS[name][0]
    layer = make(return_state=True, **SEQUENCES)
    names = ["h", "c"] if hasattr(layer, "unit_forget_bias") or name in LOOPS else ["h"]
    sizes = [2, UNITS] if name == "projected" else [UNITS, UNITS]
    x, mask = keras.Input((None, SIZE), name="x"), keras.Input((None,), dtype="bool", name="mask")
    states = [keras.Input((size,), name=n) for n, size in zip(names, sizes)]
    model = keras.Model([x, mask, *states], layer(x, initial_state=states, mask=mask))
    _, ops, run = export(model)
    # BlockLSTM's cell states of all steps are read at the last step of each row.
    assert recurrent(ops) == (0 if name in ("projected", "peephole") else 1)
    for kind in export_cases.masks(rng, 4, 6).values():
        given = {"x": _sequences(rng, 4, 6), "mask": kind}
        given |= {
            n: rng.uniform(-1, 1, (4, size)).astype(np.float32) for n, size in zip(names, sizes)
        }
        check(run, model, given)


def test_states_of_both_directions(export, rng):
    x = keras.Input((None, SIZE), name="x")
    states = [keras.Input((UNITS,), name=f"s{k}") for k in range(4)]
    layer = keras.layers.Bidirectional(keras.layers.LSTM(UNITS, return_state=True, **SEQUENCES))
    model = keras.Model([x, *states], layer(x, initial_state=states))
    _, ops, run = export(model)
    assert ops["LSTM"] == 1
    drawn = {f"s{k}": rng.uniform(-1, 1, (3, UNITS)).astype(np.float32) for k in range(4)}
    check(run, model, {"x": _sequences(rng), **drawn})


DIRECTIONS = ["unidirectional", "bidirectional"]
STACK_CASES = list(itertools.product(STACKS, DIRECTIONS, [False, True], [1, 3]))
USUAL_STACKS = [
    ("lstm", "bidirectional", False, 3),
    ("gru", "bidirectional", True, 3),
    ("tanh", "unidirectional", True, 1),
    ("relu", "bidirectional", False, 1),
]


@pytest.mark.parametrize("case", all_but(STACK_CASES, *USUAL_STACKS), ids=str)
def test_stacks(case, export, rng):
    """One node a layer, with lengths, 0 included, initial states and final states."""
    name, direction, time_major, layers = case
    stack = STACKS[name](
        UNITS,
        num_layers=layers,
        direction=direction,
        time_major=time_major,
        return_state=True,
        **SEQUENCES,
    )
    rows = layers * (2 if direction == "bidirectional" else 1)
    names = ["h", "c"] if name == "lstm" else ["h"]
    shape = (rows, None, UNITS) if time_major else (None, rows, UNITS)
    x = keras.Input(batch_shape=(None, None, SIZE), name="x")
    lengths = keras.Input((), dtype="int32", name="lengths")
    states = [keras.Input(batch_shape=shape, name=n) for n in names]
    model = keras.Model(
        [x, lengths, *states], stack(x, initial_state=states, sequence_lengths=lengths)
    )
    report, ops, run = export(model, verify=False)
    assert recurrent(ops) == layers and not ops["Loop"]
    assert [node.target_op.split()[-1] for node in report.layers][0] in RECURRENT
    batch, time = 4, 6
    drawn = rng.standard_normal((batch, time, SIZE)).astype(np.float32)
    given = {"x": np.swapaxes(drawn, 0, 1) if time_major else drawn}
    given["lengths"] = np.array([6, 0, 3, 1], np.int32)
    for n in names:
        own = rng.uniform(-1, 1, (batch, rows, UNITS)).astype(np.float32)
        given[n] = np.swapaxes(own, 0, 1) if time_major else own
    check(run, model, given)


def test_a_stack_with_a_mask_and_one_that_goes_backwards(export, rng):
    words = keras.Input((None,), dtype="int32", name="words")
    x = keras.layers.Embedding(9, SIZE, mask_zero=True)(words)
    x = rnn.CudnnGRU(UNITS, num_layers=2, direction="bidirectional", **SEQUENCES)(x)
    model = keras.Model(words, rnn.CudnnLSTM(UNITS, go_backwards=True, **SEQUENCES)(x))
    report, ops, run = export(model)
    assert (ops["GRU"], ops["LSTM"]) == (2, 1)
    assert sorted(node.target_op for node in report.layers) == ["2 GRU", "LSTM"]
    drawn = rng.integers(1, 9, (3, 6)).astype(np.int32) * (np.arange(6) < [[6], [2], [0]])
    check(run, model, {"words": drawn.astype(np.int32)})


SHAPES = [(1, 1), (1, 7), (2, 7), (1, None), (None, 7), (None, 1)]


@pytest.mark.parametrize("shape", all_but(SHAPES, (1, 1), (1, None), (None, 7)))
def test_known_sizes(shape, export, rng):
    """tf2onnx takes axes of size 1 for what can be moved freely."""
    x = keras.Input(batch_shape=(*shape, SIZE), name="x")
    layers = [
        keras.layers.LSTM(UNITS, **SEQUENCES),
        keras.layers.Bidirectional(keras.layers.LSTM(UNITS, **SEQUENCES)),
        keras.layers.GRU(UNITS, go_backwards=True),
        rnn.CudnnGRU(UNITS, num_layers=2, direction="bidirectional", **SEQUENCES),
        rnn.CudnnLSTM(UNITS, time_major=True, num_layers=2, **SEQUENCES),
    ]
    model = keras.Model(x, [layer(x) for layer in layers])
    report, _, run = export(model)
    assert all(not node.reason for node in report.layers)
    check(run, model, {"x": _sequences(rng, shape[0] or 3, shape[1] or 4)})


# The dtype, what becomes of an LSTM, and what its results may differ by.
TYPES = {
    "float64": ("loop", 1e-14),
    "float16": ("LSTM", 4e-3),
    "bfloat16": ("LSTM", 3e-2),
    "mixed_float16": ("LSTM", 4e-3),
    "mixed_bfloat16": ("LSTM", 3e-2),
}


@pytest.mark.parametrize("dtype", all_but(TYPES, "float16", "mixed_bfloat16"))
def test_types(dtype, export, rng):
    became, tolerance = TYPES[dtype]
    x = keras.Input((None, SIZE), name="x")
    layer = keras.layers.LSTM(
        UNITS, dtype=dtype, recurrent_initializer="glorot_uniform", **SEQUENCES
    )
    stack = rnn.CudnnGRU(UNITS, num_layers=2, dtype=dtype, **SEQUENCES)
    back = keras.layers.Activation("linear", dtype="float64" if dtype == "float64" else "float32")
    model = keras.Model(x, [back(layer(x)), back(stack(x))])
    report, ops, run = export(model)
    assert {node.target_op.split()[-1] for node in report.layers} <= {became, "loop", "GRU"}
    assert bool(ops["LSTM"]) == (became == "LSTM") and bool(ops["Loop"]) == (became == "loop")
    check(run, model, {"x": _sequences(rng)}, atol=tolerance)


@pytest.mark.parametrize("path", all_but(["m", "m.onnx"], "m.onnx"))
def test_time_distributed_over_open_steps(path, tmp_path, rng):
    """Keras computes as many steps as there are sequences, in every format."""
    x = keras.Input((None, 4, SIZE), name="x")
    model = keras.Model(x, keras.layers.TimeDistributed(keras.layers.LSTM(UNITS), name="each")(x))
    with pytest.raises(ValueError, match="'each' .TimeDistributed. has an open number of steps"):
        rnn.export(model, tmp_path / path, verify=False, print_fn=None)
    assert not list(tmp_path.iterdir())
    rnn.export(model, tmp_path / path, time=3, print_fn=None)


def test_weights_too_large_to_be_folded(export, rng):
    """TensorFlow folds small packed weights into constants; others are still nodes of the graph."""
    x = keras.Input((None, SIZE), name="x")
    y = keras.layers.LSTM(160, **SEQUENCES)(x)
    model = keras.Model(x, rnn.CudnnGRU(160)(y))
    _, ops, run = export(model)
    assert recurrent(ops) == 2
    check(run, model, {"x": _sequences(rng)}, atol=1e-5)


def test_layers_that_keras_unrolls_or_wraps(export, rng):
    """unroll=True leaves no recurrent node; TimeDistributed calls the layer once for each time."""
    x = keras.Input(batch_shape=(2, 3, 4, SIZE), name="x")
    each = keras.layers.TimeDistributed(keras.layers.LSTM(UNITS, **SEQUENCES))(x)
    unrolled = keras.layers.LSTM(UNITS, unroll=True)(x[:, 0])
    model = keras.Model(x, [each, unrolled])
    report, ops, run = export(model)
    assert ops["LSTM"] == 3 and not ops["Loop"]
    assert [node.name for node in report.layers if node.reason] == [model.layers[-1].name]
    check(run, model, {"x": rng.standard_normal((2, 3, 4, SIZE)).astype(np.float32)})


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_int8(name, export, rng):
    """The weights of an LSTM in 8 bits; ONNX Runtime has no such GRU."""
    x = keras.Input((None, SIZE), name="x")
    model = keras.Model(x, keras.layers.Dense(2)(NODES[name]()(x)))
    report, _, run = export(model, weight_format="int8")
    assert report.layers[0].target_op == ("DynamicQuantizeLSTM" if name == "lstm" else "GRU")
    assert 1e-5 < report.difference < report.tolerance
    check(run, model, {"x": _sequences(rng)}, atol=report.tolerance)


def test_shared_layers_in_int8(export, rng, tmp_path):
    """ONNX Runtime's quantizer changes the weights of two nodes twice."""
    inputs = [keras.Input((None, SIZE), name=name) for name in "xz"]
    layer = keras.layers.Bidirectional(keras.layers.LSTM(UNITS))
    model = keras.Model(inputs, [layer(one) for one in inputs])
    report, ops, run = export(model, weight_format="int8")
    assert ops["DynamicQuantizeLSTM"] == 2
    # W and R, and the scales and zero points of both.
    weights = [t.name for t in onnx.load(tmp_path / "model.onnx").graph.initializer]
    assert sum("_quantized" in n for n in weights) == 2 and sum("_scale" in n for n in weights) == 2
    given = {name: _sequences(rng) for name in "xz"}
    check(run, model, given, atol=report.tolerance)


@pytest.mark.parametrize("first", all_but(["forward", "backward"], "backward"))
def test_a_direction_that_begins_with_the_states_of_the_other(first, tmp_path):
    """One node of both directions would need its own result."""
    x, h = keras.Input((None, SIZE), name="x"), keras.Input((UNITS,), name="h")
    layers = [
        keras.layers.GRU(UNITS, go_backwards=backwards, return_state=True, **SEQUENCES)
        for backwards in (first == "backward", first != "backward")
    ]
    y, state = layers[0](x, initial_state=h)
    z, _ = layers[1](x, initial_state=state)
    model = drawn(keras.Model([x, h], [y, z]))
    report = rnn.export(model, tmp_path / "m.onnx", print_fn=None)
    assert [node.target_op for node in report.layers] == ["GRU", "GRU"]


@pytest.mark.parametrize(("layer", "sizes"), [("lstm", (1, 9)), ("both", (None, None))])
def test_masked_text_in_int8(layer, sizes, tmp_path):
    """ONNX Runtime's quantizer does not see what the branches of a condition use."""
    words = keras.Input(batch_shape=sizes, dtype="int32", name="words")
    x = keras.layers.Embedding(50, 16, mask_zero=True)(words)
    make = keras.layers.LSTM(16)
    y = (keras.layers.Bidirectional(make) if layer == "both" else make)(x)
    model = drawn(keras.Model(words, keras.layers.Dense(3)(y)))
    report = rnn.export(model, tmp_path / "m.onnx", weight_format="int8", print_fn=None)
    assert {node.target_op for node in report.layers} == {"DynamicQuantizeLSTM"}


def test_a_mask_is_no_condition(tmp_path):
    """In a file the condition would cost 30 nodes for a layer, and save nothing that was measured."""
    x = keras.Input((None, SIZE), name="x")
    y = keras.layers.Bidirectional(keras.layers.LSTM(UNITS, **SEQUENCES))(keras.layers.Masking()(x))
    rnn.export(keras.Model(x, y), tmp_path / "m.onnx", print_fn=None)
    nodes = onnx.load(tmp_path / "m.onnx").graph.node
    assert "If" not in {node.op_type for node in nodes} and len(nodes) <= 30
