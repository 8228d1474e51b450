"""QuantizedLayerRNN nodes rewritten to ordinary ops with the same integers."""

import itertools

import graphs
import keras
import numpy as np
import pytest
import tensorflow as tf
from test_portable_saved_model import meta_graph_of

import tf_rnn_ops.keras as rnn
from tf_rnn_ops import portable

SIZE, UNITS = 6, 5
LAYERS = {
    "lstm": lambda: rnn.LSTM(UNITS, activation="relu", return_sequences=True),
    "gru": lambda: rnn.GRU(UNITS, use_bias=False, return_sequences=True),
    "gru_before": lambda: keras.layers.Bidirectional(rnn.GRU(UNITS, reset_after=False)),
    "simple": lambda: rnn.SimpleRNN(UNITS),
    "projected": lambda: rnn.ProjectedLSTM(UNITS, num_proj=3),
    "bfloat16": lambda: rnn.LSTM(UNITS, dtype="mixed_bfloat16"),
}


@pytest.mark.parametrize(("name", "masked"), list(zip(LAYERS, itertools.cycle([False, True]))))
def test_saved_model(name, masked, rng, tmp_path):
    first = [keras.layers.Masking()] if masked else []
    model = keras.Sequential([keras.Input((None, SIZE)), *first, LAYERS[name]()])
    model.quantize("int8")
    model.export(tmp_path / "ours", verbose=False)
    report = portable.rewrite_saved_model(tmp_path / "ours", tmp_path / "plain")
    assert not report.kept
    # Calls of the layer in further signatures are nodes of their own.
    assert {change.replacement for change in report.changed if "Pack" not in change.op} == {
        "ordinary ops"
    }
    graph_def = meta_graph_of(tmp_path / "plain").graph_def
    assert not any(op.startswith("TfRnnOps>") for op in graphs.ops_in(graph_def))
    x = rng.standard_normal((3, 4, SIZE)).astype(np.float32)
    x[0, 2:] = x[1] = 0
    loaded = tf.saved_model.load(tmp_path / "plain")
    got = loaded.serve(x)
    # Float weights of the same values differ by more than 1e-4.
    np.testing.assert_allclose(got, model(x), rtol=0, atol=2e-6 if name != "bfloat16" else 4e-3)
