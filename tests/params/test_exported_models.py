"""Files that torch.onnx (both exporters) and Keras (tf2onnx) write, against the frameworks' results.

make_exported_models.py wrote them.
"""

import pathlib

import numpy as np
import onnx
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops import params

FILE = pathlib.Path(__file__).with_name("exported_models.npz")
with np.load(FILE) as arrays:
    FOUND = dict(arrays)
NAMES = [name for name in FOUND if name.count(":") == 1]
REJECTED = {
    "learned": "initial_h of the node '.*' is a constant that is not 0",
    "states": "initial_h of the node '.*' comes from the output Y_h of the node",
    "packed": "sequence_lens of the node '.*' is a constant",
}
STACKS = {
    "lstm": tf_rnn_ops.keras.CudnnLSTM, "gru": tf_rnn_ops.keras.CudnnGRU,
    "rnn_tanh": tf_rnn_ops.keras.CudnnRNNTanh, "rnn_relu": tf_rnn_ops.keras.CudnnRNNRelu,
}  # fmt: skip


def _case(name):
    model = onnx.load_from_string(FOUND[name].tobytes())
    return model, FOUND[f"{name}:x"], FOUND[f"{name}:y"], FOUND.get(f"{name}:state")


def test_every_kind_is_there():
    kinds = {tuple(name.split(":")) for name in NAMES}
    assert {exporter for exporter, _ in kinds} == {
        "script", "script_unfolded", "dynamo", "dynamo_open", "keras",
    }  # fmt: skip
    assert {name for _, name in kinds} > set(REJECTED)


@pytest.mark.parametrize("name", [name for name in NAMES if name.split(":")[1] not in REJECTED])
def test_converted(name):
    model, x, want, state = _case(name)
    converted = params.from_onnx(model)
    stack = STACKS[converted.layout.rnn_mode].from_converted(converted, return_sequences=True)
    states = None if state is None else [state.swapaxes(0, 1)]
    np.testing.assert_allclose(stack(x, initial_state=states), want, rtol=0, atol=2e-6)
    got = x
    for k, layer in enumerate(tf_rnn_ops.keras.from_onnx(model)):
        got = layer(got, initial_state=None if state is None else [state[k]])
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if name.split(":")[1] in REJECTED])
def test_rejected(name):
    model = _case(name)[0]
    for convert in (params.from_onnx, tf_rnn_ops.keras.from_onnx):
        with pytest.raises(ValueError, match=REJECTED[name.split(":")[1]]):
            convert(model)
