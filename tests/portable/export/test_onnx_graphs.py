"""Ops in graphs as ONNX: TensorFlow's CudnnRNN and BlockLSTM of all versions, and our ops outside of Keras."""

import itertools

import numpy as np
import onnx
import pytest
import tensorflow as tf

import tf_rnn_ops
from support.selection import all_but
from tf_rnn_ops import raw_ops
from tf_rnn_ops._commands.export import main
from tf_rnn_ops._formats import onnx as writer
from tf_rnn_ops.params import Layout, gates

TIME, BATCH, SIZE, UNITS = 5, 3, 2, 4
MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def convert(function, folder, *specs):
    """Writes a function as a SavedModel and that as ONNX: (list of ExportedLayer, ops of the file, how to run it)."""
    module = tf.Module()
    module.function = tf.function(function, input_signature=specs, autograph=False)
    tf.saved_model.save(module, str(folder / "saved"), signatures=module.function)
    nodes = writer.write(folder / "saved", folder / "m.onnx")
    model = onnx.load(folder / "m.onnx")
    return nodes, [node.op_type for node in model.graph.node], writer.load(folder / "m.onnx")


def _spec(name, *shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype, name)


class Stack:
    """A network with drawn parameters, and a batch for it."""

    def __init__(
        self, rng, mode, direction="bidirectional", layers=2, num_proj=0, input_mode="linear_input"
    ):
        size = UNITS if input_mode == "skip_input" else SIZE
        self.layout = Layout(mode, layers, UNITS, size, input_mode, direction, num_proj)
        rows = layers * (2 if direction == "bidirectional" else 1)
        drawn = rng.uniform(-0.7, 0.7, self.layout.size)
        self.params = drawn.astype(np.float32)
        self.attrs = {"rnn_mode": mode, "direction": direction, "input_mode": input_mode}
        self.x = rng.standard_normal((TIME, BATCH, size)).astype(np.float32)
        self.h = rng.uniform(-1, 1, (rows, BATCH, num_proj or UNITS)).astype(np.float32)
        self.c = rng.uniform(-1, 1, (rows, BATCH, UNITS)).astype(np.float32)
        self.lengths = np.array([5, 0, 2], np.int32)

    def specs(self):
        rows, _, size = self.h.shape
        inputs = _spec("x", None, None, self.x.shape[2])
        return inputs, _spec("h", rows, None, size), _spec("c", rows, None, UNITS)

    def feed(self):
        return {"x": self.x, "h": self.h, "c": self.c}

    def want(self, lengths=None):
        """The results of our op, eagerly."""
        result = raw_ops.CudnnRNNV3(
            input=self.x,
            input_h=self.h,
            input_c=self.c,
            params=self.params,
            sequence_lengths=np.full(BATCH, TIME, np.int32) if lengths is None else lengths,
            num_proj=self.layout.num_proj,
            is_training=False,
            **self.attrs,
        )
        return {"y": result.output, "h_out": result.output_h, "c_out": result.output_c}


def _outputs(result, mode):
    y, h, c = result[:3]
    return {"y": y, "h_out": h} | ({"c_out": c} if mode == "lstm" else {})


def _check(got, want, atol=2e-6):
    for name, array in got.items():
        np.testing.assert_allclose(array, want[name], rtol=0, atol=atol, err_msg=name)


VERSIONS = ["CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"]
CASES = list(itertools.product(VERSIONS, ["unidirectional", "bidirectional"], MODES))
USUAL = [
    ("CudnnRNN", "bidirectional", "gru"),
    ("CudnnRNNV2", "unidirectional", "rnn_tanh"),
    ("CudnnRNNV3", "bidirectional", "lstm"),
    ("CudnnRNNV3", "unidirectional", "rnn_relu"),
]


@pytest.mark.parametrize("case", all_but(CASES, *USUAL), ids="-".join)
def test_tensorflows_stacks(case, tmp_path, rng):
    """As Keras and TensorFlow 1 write them: is_training=True in inference too. No kernel is needed."""
    version, direction, mode = case
    stack = Stack(rng, mode, direction)
    lengths = version == "CudnnRNNV3"

    def function(x, h, c, n=None):
        op = getattr(tf.raw_ops, version)
        given = {"sequence_lengths": n} if lengths else {}
        result = op(input=x, input_h=h, input_c=c, params=stack.params, **stack.attrs, **given)
        return _outputs(result, mode)

    specs = [*stack.specs(), *([_spec("n", None, dtype=tf.int32)] if lengths else [])]
    nodes, ops, run = convert(function, tmp_path, *specs)
    assert [(node.op, node.reason) for node in nodes] == [(version, "")]
    assert sum(op in ("LSTM", "GRU", "RNN") for op in ops) == 2
    feed = stack.feed() | ({"n": stack.lengths} if lengths else {})
    _check(run(feed), stack.want(stack.lengths if lengths else None))


@pytest.mark.parametrize("time_major", [True, False])
def test_keras_on_a_gpu(time_major, tmp_path, rng):
    """The graph that stock Keras traces where it sees a GPU: the parameters are put together in the graph."""
    stack = Stack(rng, "lstm", "unidirectional", layers=1)
    pieces = np.split(stack.params, [9, 40])

    def function(x, h, c, n):
        x, h, c = (t if time_major else tf.transpose(t, [1, 0, 2]) for t in (x, h, c))
        result = tf.raw_ops.CudnnRNNV3(
            input=x,
            input_h=h,
            input_c=c,
            params=tf.concat([tf.reshape(piece, [-1]) for piece in pieces], 0),
            sequence_lengths=n,
            time_major=time_major,
            **stack.attrs,
        )
        found = (t if time_major else tf.transpose(t, [1, 0, 2]) for t in result[:3])
        return _outputs(list(found), "lstm")

    nodes, ops, run = convert(function, tmp_path, *stack.specs(), _spec("n", None, dtype=tf.int32))
    assert [node.target_op for node in nodes] == ["LSTM"] and ops.count("LSTM") == 1
    _check(run({**stack.feed(), "n": stack.lengths}), stack.want(stack.lengths))


@pytest.mark.parametrize("op", ["CudnnRNNV3", "StatelessCudnnRNNV3"])
def test_our_stacks(op, tmp_path, rng):
    stack = Stack(rng, "gru", input_mode="skip_input")
    more = (
        {"seed": [1, 2], "dropout": 0.0} if op.startswith("Stateless") else {"is_training": False}
    )

    def function(x, h, n):
        result = getattr(raw_ops, op)(
            input=x, input_h=h, input_c=0, params=stack.params, sequence_lengths=n, **stack.attrs, **more
        )  # fmt: skip
        return _outputs(result, "gru")

    x, h, _ = stack.specs()
    nodes, ops, run = convert(function, tmp_path, x, h, _spec("n", None, dtype=tf.int32))
    assert ops.count("GRU") == 2 and [node.op for node in nodes] == [op]
    feed = {"x": stack.x, "h": stack.h, "n": stack.lengths}
    _check(run(feed), stack.want(stack.lengths))


def test_a_projection_is_a_loop(tmp_path, rng):
    stack = Stack(rng, "lstm", num_proj=2)

    def function(x, h, c, n):
        result = tf.raw_ops.CudnnRNNV3(
            input=x, input_h=h, input_c=c, params=stack.params, sequence_lengths=n, num_proj=2, **stack.attrs
        )  # fmt: skip
        return _outputs(result, "lstm")

    nodes, ops, run = convert(function, tmp_path, *stack.specs(), _spec("n", None, dtype=tf.int32))
    assert [(node.target_op, node.reason) for node in nodes] == [("loop", "ONNX has no projection")]
    assert ops.count("Loop") == 4 and "LSTM" not in ops
    _check(run({**stack.feed(), "n": stack.lengths}), stack.want(stack.lengths))


def test_a_mode_without_a_node_is_a_loop(tmp_path, rng, monkeypatch):
    """As of a new cell that the writer does not know."""
    monkeypatch.delitem(gates.ONNX_OPS, "gru")
    stack = Stack(rng, "gru")

    def function(x, h):
        result = raw_ops.CudnnRNNV3(
            input=x, input_h=h, input_c=0, params=stack.params, sequence_lengths=tf.fill([BATCH], TIME),
            is_training=False, **stack.attrs,
        )  # fmt: skip
        return _outputs(result, "gru")

    nodes, ops, run = convert(function, tmp_path, *stack.specs()[:2])
    assert [node.reason for node in nodes] == ["ONNX has no node for rnn_mode='gru'"]
    assert "GRU" not in ops
    _check(run({"x": stack.x, "h": stack.h}), stack.want())


def test_parameters_that_are_computed(tmp_path, rng):
    """A node of ONNX could have them, but not in the order in which the graph computes them: a loop."""
    stack = Stack(rng, "gru")

    def function(x, h, s):
        result = raw_ops.CudnnRNNV3(
            input=x, input_h=h, input_c=0, params=stack.params * s, sequence_lengths=tf.fill([BATCH], TIME),
            is_training=False, **stack.attrs,
        )  # fmt: skip
        return _outputs(result, "gru")

    x, h, _ = stack.specs()
    nodes, ops, run = convert(function, tmp_path, x, h, _spec("s"))
    assert [node.reason for node in nodes] == ["its weights are computed"] and "GRU" not in ops
    _check(run({"x": stack.x, "h": stack.h, "s": np.array(1, np.float32)}), stack.want())


@pytest.mark.parametrize("reads", ["h", "h and cs"])
@pytest.mark.parametrize("peephole", [False, True])
@pytest.mark.parametrize("version", ["BlockLSTM", "BlockLSTMV2", "TfRnnOps>BlockLSTMV2"])
def test_block_lstm(version, peephole, reads, tmp_path, rng):
    """Against TensorFlow's own kernels. ONNX has no cell states of all steps."""
    arrays = [
        rng.uniform(-0.7, 0.7, shape).astype(np.float32)
        for shape in ((SIZE + UNITS, 4 * UNITS), (4 * UNITS,))
    ]
    peepholes = [rng.uniform(-0.7, 0.7, UNITS).astype(np.float32) for _ in range(3)]
    op = raw_ops.BlockLSTMV2 if version.startswith("Tf") else getattr(tf.raw_ops, version)
    more = {"forget_bias": 0.7, "cell_clip": -1.0} if version == "BlockLSTM" else {}

    def function(x, h, c, n):
        result = op(
            seq_len_max=n, x=x, cs_prev=c, h_prev=h, w=arrays[0], b=arrays[1],
            **dict(zip(("wci", "wcf", "wco"), peepholes)), use_peephole=peephole, **more,
        )  # fmt: skip
        return {"y": result.h} | ({"cs": result.cs} if reads != "h" else {})

    specs = (_spec("x", None, None, SIZE), _spec("h", None, UNITS), _spec("c", None, UNITS))
    nodes, ops, run = convert(function, tmp_path, *specs, _spec("n", dtype=tf.int64))
    assert nodes[0].target_op == ("LSTM" if reads == "h" else "loop")
    assert ("LSTM" in ops, "Loop" in ops) == (reads == "h", reads != "h")
    feed = {"x": rng.standard_normal((TIME, BATCH, SIZE)), "h": rng.uniform(-1, 1, (BATCH, UNITS))}
    feed = {
        n: a.astype(np.float32)
        for n, a in {**feed, "c": rng.uniform(-1, 1, (BATCH, UNITS))}.items()
    }
    for length in (TIME, 2, 0):
        given = {**feed, "n": np.array(length)}
        want = function(*given.values())
        _check(run(given), want)


@pytest.mark.parametrize("version", ["BlockLSTM", "BlockLSTMV2"])
def test_a_block_lstm_that_clips_is_a_loop(version, tmp_path, rng):
    """BlockLSTM clips at 3 unless told otherwise."""
    weights = [
        rng.uniform(-3, 3, shape).astype(np.float32)
        for shape in ((SIZE + UNITS, 4 * UNITS), (4 * UNITS,))
    ]
    more = {} if version == "BlockLSTM" else {"cell_clip": 0.5}

    def function(x):
        zeros, none = tf.zeros([BATCH, UNITS]), tf.zeros([UNITS])
        cells = tf.fill([BATCH, UNITS], 4.0)
        result = getattr(tf.raw_ops, version)(
            seq_len_max=TIME, x=x, cs_prev=cells, h_prev=zeros, w=weights[0], b=weights[1],
            wci=none, wcf=none, wco=none, **more,
        )  # fmt: skip
        return {"y": result.h, "cs": result.cs}

    nodes, _, run = convert(function, tmp_path, _spec("x", TIME, BATCH, SIZE))
    assert nodes[0].target_op == "loop" and "clip" in nodes[0].reason
    x = 3 * rng.standard_normal((TIME, BATCH, SIZE)).astype(np.float32)
    want = function(x)
    assert np.max(np.abs(want["cs"])) == np.float32(3 if version == "BlockLSTM" else 0.5)
    _check(run({"x": x}), want)


@pytest.mark.parametrize("computed", [False, True], ids=["constant", "computed"])
@pytest.mark.parametrize("where", ["cond", "while"])
def test_nodes_in_branches_and_loops(where, computed, tmp_path, rng):
    kernels = [rng.uniform(-0.7, 0.7, (SIZE, 3 * SIZE)).astype(np.float32) for _ in range(2)]

    def layer(x, scale):
        return raw_ops.LayerRNN(
            input=x, input_h=tf.zeros([BATCH, SIZE]), input_c=0, kernel=kernels[0] * scale,
            recurrent_kernel=kernels[1], rnn_mode="gru", is_training=False,
        ).output  # fmt: skip

    def function(x, n):
        scale = tf.cast(n // n, tf.float32) if computed else 1
        if where == "cond":
            return {"y": tf.cond(n > 1, lambda: layer(x, scale), lambda: 2 * x)}
        _, y = tf.while_loop(lambda k, y: k < n, lambda k, y: (k + 1, layer(y, scale)), (0, x))
        return {"y": y}

    nodes, _, run = convert(
        function, tmp_path, _spec("x", TIME, BATCH, SIZE), _spec("n", dtype=tf.int32)
    )
    assert [node.reason for node in nodes] == ["its weights are computed" if computed else ""]
    x = rng.standard_normal((TIME, BATCH, SIZE)).astype(np.float32)
    for n in (1, 2):
        _check(run({"x": x, "n": np.array(n, np.int32)}), function(tf.constant(x), tf.constant(n)))


def test_the_command(tmp_path, rng, capsys):
    stack = Stack(rng, "lstm")
    tf_rnn_ops.enable_stock_ops()

    def function(x, h, c):
        result = tf.raw_ops.CudnnRNN(
            input=x, input_h=h, input_c=c, params=stack.params, **stack.attrs
        )
        return _outputs(result, "lstm")

    module = tf.Module()
    module.function = tf.function(function, input_signature=stack.specs(), autograph=False)
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures={"mine": module.function})
    target = tmp_path / "m.onnx"
    assert main([str(tmp_path / "saved"), str(target), "--signature", "mine"]) == 0
    assert "CudnnRNN -> 2 LSTM" in capsys.readouterr().out
    _check(writer.load(target)(stack.feed()), stack.want())
    assert main([str(tmp_path / "saved"), str(tmp_path / "no.onnx"), "--signature", "other"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "signature" in line and "other" in line and not (tmp_path / "no.onnx").exists()
