"""How far the outputs of a file may be from those of the model."""

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as rnn
from tf_rnn_ops._comparison import differences
from tf_rnn_ops._formats import formats
from tf_rnn_ops.keras._export.check import int8_error

LIMITS = differences.Limits(1e-4, 5e-7)


def worst(got, want, **options):
    return differences.worst(got, want, LIMITS, **options)


def test_each_output_has_its_own_scale():
    rng = np.random.default_rng(0)
    want = {"probabilities": rng.uniform(0, 1, (4, 3)), "logits": np.full((4, 3), -1e9)}
    got = {**want, "probabilities": want["probabilities"] + 1e-3}
    found = worst(got, want)
    assert not found.ok and found.name == "probabilities"
    assert found.tolerance < 1.1e-4 and 0.9e-3 < found.difference < 1.1e-3


def test_numbers_of_masks_do_not_widen_the_tolerance_of_others():
    want = np.random.default_rng(0).standard_normal(100)
    want[:90] = -1e9
    for wrong, agrees in ((1e-3, False), (1e-6, True)):
        got = want.copy()
        got[95] += wrong
        assert worst({"y": got}, {"y": want}).ok is agrees
    assert worst({"y": want * (1 + 1e-6)}, {"y": want}).ok


def test_zeros_have_the_scale_of_the_others():
    """As behind relu: a difference at a zero is that of the sums before it."""
    want = np.zeros(100)
    want[:3] = 10.0
    got = want.copy()
    got[50] = 1e-6
    assert worst({"y": got}, {"y": want}).ok
    got[50] = 1e-2
    assert not worst({"y": got}, {"y": want}).ok


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(bad):
    want = np.array([1.0, 2.0, 3.0])
    other = want.copy()
    other[1] = bad
    assert worst({"y": other}, {"y": other}).ok
    for got, expected in ((want, other), (other, want), (-other, other)):
        if not np.array_equal(got, expected, equal_nan=True) and not np.isnan(bad):
            assert not worst({"y": got}, {"y": expected}).ok
    assert not worst({"y": want}, {"y": other}).ok
    assert not worst({"y": other}, {"y": want}).ok
    assert not worst({"y": other}, {"y": want}, tolerance=1e30).ok


def test_the_worst_output_is_relative():
    want = {"small": np.full(3, 1e-3), "large": np.full(3, 1e3)}
    got = {"small": want["small"] + 1e-6, "large": want["large"] + 1e-3}
    assert worst(got, want).name == "small"
    assert worst(got, want, tolerance=1.0).name == "large"


def test_faults_are_sentences():
    want = {"y": np.ones((2, 3))}
    assert str(worst({"z": want["y"]}, want)) == "there is no output 'y', but 'z'."
    assert str(worst({}, want)) == "there is no output 'y', but none."
    shapes = "the output 'y' has the shape (3, 2) instead of (2, 3)."
    assert str(worst({"y": np.ones((3, 2))}, want)) == shapes
    text = np.array(["a", "b"], object)
    assert worst({"y": text}, {"y": text}).ok
    assert str(worst({"y": text[::-1]}, {"y": text})) == "the output 'y' has other strings."


def test_empty_outputs_and_no_outputs():
    assert worst({"y": np.ones((0, 3))}, {"y": np.ones((0, 3))}).ok
    assert worst({}, {}).ok


def test_rounding_of_an_output():
    want = {"y": np.ones(3), "z": np.ones(3)}
    got = {name: one + 0.01 for name, one in want.items()}
    assert worst(got, want).excess > 1
    assert worst(got, want, rounding={"y": 0.02}).name == "z"
    found = worst(got, want, rounding={"y": 0.02, "z": 0.02})
    assert found.ok and 0.02 < found.tolerance < 0.0202


def _wrong_by(monkeypatch, module, part):
    """Makes the files of a format wrong by a part of the largest number of each output."""
    original = module.load

    def load(path):
        call = original(path)
        return lambda feed: {n: a + part * np.max(np.abs(a)) for n, a in call(feed).items()}

    monkeypatch.setattr(module, "load", load)


def _model(dtype="float32", units=64, scale=1.0):
    keras.utils.set_random_seed(3)
    x = keras.Input((None, 32), name="x")
    options = {"dtype": dtype, "recurrent_initializer": "glorot_uniform"}
    y = keras.layers.LSTM(units, return_sequences=True, **options)(x)
    model = keras.Model(x, keras.layers.Dense(units, dtype=dtype, use_bias=False)(y))
    kernel = model.weights[-1]
    kernel.assign(kernel * scale)
    return model


@pytest.mark.parametrize("format", ["onnx", "litert"])
def test_int8_files_are_as_near_as_int8_of_the_model(format, tmp_path, monkeypatch):
    """A difference of 0.09 of the largest number is more than int8 weights make."""
    module = formats.writer(format)
    report = rnn.export(
        _model(), tmp_path / "right", format, weight_format="int8", batch_size=2, print_fn=None
    )
    assert 1e-5 < report.difference < report.tolerance < 0.08 * report.largest
    _wrong_by(monkeypatch, module, 0.09)
    with pytest.raises(ValueError, match="have different results"):
        rnn.export(
            _model(), tmp_path / "wrong", format, weight_format="int8", batch_size=2, print_fn=None
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "mixed_float16", "mixed_bfloat16"])
def test_outputs_of_16_bits_have_their_own_scale(dtype, tmp_path, monkeypatch):
    """Outputs of 1e-4 are below what 16 bits lose of a number of size 1."""
    module = formats.writer("onnx")
    report = rnn.export(_model(dtype, scale=2**-12), tmp_path / "a.onnx", print_fn=None)
    assert report.difference <= report.tolerance < 0.1 * report.largest < 1e-4
    _wrong_by(monkeypatch, module, 0.2)
    with pytest.raises(ValueError, match="have different results"):
        rnn.export(_model(dtype, scale=2**-12), tmp_path / "b.onnx", print_fn=None)


def test_a_model_without_an_int8_copy(tmp_path, monkeypatch):
    """Then a tenth of the scale is allowed, which is more."""
    known = rnn.export(_model(), tmp_path / "a.onnx", weight_format="int8", print_fn=None)
    monkeypatch.setattr(int8_error, "_copy", lambda model: None)
    report = rnn.export(_model(), tmp_path / "b.onnx", weight_format="int8", print_fn=None)
    assert known.tolerance < report.tolerance < 0.11 * report.largest


def test_integers():
    ids = np.array([1, 2, 30000])
    assert worst({"ids": ids}, {"ids": ids}).ok
    assert not worst({"ids": ids + np.array([1, 0, 0])}, {"ids": ids}).ok
    assert worst({"on": ids > 1}, {"on": ids > 1}).ok
    assert not worst({"on": ids > 2}, {"on": ids > 1}).ok


def test_a_model_whose_graph_is_less_exact_than_the_file(tmp_path):
    """Grappler adds -1e9 before the score, so the graph loses the score, and the file does not."""
    keras.utils.set_random_seed(5)
    layers = keras.layers
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    h = layers.GRU(8, return_sequences=True)(layers.Embedding(20, 8)(tokens))
    valid = layers.ReLU(max_value=1.0)(layers.Reshape((-1, 1))(layers.Rescaling(1.0)(tokens)))
    mask = layers.Rescaling(1e9, offset=-1e9)(valid)
    weights = layers.Softmax(axis=1)(layers.Add()([layers.Dense(1, activation="tanh")(h), mask]))
    summed = layers.Flatten()(layers.Dot(axes=1)([weights, h]))
    model = keras.Model(tokens, layers.Dense(3)(summed))
    batch = np.array([[3, 4, 5, 6, 0, 0], [7, 8, 9, 0, 0, 0]], np.int32)
    report = rnn.export(model, tmp_path / "m", verify_inputs=batch, print_fn=None)
    assert report.difference < 1e-6
