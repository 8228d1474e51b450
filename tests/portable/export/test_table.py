"""The table of docs/export.md, row by row: what becomes of the layers in each format."""

import pathlib
import re

import keras
import pytest
import tensorflow as tf
from export_cases import SEQUENCES, SIZE, UNITS
from export_networks import BATCH

import tf_rnn_ops.keras as rnn
from support.models import drawn
from tf_rnn_ops._formats import formats

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "export.md"
HEAD = "layer or op"
FILES = {"ONNX": "m.onnx", "LiteRT": "m.tflite", "OpenVINO": "m.xml"}
LSTM, GRU, SimpleRNN = keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN


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


class OwnCell(keras.layers.SimpleRNNCell):
    """A cell that the ops do not know."""

    def call(self, *arguments, **options):
        output, states = super().call(*arguments, **options)
        return 2 * output, states


def masked(x):
    x = keras.layers.Masking()(x)
    return [LSTM(UNITS)(x), keras.layers.Bidirectional(LSTM(UNITS, **SEQUENCES))(x)]


def states(x):
    first = [keras.layers.Dense(UNITS)(x[:, 0]) for _ in range(2)]
    return list(LSTM(UNITS, return_state=True)(x, initial_state=first)[:2])


# By the first cell of a row: layers of an input, or a function of TensorFlow.
ROWS = {
    "LSTM with tanh and sigmoid": lambda x: [LSTM(UNITS)(x), rnn.LSTM(UNITS)(x)],
    "LSTM with the activation `relu`": lambda x: [LSTM(UNITS, activation="relu")(x)],
    "LSTM with `hard_sigmoid` or `linear`": lambda x: [
        LSTM(UNITS, recurrent_activation="hard_sigmoid")(x),
        LSTM(UNITS, activation="linear")(x),
    ],
    "GRU with `reset_after` or not, SimpleRNN": lambda x: [
        GRU(UNITS)(x),
        GRU(UNITS, reset_after=False)(x),
        SimpleRNN(UNITS)(x),
        SimpleRNN(UNITS, activation="relu")(x),
    ],
    "RNN of several cells": lambda x: [
        keras.layers.RNN([keras.layers.LSTMCell(UNITS), keras.layers.GRUCell(2)])(x)
    ],
    "`go_backwards=True`, Bidirectional": lambda x: [
        LSTM(UNITS, go_backwards=True)(x),
        keras.layers.Bidirectional(LSTM(UNITS, **SEQUENCES))(x),
    ],
    "masks: padding left or right, holes, sequences without a valid step": masked,
    "initial states, final h": states,
    "final c": lambda x: [LSTM(UNITS, return_state=True)(x)[2]],
    "PeepholeLSTM, and ProjectedLSTM without a projection": lambda x: [
        rnn.PeepholeLSTM(UNITS)(x),
        rnn.ProjectedLSTM(UNITS, use_peepholes=True)(x),
    ],
    "CudnnLSTM and the other stacks; TensorFlow's CudnnRNN ops": lambda x: [
        rnn.CudnnLSTM(UNITS, num_layers=2)(x)
    ],
    "ProjectedLSTM with a projection, LayerNormLSTM, ZoneoutLSTM, ZoneoutGRU, `cell_clip`": lambda x: [
        rnn.ProjectedLSTM(UNITS, num_proj=2)(x),
        rnn.LayerNormLSTM(UNITS)(x),
        rnn.ZoneoutLSTM(UNITS, zoneout_c=0.1)(x),
        rnn.ZoneoutGRU(UNITS, zoneout_h=0.1)(x),
        rnn.PeepholeLSTM(UNITS, cell_clip=0.3)(x),
    ],
    "float64": lambda x: [LSTM(UNITS, dtype="float64")(x)],
    "other activations, cells of classes of your own": lambda x: [
        GRU(UNITS, activation="elu")(x),
        keras.layers.RNN(OwnCell(UNITS))(x),
    ],
    "one step (`T = 1`)": lambda x: [LSTM(UNITS)(x)],
}


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
    "CudnnLSTM and the other stacks; TensorFlow's CudnnRNN ops": cudnn,
    "BlockLSTM and BlockLSTMV2 of which only `h` is read": block,
}


def test_every_row_is_here():
    assert set(table()) == set(ROWS | OPS)


def became(cell):
    """The names in a cell: what comes behind a comma is a remark."""
    return set(cell.split(",")[0].split(" or "))


@pytest.mark.each_value
@pytest.mark.parametrize("format", FILES)
@pytest.mark.parametrize("row", ROWS)
def test_layers(row, format, tmp_path):
    name = format.lower()
    path, cell = tmp_path / FILES[format], table()[row][format]
    inputs = keras.Input(batch_shape=(BATCH, 1 if row.startswith("one step") else None, SIZE))
    model = drawn(keras.Model(inputs, ROWS[row](inputs)))
    if cell == "rejected":
        with pytest.raises(ValueError, match="computes in"):
            rnn.export(model, path, name, print_fn=None)
        return
    report = rnn.export(model, path, name, print_fn=None)
    assert {re.sub(r"^\d+ ", "", node.target_op) for node in report.layers} == became(cell)
    of_keras = [node.op in ("GRU", "RNN") for node in report.layers]
    assert all(of_keras) if cell.endswith("of Keras") else not any(of_keras)


@pytest.mark.parametrize("format", FILES)
@pytest.mark.parametrize("row", OPS)
def test_ops_of_tensorflow(row, format, tmp_path):
    module = tf.Module()
    spec = tf.TensorSpec([5, BATCH, SIZE], name="x")
    module.call = tf.function(OPS[row], input_signature=[spec], autograph=False)
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.call)
    path = tmp_path / FILES[format]
    (node,) = formats.writer(format.lower()).write(str(tmp_path / "saved"), str(path))
    assert {node.target_op} == became(table()[row][format])
