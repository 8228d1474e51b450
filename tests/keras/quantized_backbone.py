"""A model that keeps the policies of its layers in a DTypePolicyMap, as the backbones of KerasHub do.

As a child process: loads files that a parent wrote, and checks the predictions next to them.

Usage: python -m quantized_backbone FOLDER
"""

import pathlib
import sys

import keras
import numpy as np

import tf_rnn_ops.keras as ours

SIZE, UNITS = 6, 5


def _cells(dtype, name, **arguments):
    cells = [
        keras.layers.LSTMCell(UNITS, dtype=dtype, name="first"),
        keras.layers.GRUCell(3, dtype=dtype, name="second"),
    ]
    stacked = keras.layers.StackedRNNCells(cells, name="cells")
    return ours.RNN(stacked, dtype=dtype, name=name, **arguments)


# {name: makes a layer from a dtype and a name}.
LAYERS = {
    "LSTM": lambda **a: ours.LSTM(UNITS, **a),
    "GRU": lambda **a: ours.GRU(UNITS, use_bias=False, **a),
    "SimpleRNN": lambda **a: ours.SimpleRNN(UNITS, activation="relu", **a),
    "ProjectedLSTM": lambda **a: ours.ProjectedLSTM(UNITS, num_proj=3, **a),
    "RNN of cells": _cells,
    "Bidirectional": lambda dtype, name: keras.layers.Bidirectional(
        ours.GRU(UNITS, dtype=dtype, name="one"), name=name
    ),
    # These keep float weights.
    "ZoneoutLSTM": lambda **a: ours.ZoneoutLSTM(UNITS, **a),
    "CudnnGRU": lambda **a: ours.CudnnGRU(UNITS, **a),
}


@keras.saving.register_keras_serializable("tf_rnn_ops_tests")
class Backbone(keras.Model):
    """Dense and a recurrent layer, which get their policies as `dtype`."""

    def __init__(self, kind, dtype=None, name="backbone"):
        inputs = keras.Input((None, SIZE))
        outputs = keras.layers.Dense(4, dtype=dtype, name="dense")(inputs)
        outputs = LAYERS[kind](dtype=dtype, name="enc")(outputs)
        super().__init__(inputs, outputs, name=name)
        self.kind = kind
        if isinstance(dtype, keras.dtype_policies.DTypePolicyMap):
            self.dtype_policy = dtype

    def get_config(self):
        """The arguments of the constructor. `dtype` is a map of the policies of quantized layers."""
        policies = self.dtype_policy
        if not isinstance(policies, keras.dtype_policies.DTypePolicyMap):
            policies = keras.dtype_policies.DTypePolicyMap()
            for layer in self._flatten_layers():
                if layer.quantization_mode is not None:
                    policies[layer.path] = layer.dtype_policy
        return {"name": self.name, "kind": self.kind, "dtype": policies if len(policies) else None}

    @classmethod
    def from_config(cls, config):
        """A model of what get_config returned."""
        config = dict(config)
        if isinstance(config["dtype"], dict):
            config["dtype"] = keras.dtype_policies.deserialize(config["dtype"])
        return cls(**config)


def save(model, x, folder):
    """Writes a model, an input and the prediction."""
    model.save(folder / "model.keras")
    predicted = np.asarray(keras.ops.cast(model.predict(x, verbose=0), "float32"))
    np.savez(folder / "call.npz", x=x, predicted=predicted)


def check(folder):
    """Checks that the model in a file predicts what the saved model predicted, and has int8 weights."""
    model = keras.models.load_model(folder / "model.keras")
    with np.load(folder / "call.npz") as call:
        found = keras.ops.cast(model.predict(call["x"], verbose=0), "float32")
        np.testing.assert_array_equal(found, call["predicted"])
    print(sum(weight.dtype == "int8" for weight in model.weights))


if __name__ == "__main__":
    keras.config.set_dtype_policy(sys.argv[2])
    check(pathlib.Path(sys.argv[1]))
