"""Writes a set of files that later versions must read: `python -m robustness.upgrades.write FOLDER`.

A set is written once for a release and never changed; test_upgrades.py reads all sets.
"""

import pathlib
import shutil
import sys
import tempfile

import keras
import numpy as np

import tf_rnn_ops.keras
from support import subproc
from support.layer_cases import layer_case
from support.layer_ops import tensors
from support.packed_calls import PACKED_WEIGHTS, TRAINING
from tf_rnn_ops import raw_ops
from tf_rnn_ops.keras import layers

T, B, I = 6, 5, 3  # noqa: E741


def _sequential(*stacked):
    return keras.Sequential([keras.Input((None, I)), *stacked])


def models():
    """The models of a set by name: the ops of all kinds of layers; `layers` has nodes of ONNX only."""
    quantized = _sequential(layers.LSTM(6, return_sequences=True), layers.GRU(5))
    quantized.quantize("int8")
    return {
        "layers": _sequential(
            keras.layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
            layers.GRU(5, reset_after=False, return_sequences=True),
            layers.PeepholeLSTM(4, return_sequences=True),
            layers.SimpleRNN(4),
        ),
        "stack": _sequential(layers.CudnnLSTM(5, num_layers=2, direction="bidirectional")),
        "norm": _sequential(
            layers.ProjectedLSTM(6, 3, return_sequences=True), layers.LayerNormLSTM(4)
        ),
        "int8": quantized,
    }


def packed(path):
    """Writes inputs of LayerRNNPacked, with weights that this process packed."""
    rng = np.random.default_rng(5)
    arrays = {}
    for mode in ("lstm", "gru", "rnn_tanh"):
        case = layer_case(
            mode, (T, B, I, 18), rng, "float32", input_mask=False, recurrent_mask=False
        )
        inputs = {n: t for n, t in tensors(case).items() if n not in TRAINING}
        weights = {n: inputs[n] for n in PACKED_WEIGHTS}
        inputs["packed"] = raw_ops.PackLayerRNN(**weights, rnn_mode=mode)
        arrays |= {f"{mode}/{name}": tensor.numpy() for name, tensor in inputs.items()}
    np.savez(path, **arrays)


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    keras.utils.set_random_seed(5)
    x = np.random.default_rng(5).normal(size=(B, T, I)).astype("float32")
    values = {"x": x}
    for name, model in models().items():
        # Weights of a size at which the gates are neither open nor closed; biases are not zero.
        if name != "int8":
            model.set_weights(
                [
                    np.random.default_rng(k).normal(size=w.shape) / 2
                    for k, w in enumerate(model.get_weights())
                ]
            )
        values[name] = model.predict(x, verbose=0)
        with tempfile.TemporaryDirectory() as exported:
            path = pathlib.Path(exported, name)
            tf_rnn_ops.keras.export(model, path, print_fn=None)
            shutil.make_archive(folder / name, "zip", path)
        if name == "layers":
            tf_rnn_ops.keras.export(model, folder / f"{name}.onnx", print_fn=None)
    np.savez(folder / "values.npz", **values)
    for isa in ("baseline", "avx2"):
        path = folder / f"packed_{isa}.npz"
        subproc.run_module("robustness.upgrades.write", "--packed", path, TF_RNN_OPS_CPU_ISA=isa)


if __name__ == "__main__":
    packed(sys.argv[2]) if sys.argv[1] == "--packed" else main(sys.argv[1])
