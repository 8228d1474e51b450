"""Every layer in every format: the node of the table in docs/export.md, and the results of the model."""

import collections
import itertools
import pathlib
import re

import export_cases
import export_networks as networks
import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
from export_networks import BATCH, SIZE, UNITS

import tf_rnn_ops.keras as rnn
from support.models import drawn
from support.selection import all_but
from tf_rnn_ops._formats import formats
from tf_rnn_ops._formats.litert import flatbuffer

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "export.md"
HEAD = "layer or op"
FORMATS = {
    "onnx": ("ONNX", "m.onnx"),
    "litert": ("LiteRT", "m.tflite"),
    "openvino": ("OpenVINO", "m.xml"),
}
LOOP, FUSED = "loop", "UNIDIRECTIONAL_SEQUENCE_LSTM"


def table():
    """{first cell of a row: {format: its cell}}."""
    lines = PAGE.read_text().splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith(f"| {HEAD} |"))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    head, _, *rows = rows
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def became(row, format):
    """The names in a cell: what comes behind a comma is a remark."""
    return set(table()[row][FORMATS[format][0]].split(",")[0].split(" or "))


def op_of(node):
    """The op of a node without its number."""
    return re.sub(r"^\d+ ", "", node.target_op)


# Every layer once in each format, and every call of layers; `make test-all` has each call of each layer.
USUAL = [
    ("onnx", "every_6", "open"), ("onnx", "stacks", "known"), ("onnx", "states", "open_time"),
    ("litert", "every_5", "known"), ("litert", "stacks", "open_time"), ("litert", "states", "known"),
    ("openvino", "every_7", "open"), ("openvino", "stacks", "known"), ("openvino", "states", "open_time"),
]  # fmt: skip
CASES = [*USUAL, ("litert", "stacks", "open")]
for format in FORMATS:
    # A loop of Keras needs a batch in LiteRT.
    sizes = [name for name in networks.SIZES if (format, name) != ("litert", "open")]
    others = [name for name in networks.NETWORKS if (format, name) not in {c[:2] for c in USUAL}]
    CASES += [(format, *other) for other in zip(others, itertools.cycle(sizes))]


@pytest.mark.parametrize("case", all_but(CASES, *USUAL), ids="-".join)
def test_results(case, tmp_path):
    format, name, sizes = case
    model, rows, signature, inputs = networks.make(*networks.NETWORKS[name], networks.SIZES[sizes])
    path = tmp_path / FORMATS[format][1]
    report = rnn.export(model, path, format, input_signature=signature, verify=False, print_fn=None)
    call = formats.writer(format).load(str(path))
    not_zero = set()
    for x in inputs:
        got = call({"x": x})
        for output, want in model(x, training=False).items():
            want = np.asarray(want)
            if np.any(want != 0):
                not_zero.add(output)
            np.testing.assert_allclose(got[output], want, rtol=0, atol=2e-6, err_msg=output)
    assert not_zero == {*model.output}
    nodes = collections.defaultdict(list)
    for node in report.layers:
        nodes[node.name.split("/")[0]].append(node)
        assert bool(node.reason) == (node.target_op == LOOP), node
    assert set(nodes) == set().union(*rows.values())
    for row, names in rows.items():
        ops = {op_of(node) for name in names for node in nodes[name]}
        no_batch = format == "litert" and sizes == "open"  # the fused op needs one
        assert ops == ({LOOP} if no_batch else became(row, format)), row
    check_counts(format, path, model, nodes)


def check_counts(format, path, model, nodes):
    """Whether the ops of a file are those of the report."""
    if format == "onnx":
        ops = export_cases.ops_of(onnx.load(path))
        reported = [node.target_op for of_layer in nodes.values() for node in of_layer]
        count = sum(int(op.split()[0]) if " " in op else op != LOOP for op in reported)
        # Two nodes of the same input and other directions become one.
        assert count / 2 <= export_cases.recurrent(ops) <= count
        assert bool(ops["Loop"]) == (LOOP in reported)
    elif format == "litert":
        ops = collections.Counter(flatbuffer.count_ops(path.read_bytes()))
        count = 0
        for name, of_layer in nodes.items():
            if {node.target_op for node in of_layer} != {LOOP}:
                layer = model.get_layer(name)
                both = isinstance(layer, keras.layers.Bidirectional)
                both |= getattr(layer, "direction", "") == "bidirectional"
                count += (1 + both) * getattr(layer, "num_layers", 1)
        assert ops[FUSED] == count and not any(op.startswith("Flex") for op in ops)


OTHER_ROWS = [("float64", "float64", None), ("one step (`T = 1`)", "float32", 1)]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("row", "dtype", "time"), OTHER_ROWS)
def test_rows_of_a_size_or_a_type(row, dtype, time, format, tmp_path):
    """export() compares the file with the model."""
    inputs = keras.Input(batch_shape=(BATCH, time, SIZE))
    model = drawn(keras.Model(inputs, keras.layers.LSTM(UNITS, dtype=dtype)(inputs)))
    path = tmp_path / FORMATS[format][1]
    if became(row, format) == {"rejected"}:
        with pytest.raises(ValueError, match="computes in"):
            rnn.export(model, path, format, print_fn=None)
    else:
        report = rnn.export(model, path, format, print_fn=None)
        assert {op_of(node) for node in report.layers} == became(row, format)


def block(x):
    return tf.raw_ops.BlockLSTMV2(
        seq_len_max=tf.shape(x, tf.int64)[0],
        x=x,
        cs_prev=tf.zeros([BATCH, UNITS]),
        h_prev=tf.zeros([BATCH, UNITS]),
        w=tf.ones([SIZE + UNITS, 4 * UNITS]),
        wci=tf.zeros([UNITS]),
        wcf=tf.zeros([UNITS]),
        wco=tf.zeros([UNITS]),
        b=tf.zeros([4 * UNITS]),
    ).h


def cudnn(x):
    return tf.raw_ops.CudnnRNN(
        input=x,
        input_h=tf.zeros([1, BATCH, UNITS]),
        input_c=tf.zeros([1, BATCH, UNITS]),
        params=tf.ones([4 * UNITS * (SIZE + UNITS + 2)]),
        is_training=False,
    ).output


OPS = {
    networks.STACK: cudnn,
    "BlockLSTM and BlockLSTMV2 of which only `h` is read": block,
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("row", OPS)
def test_ops_of_tensorflow(row, format, tmp_path):
    module = tf.Module()
    spec = tf.TensorSpec([5, BATCH, SIZE], name="x")
    module.call = tf.function(OPS[row], input_signature=[spec], autograph=False)
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.call)
    (node,) = formats.writer(format).write(
        str(tmp_path / "saved"), str(tmp_path / FORMATS[format][1])
    )
    assert {node.target_op} == became(row, format)


def test_every_row_is_here():
    rows = {
        *networks.ROWS,
        *OPS,
        *(row for row, *_ in OTHER_ROWS),
        networks.MASKS,
        networks.BACKWARDS,
    }
    assert set(table()) == rows | {"initial states, final h", "final c"}
