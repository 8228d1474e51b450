"""convert, compare and explain with int8 weights."""

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as ours

SIZE = 6


def stock():
    return keras.Sequential(
        [
            keras.Input((None, SIZE)),
            keras.layers.Bidirectional(keras.layers.LSTM(5, return_sequences=True)),
            keras.layers.GRU(4, name="gru"),
            keras.layers.Dense(2),
        ]
    )


@pytest.fixture
def x(rng):
    return rng.normal(size=(8, 7, SIZE)).astype("float32")


def test_convert(x):
    model = stock()
    copy = ours.convert(model, quantize="int8")
    other = ours.convert(model)
    assert {layer.quantization_mode for layer in model.layers} == {None}
    assert [layer.quantization_mode for layer in copy.layers] == [None, "int8", None]
    assert copy.layers[0].forward_layer.cell.kernel.dtype == "int8"
    for layer in (other.layers[0].forward_layer, other.layers[0].backward_layer, other.layers[1]):
        layer.quantize("int8")
    np.testing.assert_array_equal(copy.predict(x, verbose=0), other.predict(x, verbose=0))


def test_quantize_of_a_converted_model(x):
    model = ours.convert(stock())
    before = model.predict(x, verbose=0)
    model.quantize("int8")
    assert [layer.quantization_mode for layer in model.layers] == [None, "int8", "int8"]
    assert 0 < np.abs(model.predict(x, verbose=0) - before).max() < 0.05
    back = ours.convert(ours.convert(stock()), to="keras")
    with pytest.warns(UserWarning, match="GRUCell does not have a `quantize` method"):
        back.quantize("int8")


def test_convert_skips_layers_without_int8():
    model = keras.Sequential(
        [keras.Input((None, SIZE)), ours.ZoneoutLSTM(3, return_sequences=True), ours.GRU(3)]
    )
    with pytest.warns(UserWarning, match="float weights in the copy: .* class ZoneoutLSTMCell"):
        copy = ours.convert(model, quantize="int8")
    assert [layer.quantization_mode for layer in copy.layers] == [None, "int8"]
    with pytest.raises(ValueError, match="nothing can be quantized: .* class ZoneoutLSTMCell"):
        ours.convert(
            keras.Sequential([keras.Input((None, 6)), ours.ZoneoutLSTM(3)]), quantize="int8"
        )
    with pytest.raises(ValueError, match="nothing can be quantized: .* has no recurrent layer"):
        ours.convert(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]), quantize="int8")


def test_convert_keeps_the_float_weights_of_stacks(x):
    stack = ours.CudnnLSTM(5, num_layers=2, direction="bidirectional", return_sequences=True)
    model = keras.Sequential([keras.Input((None, SIZE)), stack, ours.GRU(5)])
    with pytest.warns(UserWarning, match="The stack .* float weights only"):
        copy = ours.convert(model, quantize="int8")
    assert [layer.quantization_mode for layer in copy.layers] == [None, "int8"]
    difference = np.abs(copy.predict(x, verbose=0) - model.predict(x, verbose=0)).max()
    assert 0 < difference < 0.02
    with pytest.raises(ValueError, match="nothing can be quantized: The stack .* float weights"):
        ours.convert(stack, quantize="int8")


def test_bad_arguments_of_convert():
    with pytest.raises(ValueError, match="quantize must be 'int8' or None, but it is 'int4'"):
        ours.convert(stock(), quantize="int4")
    with pytest.raises(ValueError, match="quantize must be None with to='keras'"):
        ours.convert(stock(), to="keras", quantize="int8")
    with pytest.raises(ValueError, match="must be built"):
        ours.convert(keras.Sequential([keras.layers.LSTM(3)]), quantize="int8")
    with pytest.raises(ValueError, match="to must be one of .'keras', 'tf_rnn_ops'., .* 'stack'"):
        ours.convert(stock(), to="stack")
    with pytest.raises(ValueError, match="has int8 weights, which to="):
        ours.convert(ours.convert(stock(), quantize="int8"), to="keras")


def test_compare(x):
    model = stock()
    found = ours.compare(model, x, repeats=1, quantize="int8", print_fn=None)
    assert found.quantized and 0 < found.difference < 0.05
    assert "int8 weights" in str(found) and "The weights of" in str(found)
    again = ours.compare(ours.convert(model, quantize="int8"), x, repeats=1, print_fn=None)
    assert again.quantized and 0 < again.difference < 0.05
    plain = ours.compare(model, x, repeats=1, print_fn=None)
    assert not plain.quantized and "int8" not in str(plain)


def test_compare_has_the_dequantized_weights_on_keras_layers(x):
    """The difference is not that of the weights: large inputs of one feature quantize exactly."""
    model = keras.Sequential([keras.Input((None, 1)), ours.SimpleRNN(3)])
    model.quantize("int8")
    one = np.full((2, 1, 1), 0.5, "float32")
    assert ours.compare(model, one, repeats=1, print_fn=None).difference < 1e-6


def test_explain():
    model = ours.convert(stock(), quantize="int8")
    found = ours.explain(model, print_fn=None)
    assert [row.path for row in found] == ["fused"] * 3
    names = ", ".join(row.layer for row in found)
    assert (
        f"The weights of {names} are int8 in inference, and dequantized in training." in found.notes
    )
    assert not any("int8" in note for note in ours.explain(stock(), print_fn=None).notes)
