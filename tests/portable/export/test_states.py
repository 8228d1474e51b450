"""Variables that change while a model runs: states, which a file would forget, and the seeds of dropout."""

import itertools
import os
import subprocess
import sys

import keras
import pytest
from export_cases import SIZE, UNITS

import tf_rnn_ops.keras as rnn
from support.models import drawn
from support.selection import all_but

FILES = {"onnx": "m.onnx", "litert": "m.tflite", "openvino": "m.xml"}
LAYERS = {
    "lstm": keras.layers.LSTM,
    "stack": rnn.CudnnGRU,
    "loop": lambda units, **o: keras.layers.GRU(units, activation="elu", **o),
}


def model_of(layer):
    x = keras.Input(batch_shape=(2, 3, SIZE))
    return drawn(keras.Model(x, layer(x)))


USUAL = [("lstm", "litert"), ("stack", "openvino"), ("loop", "onnx")]


@pytest.mark.parametrize(
    "case", all_but(list(itertools.product(LAYERS, FILES)), *USUAL), ids="-".join
)
def test_states_that_a_file_would_forget(case, tmp_path):
    """The file would begin each call with the states that the model has while it is written."""
    name, format = case
    model = model_of(LAYERS[name](UNITS, stateful=True, name="keeps"))
    path = tmp_path / FILES[format]
    with pytest.raises(ValueError, match="keeps a state in a variable .*keeps.*streaming=True"):
        rnn.export(model, path, format, print_fn=None)
    assert not list(tmp_path.iterdir())
    rnn.export(model, path, format, streaming=True, print_fn=None)


@pytest.mark.parametrize("format", FILES)
def test_seeds_of_dropout(format, tmp_path):
    """Keras draws new masks in inference, which nothing reads."""
    path = tmp_path / FILES[format]
    options = {"dropout": 0.5, "return_sequences": True}
    layers = [
        keras.layers.LSTM(UNITS, recurrent_dropout=0.5, **options),
        keras.layers.GRU(UNITS, activation="elu", **options),
        rnn.CudnnLSTM(UNITS, num_layers=2, **options),
    ]
    x = keras.Input(batch_shape=(2, 3, SIZE))
    model = drawn(keras.Model(x, [layer(x) for layer in layers]))
    rnn.export(model, path, format, print_fn=None)


MASK_AND_DROPOUT = """
import sys, warnings
warnings.simplefilter("error")
import keras
import tf_rnn_ops.keras
from keras import layers

model = keras.Sequential([keras.Input((6,), dtype="int32", batch_size=2), layers.Embedding(9, 3, mask_zero=True)])
model.add(layers.Bidirectional(layers.LSTM(4, return_sequences=True, dropout=0.2)))
model.add(layers.GRU(4, dropout=0.2, activation="elu"))
tf_rnn_ops.keras.export(model, sys.argv[1], print_fn=None)
"""


@pytest.mark.parametrize(
    "name",
    ["m.onnx", *(pytest.param(n, marks=pytest.mark.thorough) for n in ("m", "m.tflite", "m.xml"))],
)
def test_nothing_looks_like_an_error(name, tmp_path):
    """A file of a model with masks and dropout is written without a warning, in a process that also ends well."""
    command = [sys.executable, "-c", MASK_AND_DROPOUT, str(tmp_path / name)]
    env = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=env
    )
    assert done.returncode == 0, done.stderr
    for word in ("Traceback", "Exception ignored", "Error", "tf2onnx"):
        assert word not in done.stderr, done.stderr
