"""quantize("int8") frees the float weights, their packed copies and the functions that read them."""

import gc
import weakref

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as ours
from support import subproc
from support.selection import all_but
from tf_rnn_ops import raw_ops

FLOAT, INT8 = 64, 16  # MiB of weights; packed weights need as much
SLACK = 12


def address(packed):
    return np.frombuffer(memoryview(packed), np.uint8).ctypes.data


@pytest.mark.parametrize("what", all_but(["model", "layers", "function"], "model", "function"))
def test_memory_of_a_process(what):
    variables = {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_RNN_OPS_CACHE_MB": "0"}
    out = subproc.run_module("quantized_memory", what, **variables)
    before, quantized, later = map(float, out.split())
    assert before > 2 * FLOAT, out
    # A function that was traced before reads the float weights.
    read = FLOAT if what == "function" else 0
    assert quantized < read + INT8 + SLACK, out
    assert later < 2 * INT8 + SLACK, out


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 7, 6)).astype("float32")


def test_functions_of_models_are_made_again(x):
    """Also those of a model in the model."""
    inner = keras.Sequential([keras.Input((None, 6)), ours.LSTM(5)])
    model = keras.Sequential([keras.Input((None, 6)), inner, keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    model.fit(x, np.zeros((4, 2)), verbose=0)
    model.evaluate(x, np.zeros((4, 2)), verbose=0)
    before = {one: one.predict(x, verbose=0) for one in (inner, model)}
    functions = [
        weakref.ref(function)
        for one in (inner, model)
        for function in (one.train_function, one.test_function, one.predict_function)
        if function is not None
    ]
    assert len(functions) == 4
    model.quantize("int8")
    assert not any(function() for function in functions)
    for one in (inner, model):
        after = one.predict(x, verbose=0)
        np.testing.assert_array_equal(after, one(x))
        assert not np.array_equal(after, before[one])
    model.fit(x, np.zeros((4, 2)), verbose=0)


def test_variables_are_gone(x):
    model = keras.Sequential([keras.Input((None, 6)), ours.GRU(5), keras.layers.Dense(2)])
    model.predict(x, verbose=0)
    cell = model.layers[0].cell
    weights = [
        weakref.ref(w) for one in (cell.kernel, cell.recurrent_kernel) for w in (one, one.value)
    ]
    model.quantize("int8")
    gc.collect()
    assert not any(weight() for weight in weights)


def test_a_held_variable_keeps_its_value(x, monkeypatch):
    """It has the same value as before, but no packed weights are kept for it."""
    packed = []

    def recorded(*, _op=raw_ops.PackLayerRNN, **arguments):
        packed.append((arguments, _op(**arguments)))
        return packed[-1][1]

    layer = ours.LSTM(5)
    layer.build(x.shape)
    layer(x)
    held = layer.cell.kernel
    value = held.numpy().copy()
    monkeypatch.setattr(raw_ops, "PackLayerRNN", recorded)
    layer(x)
    layer(x)
    assert len({address(one) for _, one in packed}) == 1
    weights, first = packed[0]
    layer.quantize("int8")
    np.testing.assert_array_equal(held.numpy(), value)
    again = raw_ops.PackLayerRNN(**{**weights, "kernel": held.value.read_value()})
    assert address(again) != address(first)
    np.testing.assert_array_equal(again, first)
