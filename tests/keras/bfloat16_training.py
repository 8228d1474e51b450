"""Child process: trains each layer in float32 and in bfloat16, and prints the losses as JSON.

Usage: python -m bfloat16_training PACKAGE. PACKAGE is the folder that the package must be in.
"""

import json
import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf

import tf_rnn_ops
from tf_rnn_ops.keras import layers

STEPS = 50
RATE = 0.05
BATCH, TIME, FEATURES, UNITS = 24, 9, 6, 17

# WHY not Keras's default: TensorFlow has no orthogonal matrices in bfloat16.
INITIALIZER = {"recurrent_initializer": "glorot_uniform"}

LAYERS = {
    "LSTM": lambda: layers.LSTM(UNITS, **INITIALIZER),
    "GRU": lambda: layers.GRU(UNITS, **INITIALIZER),
    "GRU, reset first": lambda: layers.GRU(UNITS, reset_after=False, **INITIALIZER),
    "SimpleRNN": lambda: layers.SimpleRNN(UNITS, **INITIALIZER),
    "Bidirectional": lambda: keras.layers.Bidirectional(layers.LSTM(UNITS, **INITIALIZER)),
    "PeepholeLSTM": lambda: layers.PeepholeLSTM(UNITS, **INITIALIZER),
    "ProjectedLSTM": lambda: layers.ProjectedLSTM(UNITS, 8, **INITIALIZER),
    "LayerNormLSTM": lambda: layers.LayerNormLSTM(UNITS, **INITIALIZER),
    "ZoneoutLSTM": lambda: layers.ZoneoutLSTM(UNITS, **INITIALIZER),
    "ZoneoutGRU": lambda: layers.ZoneoutGRU(UNITS, **INITIALIZER),
    "CudnnLSTM": lambda: layers.CudnnLSTM(UNITS, num_layers=2, **INITIALIZER),
    "CudnnGRU": lambda: layers.CudnnGRU(UNITS, num_layers=2, **INITIALIZER),
}


def _model(make, policy):
    keras.config.set_dtype_policy(policy)
    inputs = keras.Input((TIME, FEATURES), dtype="float32")
    outputs = make()(inputs)
    if len(outputs.shape) == 3:
        outputs = outputs[:, -1]
    model = keras.Model(inputs, keras.layers.Dense(1, dtype="float32")(outputs))
    model.compile(keras.optimizers.SGD(RATE), "mse")
    return model


def losses(make):
    """{policy: the loss of each step of `fit`}, from the same weights."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((BATCH, TIME, FEATURES)).astype("float32")
    y = np.tanh(x.sum(axis=(1, 2)) / 4)[:, np.newaxis]
    keras.utils.set_random_seed(7)
    weights, found = None, {}
    for policy in ("float32", "mixed_bfloat16", "bfloat16"):
        model = _model(make, policy)
        weights = weights or model.get_weights()
        model.set_weights(weights)
        history = model.fit(x, y, batch_size=BATCH, epochs=STEPS, shuffle=False, verbose=0)
        found[policy] = history.history["loss"]
    return found


def main():
    folder = pathlib.Path(tf_rnn_ops.__file__).parents[1]
    assert folder == pathlib.Path(sys.argv[1]), f"the package under test is in {folder}"
    tf.config.threading.set_intra_op_parallelism_threads(2)
    print(json.dumps({name: losses(make) for name, make in LAYERS.items()}))


if __name__ == "__main__":
    main()
