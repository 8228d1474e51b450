"""Child process: packed weights that leave it, or that come from another instruction set.

Usage: python -m ops.packed_elsewhere pack OUT.npz | use IN.npz... | save MODEL | serve MODEL
"""

import sys

import numpy as np
import tensorflow as tf

from support.layer_cases import layer_case
from support.layer_ops import tensors
from support.packed_calls import TRAINING
from tf_rnn_ops import raw_ops as ops

WEIGHTS = ("kernel", "recurrent_kernel", "bias")


def _problems():
    rng = np.random.default_rng(11)
    for mode in ("lstm", "gru", "rnn_tanh"):
        for dtype in ("float32", "bfloat16"):
            none = {"input_mask": False, "recurrent_mask": False}
            case = layer_case(mode, (5, 4, 10, 18), rng, dtype, **none)
            inputs = {n: t for n, t in tensors(case).items() if n not in TRAINING}
            yield f"{mode} {dtype}", mode, inputs


def _plain(mode, inputs):
    return ops.LayerRNN(**inputs, rnn_mode=mode, is_training=False)


def _packed(mode, inputs):
    return ops.PackLayerRNN(**{n: inputs[n] for n in WEIGHTS}, rnn_mode=mode)


def _assert_same(got, want):
    for name in ("output", "output_h"):
        assert getattr(got, name).numpy().tobytes() == getattr(want, name).numpy().tobytes(), name


def pack(path):
    """Writes packed weights."""
    np.savez(path, **{name: _packed(mode, inputs).numpy() for name, mode, inputs in _problems()})


def use(*paths):
    """Runs with packed weights of other processes."""
    for path in paths:
        with np.load(path) as data:
            for name, mode, inputs in _problems():
                got = ops.LayerRNNPacked(**inputs, rnn_mode=mode, packed=data[name])
                _assert_same(got, _plain(mode, inputs))


def save(path):
    """Writes a model in which plain and packed weights are constants."""
    module = tf.Module()
    for k, (_, mode, inputs) in enumerate(_problems()):
        setattr(module, f"run{k}", _frozen(mode, inputs))
    tf.saved_model.save(module, path)


def _frozen(mode, inputs):
    constants = {n: inputs[n].numpy() for n in inputs if n != "input"}
    packed = _packed(mode, inputs).numpy()

    @tf.function(input_signature=[tf.TensorSpec(inputs["input"].shape, inputs["input"].dtype)])
    def run(x):
        held = {n: tf.constant(v) for n, v in constants.items()}
        result = ops.LayerRNNPacked(input=x, **held, rnn_mode=mode, packed=tf.constant(packed))
        return result.output, result.output_h

    return run


def serve(path):
    """Runs that model."""
    model = tf.saved_model.load(path)
    for k, (_, mode, inputs) in enumerate(_problems()):
        output, output_h = getattr(model, f"run{k}")(inputs["input"])
        want = _plain(mode, inputs)
        assert output.numpy().tobytes() == want.output.numpy().tobytes()
        assert output_h.numpy().tobytes() == want.output_h.numpy().tobytes()


if __name__ == "__main__":
    {"pack": pack, "use": use, "save": save, "serve": serve}[sys.argv[1]](*sys.argv[2:])
