"""How far the outputs of a file may be from those of the model."""

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as rnn
from tf_rnn_ops.keras.tools import agreement

LIMITS = agreement.Limits(1e-4, 5e-7)


def worst(got, want, **options):
    return agreement.worst(got, want, LIMITS, **options)


def test_each_output_has_its_own_scale():
    rng = np.random.default_rng(0)
    want = {"probabilities": rng.uniform(0, 1, (4, 3)), "logits": np.full((4, 3), -1e9)}
    got = {**want, "probabilities": want["probabilities"] + 1e-3}
    found = worst(got, want)
    assert not found.agrees and found.output == "probabilities"
    assert found.tolerance < 1.1e-4 and 0.9e-3 < found.difference < 1.1e-3


def test_numbers_of_masks_do_not_widen_the_tolerance_of_others():
    want = np.random.default_rng(0).standard_normal(100)
    want[:90] = -1e9
    for wrong, agrees in ((1e-3, False), (1e-6, True)):
        got = want.copy()
        got[95] += wrong
        assert worst({"y": got}, {"y": want}).agrees is agrees
    assert worst({"y": want * (1 + 1e-6)}, {"y": want}).agrees


def test_zeros_have_the_scale_of_the_others():
    """As behind relu: a difference at a zero is that of the sums before it."""
    want = np.zeros(100)
    want[:3] = 10.0
    got = want.copy()
    got[50] = 1e-6
    assert worst({"y": got}, {"y": want}).agrees
    got[50] = 1e-2
    assert not worst({"y": got}, {"y": want}).agrees


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(bad):
    want = np.array([1.0, 2.0, 3.0])
    other = want.copy()
    other[1] = bad
    assert worst({"y": other}, {"y": other}).agrees
    for got, expected in ((want, other), (other, want), (-other, other)):
        if not np.array_equal(got, expected, equal_nan=True) and not np.isnan(bad):
            assert not worst({"y": got}, {"y": expected}).agrees
    assert not worst({"y": want}, {"y": other}).agrees
    assert not worst({"y": other}, {"y": want}).agrees
    assert not worst({"y": other}, {"y": want}, tolerance=1e30).agrees


def test_the_worst_output_is_relative():
    want = {"small": np.full(3, 1e-3), "large": np.full(3, 1e3)}
    got = {"small": want["small"] + 1e-6, "large": want["large"] + 1e-3}
    assert worst(got, want).output == "small"
    assert worst(got, want, tolerance=1.0).output == "large"


def test_faults_are_sentences():
    want = {"y": np.ones((2, 3))}
    assert str(worst({"z": want["y"]}, want)) == "the file has no output 'y', but 'z'."
    assert str(worst({}, want)) == "the file has no output 'y', but none."
    shapes = "the output 'y' has the shape (3, 2) in the file and (2, 3) in the model."
    assert str(worst({"y": np.ones((3, 2))}, want)) == shapes
    text = np.array(["a", "b"], object)
    assert worst({"y": text}, {"y": text}).agrees
    assert str(worst({"y": text[::-1]}, {"y": text})) == "the output 'y' has other strings."


def test_empty_outputs_and_no_outputs():
    assert worst({"y": np.ones((0, 3))}, {"y": np.ones((0, 3))}).agrees
    assert worst({}, {}).agrees


def test_integers():
    ids = np.array([1, 2, 30000])
    assert worst({"ids": ids}, {"ids": ids}).agrees
    assert not worst({"ids": ids + np.array([1, 0, 0])}, {"ids": ids}).agrees
    assert worst({"on": ids > 1}, {"on": ids > 1}).agrees
    assert not worst({"on": ids > 2}, {"on": ids > 1}).agrees


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
    report = rnn.export(model, tmp_path / "m", verify=batch, print_fn=None)
    assert report.difference < 1e-6
