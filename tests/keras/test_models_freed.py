"""Models and their layers are freed after each tool has worked on them."""

import gc
import weakref

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as rnn

X, Y = np.ones((4, 7, 5), "float32"), np.ones((4, 6), "float32")


def model_of(cls):
    model = keras.Sequential([keras.Input((7, 5)), cls(6)])
    model.compile("adam", "mse")
    return model


def quantize(model, folder):
    model = rnn.convert(model)
    model.quantize("int8")
    model.predict(X, verbose=0)
    return [model]


def convert(model, folder):
    model.fit(X, Y, verbose=0)
    copies = [rnn.convert(model), rnn.convert(model, quantize="int8")]
    for copy in copies:
        copy.predict(X, verbose=0)
    return copies


def compare(model, folder):
    return [rnn.compare(model, X, Y, repeats=1, print_fn=None)]


def export(model, folder):
    return [rnn.export(model, folder / "model", print_fn=None)]


def accelerate(model, folder):
    model.predict(X, verbose=0)
    with rnn.accelerate():
        model.fit(X, Y, verbose=0)
        rnn.explain(model, print_fn=None)
    return []


@pytest.mark.parametrize("tool", [quantize, convert, compare, export, accelerate])
def test_freed(tool, tmp_path):
    def worked_on():
        model = model_of(keras.layers.LSTM)
        things = [model, model.layers[0]]
        for result in tool(model, tmp_path):
            things += [result, *getattr(result, "layers", [])]
        return [weakref.ref(thing) for thing in things if isinstance(thing, keras.layers.Layer)]

    found = worked_on()
    keras.backend.clear_session()
    gc.collect()
    assert [ref() for ref in found] == [None] * len(found)


def test_quantize_does_not_collect_garbage_for_each_variable(monkeypatch):
    layers = [keras.layers.LSTM(6, return_sequences=True) for _ in range(3)]
    model = rnn.convert(keras.Sequential([keras.Input((7, 5)), *layers]))
    calls = []
    monkeypatch.setattr(gc, "collect", lambda *args: calls.append(args))
    model.quantize("int8")
    assert len(calls) <= 1
