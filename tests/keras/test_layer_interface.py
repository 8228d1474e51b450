"""The interface of the layers and cells, compared with Keras's: properties, signatures, configs."""

import inspect

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as ours
from tf_rnn_ops.keras import layers

STOCK = keras.layers
LSTMS = ["LSTM", "CudnnLSTM", "PeepholeLSTM", "ProjectedLSTM", "LayerNormLSTM", "ZoneoutLSTM"]
LIKE = {
    **{name: STOCK.LSTM for name in LSTMS},
    **{name: STOCK.GRU for name in ("GRU", "CudnnGRU", "ZoneoutGRU")},
    **{name: STOCK.SimpleRNN for name in ("SimpleRNN", "CudnnRNNTanh", "CudnnRNNRelu")},
}
CELLS = {
    **{f"{name}Cell": STOCK.LSTMCell for name in LSTMS[2:]},
    "ZoneoutGRUCell": STOCK.GRUCell,
}
DROP_IN = ("LSTM", "GRU", "SimpleRNN")
# Arguments of Keras that the constructors do not have.
ABSENT = {
    "Layer": {"autocast"},
    "own": {"use_cudnn"},
    "Cudnn": {
        "activation", "recurrent_activation", "recurrent_dropout", "unroll", "reset_after", "use_cudnn",
    },
}  # fmt: skip
OWN = {
    "PeepholeLSTM": {"cell_clip": 0.1},
    "ProjectedLSTM": {"num_proj": 2, "cell_clip": 0.1, "proj_clip": 0.3},
    "LayerNormLSTM": {"norm_epsilon": 0.001},
    "ZoneoutLSTM": {"zoneout_h": 0.1, "zoneout_c": 0.3},
    "ZoneoutGRU": {"zoneout_h": 0.1},
}


def test_every_layer_is_here():
    assert {name for name in layers.__all__ if not name.endswith("Cell")} == {
        *LIKE,
        "RNN",
        "Reversed",
    }
    assert {name for name in layers.__all__ if name.endswith("Cell")} == set(CELLS)


@pytest.mark.parametrize(("name", "stock"), LIKE.items())
def test_properties_of_the_layers_of_keras(name, stock):
    options = {"activation": "relu"} if name == "CudnnRNNRelu" else {}
    layer, plain = getattr(ours, name)(3), stock(3, **options)
    names = [name for name, value in inspect.getmembers(stock) if isinstance(value, property)]
    own = [name for name in names if name not in dir(keras.layers.RNN)]
    assert {"units", "activation", "use_bias", "dropout", "kernel_initializer"} <= set(own)
    for one in own:
        got, want = getattr(layer, one), getattr(plain, one)
        if one.endswith("initializer"):
            assert type(got) is type(want)
        else:
            assert got == want, one


@pytest.mark.parametrize("name", OWN)
def test_arguments_are_shown_and_kept(name):
    """Also those that are of the cell; as they were given, not as the op has them, in float32."""
    cls = getattr(ours, name)
    shown = inspect.signature(cls).parameters
    named = {"return_sequences", "go_backwards", "stateful", "zero_output_for_mask"}
    named |= {*inspect.signature(CELLS[f"{name}Cell"]).parameters, *OWN[name]}
    assert named - {"kwargs"} <= set(shown)
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in shown.values())
    layer = cls(3, seed=7, recurrent_dropout=0.25, **OWN[name])
    for argument, value in {"seed": 7, "recurrent_dropout": 0.25, **OWN[name]}.items():
        assert getattr(layer, argument) == layer.get_config()[argument] == value
    for argument in shown:
        if argument in dir(cls):
            assert isinstance(inspect.getattr_static(cls, argument), property), argument
    default = cls(3).get_config()
    for argument in set(shown) & set(default) - {"units", "name"} - set(OWN[name]):
        value = shown[argument].default
        assert isinstance(default[argument], dict) or default[argument] == value, argument


def missing(shown, stock, absent=()):
    """The arguments of constructors of Keras that `shown` lacks, or has with another default."""
    for argument, parameter in inspect.signature(stock.__init__).parameters.items():
        if argument not in ("self", *absent) and parameter.kind is not parameter.VAR_KEYWORD:
            if argument not in shown or shown[argument].default != parameter.default:
                yield argument


@pytest.mark.parametrize("name", ["LSTM", "GRU", "SimpleRNN", "RNN"])
def test_signatures_of_drop_in_layers(name):
    cls, stock = getattr(ours, name), getattr(STOCK, name)
    # Keras does not follow __wrapped__.
    shown = inspect.signature(cls.__init__, follow_wrapped=False)
    assert shown == inspect.signature(stock.__init__)
    assert inspect.signature(cls) == inspect.signature(stock)


@pytest.mark.parametrize(("name", "stock"), CELLS.items())
def test_signatures_of_cells(name, stock):
    shown = inspect.signature(getattr(ours, name)).parameters
    assert list(missing(shown, stock)) == []
    assert list(missing(shown, STOCK.Layer, ABSENT["Layer"])) == []


@pytest.mark.parametrize(
    ("name", "stock"), [(name, LIKE[name]) for name in LIKE if name not in DROP_IN]
)
def test_signatures_of_own_layers(name, stock):
    """They name an argument as Keras does, with the same default; Keras has no argument that nobody saw."""
    shown = inspect.signature(getattr(ours, name)).parameters
    absent = ABSENT["Cudnn" if name.startswith("Cudnn") else "own"]
    assert list(missing(shown, stock, absent)) == []
    assert list(missing(shown, STOCK.Layer, ABSENT["Layer"])) == []
    assert not absent & set(shown)
    if not name.startswith("Cudnn"):
        cell = inspect.signature(getattr(ours, f"{name}Cell")).parameters
        assert all(shown[argument] == parameter for argument, parameter in cell.items())
        assert list(missing(shown, STOCK.RNN, {"cell"})) == []


def test_a_new_argument_of_keras_is_noticed():
    class Newer(STOCK.LSTMCell):
        def __init__(self, units, recurrent_dropout=0.5, fused=True, **kwargs):
            super().__init__(units, **kwargs)

    shown = inspect.signature(ours.PeepholeLSTMCell).parameters
    assert list(missing(shown, Newer)) == ["recurrent_dropout", "fused"]


@pytest.mark.parametrize("name", [*LIKE, "RNN"])
def test_repr_names_the_package(name):
    layer = getattr(ours, name)(keras.layers.LSTMCell(3) if name == "RNN" else 3, name="mine")
    assert repr(layer) == str(layer) == f"<tf_rnn_ops.keras.{name} name=mine, built=False>"


class _Mine(ours.LSTM):
    pass


def test_repr_of_a_subclass():
    assert repr(_Mine(3, name="one")) == f"<{__name__}._Mine name=one, built=False>"


@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell", *CELLS])
def test_implementation_is_saved_with_cells(name):
    cls = getattr(ours, name, None) or getattr(STOCK, name)
    for given, dropout in ((1, 0.0), (2, 0.0), (1, 0.5), (2, 0.5)):
        cell = cls(3, implementation=given, recurrent_dropout=dropout)
        for layer in (ours.RNN(cell), ours.RNN([STOCK.SimpleRNNCell(2), cell])):
            again = ours.RNN.from_config(layer.get_config())
            last = getattr(again.cell, "cells", [again.cell])[-1]
            assert last.implementation == cell.implementation
            stock = keras.layers.RNN.from_config(layer.get_config())
            assert stock.get_config()["cell"]["class_name"] == type(layer.cell).__name__


@pytest.mark.parametrize("name", [*LIKE, "RNN"])
def test_xla_can_be_forbidden(name):
    layer = getattr(ours, name)(keras.layers.LSTMCell(3) if name == "RNN" else 3)
    before = layer.supports_jit
    layer.supports_jit = False
    assert layer.supports_jit is False
    layer.supports_jit = True
    assert layer.supports_jit is True or not before


def test_xla_can_be_forbidden_to_accelerated_layers():
    with ours.accelerate():
        layer, other = keras.layers.LSTM(3), keras.layers.LSTM(3)
        layer.supports_jit = False
        assert layer.supports_jit is False
        assert other.supports_jit == ours.LSTM(3).supports_jit


@pytest.mark.parametrize("name", [*LIKE, "RNN"])
def test_stateless_calls_take_arrays(name):
    """Keras does not convert the arguments of a stateless call."""
    layer = getattr(ours, name)(keras.layers.LSTMCell(3) if name == "RNN" else 3)
    for dtype in ("float32", "int32"):
        x = np.arange(24).reshape(2, 4, 3).astype(dtype)
        want = layer(x)
        weights = layer.trainable_variables, layer.non_trainable_variables
        np.testing.assert_array_equal(layer.stateless_call(*weights, x)[0], want)
