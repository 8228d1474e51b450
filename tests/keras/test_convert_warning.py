"""convert warns, once, of the layers that keep Keras's implementation."""

import warnings

import keras
import pytest

import tf_rnn_ops.keras as rnn

SIZE, UNITS, TIME = 3, 4, 5
SEQUENCES = {"return_sequences": True}


class MyLSTM(keras.layers.LSTM):
    pass


class MyCell(keras.layers.GRUCell):
    pass


def model_of(*layers, time=TIME):
    return keras.Sequential([keras.Input((time, SIZE)), *layers])


def warned(function):
    """The warnings of a call about Keras's implementation."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    return [one for one in found if "Keras's implementation" in str(one.message)]


def elu(name, **options):
    return keras.layers.LSTM(UNITS, activation="elu", name=name, **options)


def test_one_warning_names_the_layers():
    layers = [
        keras.layers.LSTM(UNITS, name="fast", **SEQUENCES),
        elu("activation", **SEQUENCES),
        MyLSTM(UNITS, name="subclass", **SEQUENCES),
        keras.layers.RNN(MyCell(UNITS), name="cell", **SEQUENCES),
        keras.layers.Bidirectional(
            keras.layers.GRU(UNITS, activation="gelu", name="gru"), name="both"
        ),
    ]
    model = model_of(*layers)
    (one,) = warned(lambda: rnn.convert(model))
    assert one.category is UserWarning and one.filename == __file__
    text = str(one.message)
    rows = rnn.explain(rnn.convert(model), print_fn=None)
    kept = [row for row in rows if row.path == "keras"]
    assert [row.layer for row in kept] == [
        *("activation", "subclass", "cell", "both/forward_gru", "both/backward_gru")
    ]
    for row in kept:
        assert f"'{row.layer}' ({row.reason})" in text
    assert "'fast'" not in text


@pytest.mark.parametrize("options", [{}, {"quantize": "int8"}])
def test_each_way_to_convert(options):
    model = model_of(keras.layers.LSTM(UNITS, **SEQUENCES), elu("slow"))
    (one,) = warned(lambda: rnn.convert(model, **options))
    assert "'slow'" in str(one.message) and "activation=elu" in str(one.message)


def test_many_layers():
    model = model_of(*(elu(f"slow_{k}", **SEQUENCES) for k in range(8)))
    (one,) = warned(lambda: rnn.convert(model))
    assert "'slow_4'" in str(one.message) and "'slow_5'" not in str(one.message)
    assert "3 more" in str(one.message)


SILENT = {
    "fused": lambda: model_of(keras.layers.LSTM(UNITS, **SEQUENCES), keras.layers.GRU(UNITS)),
    "unroll": lambda: model_of(keras.layers.LSTM(UNITS, unroll=True)),
    "use_cudnn": lambda: model_of(keras.layers.GRU(UNITS, use_cudnn=False)),
    "one step": lambda: model_of(keras.layers.LSTM(UNITS), time=1),
    "nothing": lambda: model_of(keras.layers.Dense(2)),
    "stack": lambda: model_of(rnn.CudnnLSTM(UNITS)),
}


@pytest.mark.parametrize("name", SILENT)
def test_no_warning(name):
    model = SILENT[name]()
    assert not warned(lambda: rnn.convert(model))


def test_reports_that_name_the_layers_anyway(tmp_path):
    model = model_of(elu("slow"))
    assert not warned(lambda: rnn.convert(model, to="keras"))
    assert not warned(lambda: rnn.export(model, tmp_path / "m", print_fn=None))
    assert not warned(lambda: rnn.compare(model, keras.ops.ones((2, TIME, SIZE)), print_fn=None))
