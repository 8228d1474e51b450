"""LayerRNN nodes rewritten to ordinary ops, as single nodes and in exported Keras models."""

import itertools

import graphs
import keras
import numpy as np
import pytest
import tensorflow as tf
from test_portable_saved_model import meta_graph_of, ops_of

import tf_rnn_ops.keras
from support import cases, layer_ops, packed_calls, subproc, tf_ops
from support.layer_cases import FUNCTIONS, MODES, WITH_FUNCTIONS, layer_case
from support.reference import block_lstm
from support.reference.spec import RnnSpec
from support.selection import all_but
from tf_rnn_ops import portable, raw_ops
from tf_rnn_ops._commands import portable as command

OUTPUTS = ("output:0", "output_h:0", "output_c:0")
NOTHING = {"bias": False, "lengths": None, "input_mask": False, "recurrent_mask": False}
GIVEN = ({}, NOTHING, {"bias": False, "recurrent_mask": False})


def _graph(case, time_major=True, shapes=None, is_training=False):
    """(GraphDef with placeholders named as the inputs, feeds). `shapes`: {name: shape} of other shapes."""
    tensors = layer_ops.tensors(case, time_major)
    graph = tf.Graph()
    with graph.as_default():
        inputs = {}
        for name, value in tensors.items():
            shape = (shapes or {}).get(name, value.shape.as_list())
            inputs[name] = tf.compat.v1.placeholder(value.dtype, shape, name)
        result = raw_ops.LayerRNN(
            **inputs, **case.attrs(), time_major=time_major, is_training=is_training
        )
        for name in ("output", "output_h", "output_c"):
            tf.identity(getattr(result, name), name)
    return graph.as_graph_def(), {f"{name}:0": t.numpy() for name, t in tensors.items()}


def _has_ours(graph_def):
    return any(op.startswith("TfRnnOps>") for op in graphs.ops_in(graph_def))


def _assert_outputs(case, got, time_major=True, tolerance=1e-12):
    want = case.reference()
    arrays = [want[name] for name in ("output", "output_h", "output_c") if name in want]
    arrays[0] = arrays[0] if time_major else np.swapaxes(arrays[0], 0, 1)
    for a, b in zip(got, arrays):
        np.testing.assert_allclose(np.asarray(a, np.float64), b, rtol=tolerance, atol=tolerance)
    if not case.is_lstm:
        assert got[2].shape == ()


NODES = list(itertools.product(MODES, GIVEN, [True, False]))
USUAL = zip(MODES, itertools.cycle(GIVEN), itertools.cycle([True, False]))


@pytest.mark.parametrize("case", all_but(NODES, *USUAL), ids=str)
def test_node(case, rng):
    mode, given, time_major = case
    # Every pair of the four choices.
    is_training = (MODES.index(mode) + GIVEN.index(given) + time_major) % 2 == 0
    _check_node(mode, given, time_major, is_training, rng)


def _check_node(mode, given, time_major, is_training, rng):
    case = layer_case(mode, (6, 4, 3, 5), rng, **given)
    graph_def, feeds = _graph(case, time_major, is_training=is_training)
    result, report = portable.rewrite_graph_def(graph_def)
    assert report.ok and [c.op for c in report.changed] == ["TfRnnOps>LayerRNN"]
    assert _has_ours(graph_def) and not _has_ours(result)
    _assert_outputs(case, graphs.run(result, feeds), time_major)


DTYPES = ["bfloat16", "float16", "float32"]
TYPES = all_but(list(itertools.product(MODES, DTYPES)), *zip(MODES, itertools.cycle(DTYPES)))


@pytest.mark.parametrize("case", TYPES, ids="-".join)
def test_types(case, rng):
    mode, dtype = case
    case = layer_case(mode, (6, 4, 3, 5), rng, dtype)
    graph_def, feeds = _graph(case)
    result, _ = portable.rewrite_graph_def(graph_def)
    got = graphs.run(result, feeds)
    assert all(a.dtype == tf.as_dtype(dtype).as_numpy_dtype for a in got)
    # Sums in float32, rounded once.
    eps = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}[dtype]
    _assert_outputs(case, got, tolerance=16 * eps)


@pytest.mark.parametrize("steps,batch", [(0, 3), (3, 0), (1, 1)])
def test_few_steps_and_rows(steps, batch, rng):
    case = layer_case("lstm", (steps, batch, 3, 5), rng)
    graph_def, feeds = _graph(case)
    result, _ = portable.rewrite_graph_def(graph_def)
    _assert_outputs(case, graphs.run(result, feeds))


def test_sizes_and_lengths_that_only_a_call_knows(rng):
    shapes = {"input": [None] * 3, "kernel": None, "sequence_lengths": [None]}
    shapes |= {"input_h": [None] * 2, "input_c": [None] * 2}
    case = layer_case("lstm", (6, 4, 3, 5), rng)
    result, report = portable.rewrite_graph_def(_graph(case, shapes=shapes)[0])
    assert report.ok
    # One graph for calls with and without lengths.
    for lengths in ("random", None):
        case = layer_case("lstm", (6, 4, 3, 5), rng, lengths=lengths)
        _assert_outputs(case, graphs.run(result, _graph(case)[1]))


@pytest.mark.parametrize(
    ("shapes", "why"),
    [
        ({"bias": [None]}, "shape of bias does not tell"),
        ({"bias": None}, "shape of bias does not tell"),
        ({"recurrent_mask": None}, "shape of recurrent_mask does not tell"),
        ({n: None for n in layer_ops.INPUTS}, "shape of bias does not tell"),
    ],
    ids=str,
)
def test_what_no_shape_says_is_kept(shapes, why, rng):
    case = layer_case("lstm", (6, 4, 3, 5), rng)
    graph_def, _ = _graph(case, shapes=shapes)
    result, report = portable.rewrite_graph_def(graph_def)
    assert result == graph_def and not report.ok
    assert why in report.kept[0].reason


ACTIVATIONS = all_but(
    list(itertools.product(WITH_FUNCTIONS, FUNCTIONS)),
    *zip(WITH_FUNCTIONS, itertools.cycle(FUNCTIONS)),
)


@pytest.mark.parametrize("case", ACTIVATIONS, ids=str)
def test_node_with_other_activations(case, rng):
    mode, functions = case
    _check_node(mode, {"functions": functions}, True, False, rng)


@pytest.mark.parametrize("mode", ["lstm_zoneout", "gru_zoneout"])
def test_mean_of_zoneout(mode, rng):
    """Without a seed a state is the mean of the old and the new one, at rates that are not 0.5."""
    _check_node(mode, {"seed": False}, True, False, rng)


def test_gradient_is_kept_and_runs(rng):
    case = layer_case("lstm", (6, 4, 3, 5), rng)
    graph = tf.Graph()
    with graph.as_default():
        inputs = layer_ops.tensors(case)
        (gradient,) = tf.compat.v1.gradients(raw_ops.LayerRNN(**inputs).output, inputs["kernel"])
        tf.identity(gradient, "gradient")
    result, report = portable.rewrite_graph_def(graph.as_graph_def())
    why = {kept.op: kept.reason for kept in report.kept}
    assert set(why) == {"TfRnnOps>LayerRNN", "TfRnnOps>LayerRNNBackprop"} and not report.changed
    assert "reads its reserve space" in why["TfRnnOps>LayerRNN"]
    assert "import tf_rnn_ops" in why["TfRnnOps>LayerRNN"] and "stock" not in str(why)
    want, got = (graphs.run(g, {}, ["gradient:0"]) for g in (graph.as_graph_def(), result))
    np.testing.assert_array_equal(got[0], want[0])
    _, report = portable.rewrite_graph_def(graph.as_graph_def(), inference=True)
    assert [c.op for c in report.changed] == ["TfRnnOps>LayerRNN"]


def test_packed_weights_that_go_into_branches(rng, tmp_path):
    """Nothing is left of what packs them, though a tf.cond still has them as an input."""
    case = layer_case("lstm", (6, 4, 3, 5), rng, **NOTHING)
    inputs = {n: t for n, t in layer_ops.tensors(case).items() if n not in packed_calls.TRAINING}
    weights = {n: inputs[n] for n in packed_calls.PACKED_WEIGHTS}
    x = inputs.pop("input")

    @tf.function(input_signature=[tf.TensorSpec(x.shape, x.dtype, "x")])
    def run(x):
        with tf.control_dependencies([tf.print("packing")]):
            packed = raw_ops.PackLayerRNN(**weights, rnn_mode="lstm", keep=True)

        def layer(x):
            return raw_ops.LayerRNNPacked(input=x, **inputs, packed=packed, **case.attrs()).output

        return {"y": tf.cond(tf.reduce_sum(x) > 0, lambda: layer(x), lambda: layer(-x))}

    module = tf.Module()
    module.run = run
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=run)
    report = portable.rewrite_saved_model(tmp_path / "model", tmp_path / "new")
    assert report.ok and not report.kept, report
    assert not [op for op in ops_of(tmp_path / "new") if op.startswith("TfRnnOps")]


def test_alike_layers_have_a_function_each(rng):
    case = layer_case("gru", (6, 4, 5, 5), rng, **NOTHING)
    inputs = layer_ops.tensors(case)
    graph = tf.Graph()
    with graph.as_default():
        values = {name: tf.constant(t.numpy()) for name, t in inputs.items()}
        for _ in range(2):
            values["input"] = raw_ops.LayerRNN(**values, rnn_mode="gru").output
        values["bias"] = tf.zeros([2, 15], tf.float64)
        raw_ops.LayerRNN(**values, rnn_mode="gru")
    result, report = portable.rewrite_graph_def(graph.as_graph_def())
    assert len(report.changed) == 3
    calls = [n.attr["f"].func.name for n in result.node if n.op.endswith("PartitionedCall")]
    assert len(calls) == len(set(calls)) == 3


class _Trained(tf.Module):
    def __init__(self, op, tensors, weights):
        self.op = op
        self.weights = {n: tf.Variable(t) for n, t in tensors.items() if n in weights}
        self.constants = {n: t for n, t in tensors.items() if n != "input" and n not in weights}

    @tf.function(input_signature=[tf.TensorSpec([None, None, 3], tf.float64, "x")])
    def run(self, x):
        return {"y": getattr(raw_ops, self.op)(input=x, **self.constants, **self.weights).output}


@pytest.mark.parametrize("op", ["LayerRNN", "CudnnRNNV3"])
def test_a_loaded_model_trains(op, tmp_path, rng):
    """The gradients that TensorFlow computes again are the gradients of the op."""
    case = layer_case("lstm", (6, 4, 3, 5), rng)
    if op == "LayerRNN":
        names = ("kernel", "recurrent_kernel", "bias")
        module = _Trained(op, layer_ops.tensors(case), names)
    else:
        names = ("params",)
        spec = RnnSpec("lstm", 1, 5, 3)
        stack = cases.rnn_case(spec, 6, 4, rng)
        module = _Trained(op, tf_ops.rnn_tensors(stack).inputs(), names)
    tf.saved_model.save(module, str(tmp_path / "ours"), signatures=module.run)
    x = case.inputs.x
    report = portable.rewrite_saved_model(
        tmp_path / "ours", tmp_path / "plain", verify_inputs={"x": x}
    )
    assert report.ok and len(report.compared) == 1
    gradients = []
    for folder in ("ours", "plain"):
        model = tf.saved_model.load(str(tmp_path / folder))
        weights = [model.weights[n] for n in names]
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model.run(tf.constant(x))["y"] * case.dy)
        gradients.append(tape.gradient(loss, weights))
    for ours, plain in zip(*gradients):
        assert np.any(ours != 0)
        np.testing.assert_allclose(plain, ours, rtol=1e-12, atol=1e-12)


def _keras_model():
    """Every layer that becomes LayerRNN, behind a mask with gaps."""
    layers, ours = keras.layers, tf_rnn_ops.keras
    x = words = keras.Input([None], dtype="int32")
    x = layers.Embedding(9, 6, mask_zero=True)(x)
    x = layers.Bidirectional(ours.LSTM(7, return_sequences=True, recurrent_dropout=0.5))(x)
    x = ours.GRU(5, return_sequences=True, dropout=0.2)(x)
    x = ours.GRU(4, return_sequences=True, use_bias=False)(x)
    y, *states = ours.LSTM(6, return_sequences=True, return_state=True)(x)
    z = ours.SimpleRNN(3, activation="relu", go_backwards=True)(y)
    return keras.Model(words, [z, *states])


def test_an_exported_keras_model_needs_nothing_of_ours(tmp_path, rng):
    keras.utils.set_random_seed(4)
    model = _keras_model()
    words = rng.integers(0, 9, (5, 8)).astype(np.int32)
    words[2] = 0
    words[3, 5:] = 0
    want = model.predict(words, verbose=0)
    model.export(str(tmp_path / "ours"))
    report = portable.rewrite_saved_model(tmp_path / "ours", tmp_path / "plain")
    assert report.ok, report
    ours = {"TfRnnOps>PackLayerRNN", "TfRnnOps>LayerRNNPacked"}
    assert {c.op for c in report.changed} == ours
    # TensorFlow's own list of the ops of this model lacks some that only branches have.
    assert ours <= graphs.ops_in(meta_graph_of(tmp_path / "ours").graph_def)
    # Two directions and four layers, packed and run, for each function of the model.
    assert len(report.changed) % 12 == 0 and report.changed
    assert not any(op.startswith("TfRnnOps>") for op in ops_of(tmp_path / "plain"))
    np.save(tmp_path / "words.npy", words)
    subproc.run_module(
        "portable.serve_plain", tmp_path / "plain", tmp_path / "words.npy", tmp_path / "out.npz"
    )
    with np.load(tmp_path / "out.npz") as got:
        assert len(got.files) == len(want) == 3
        for k, array in enumerate(want):
            np.testing.assert_allclose(got[str(k)], array, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("policy", all_but(["mixed_float16", "mixed_bfloat16"], "mixed_bfloat16"))
def test_an_exported_mixed_precision_model_runs(policy, tmp_path, rng):
    layers = [
        tf_rnn_ops.keras.LSTM(4, return_sequences=True, dtype=policy),
        tf_rnn_ops.keras.GRU(4, return_sequences=True, dtype=policy),
        tf_rnn_ops.keras.SimpleRNN(4, dtype=policy),
    ]
    model = keras.Sequential([keras.Input((None, 3)), *layers])
    x = rng.standard_normal((2, 5, 3)).astype(np.float32)
    want = model.predict(x, verbose=0).astype(np.float32)
    model.export(str(tmp_path / "ours"))
    np.save(tmp_path / "x.npy", x)
    # Each in a process of its own: what goes wrong here aborts.
    subproc.run_module("tf_rnn_ops", "portable", tmp_path / "ours", tmp_path / "plain")
    subproc.run_module(
        "portable.serve_plain", tmp_path / "plain", tmp_path / "x.npy", tmp_path / "out.npz"
    )
    with np.load(tmp_path / "out.npz") as got:
        eps = {"mixed_float16": 2.0**-11, "mixed_bfloat16": 2.0**-8}[policy]
        tolerance = 8 * eps * np.max(np.abs(want))
        np.testing.assert_allclose(got["0"], want, rtol=0, atol=tolerance)


BLOCK_OUTPUTS = block_lstm.FORWARD_NAMES


def _block_inputs(rng, steps, batch=3, size=2, units=5):
    def draw(*shape):
        return rng.standard_normal(shape)

    return block_lstm.BlockLstmInputs(
        draw(steps, batch, size), draw(batch, units), draw(batch, units),
        draw(size + units, 4 * units), draw(units), draw(units), draw(units), draw(4 * units),
    )  # fmt: skip


@pytest.mark.parametrize("known", [True, False], ids=["known", "open"])
@pytest.mark.parametrize(
    ("steps", "length", "cell_clip", "use_peephole"),
    [
        (6, 6, 0.0, True),
        (6, 4, 0.5, True),
        (6, 6, 0.5, False),
        (6, 0, 0.0, True),
        (0, 0, 0.0, True),
    ],
)
def test_block_lstm(steps, length, cell_clip, use_peephole, known, rng):
    """Every output of BlockLSTMV2, 0 from seq_len_max on."""
    case = _block_inputs(rng, steps)
    arrays = dict(zip(block_lstm.GRAD_NAMES, case.arrays(), strict=True))
    graph = tf.Graph()
    with graph.as_default():
        inputs = {
            n: tf.compat.v1.placeholder(
                tf.float64, a.shape if known or a.ndim < 3 else [None] * 3, n
            )
            for n, a in arrays.items()
        }
        steps_to_run = tf.compat.v1.placeholder(tf.int64, [], "seq_len_max")
        result = raw_ops.BlockLSTMV2(
            seq_len_max=steps_to_run, **inputs, cell_clip=cell_clip, use_peephole=use_peephole
        )
        for name, output in zip(BLOCK_OUTPUTS, result, strict=True):
            tf.identity(output, f"out_{name}")
    result, report = portable.rewrite_graph_def(graph.as_graph_def())
    assert report.ok and [c.op for c in report.changed] == ["TfRnnOps>BlockLSTMV2"]
    assert not _has_ours(result)
    feeds = {f"{n}:0": a for n, a in arrays.items()} | {"seq_len_max:0": length}
    got = graphs.run(result, feeds, [f"out_{n}:0" for n in BLOCK_OUTPUTS])
    want = block_lstm.forward(case, length, cell_clip=cell_clip, use_peephole=use_peephole)
    for name, array in zip(BLOCK_OUTPUTS, got, strict=True):
        np.testing.assert_allclose(array, want[name], rtol=1e-12, atol=1e-12, err_msg=name)


def test_a_peephole_layer_becomes_ordinary(tmp_path, capsys):
    model = keras.Sequential([keras.Input((5, 3)), tf_rnn_ops.keras.PeepholeLSTM(4, cell_clip=0.1)])
    model.export(str(tmp_path / "ours"))
    assert command.main([str(tmp_path / "ours"), str(tmp_path / "plain")]) == 0
    assert "TfRnnOps>BlockLSTMV2 -> ordinary ops" in capsys.readouterr().out
    assert not [op for op in ops_of(tmp_path / "plain") if op.startswith("TfRnnOps")]


def test_a_gradient_of_block_lstm_is_kept(rng):
    case = _block_inputs(rng, 4)
    graph = tf.Graph()
    with graph.as_default():
        arrays = map(tf.constant, case.arrays())
        inputs = dict(zip(block_lstm.GRAD_NAMES, arrays, strict=True))
        result = raw_ops.BlockLSTMV2(seq_len_max=4, **inputs, use_peephole=True)
        (gradient,) = tf.compat.v1.gradients(result.h, inputs["w"])
        tf.identity(gradient, "gradient")
    before = graph.as_graph_def()
    after, report = portable.rewrite_graph_def(before)
    assert [kept.op for kept in report.kept] == ["TfRnnOps>BlockLSTMGradV2"]
    assert "it is a gradient" in report.kept[0].reason
    # It reads the outputs of ordinary ops now, which are the same.
    want, got = (graphs.run(g, {}, ["gradient:0"])[0] for g in (before, after))
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
