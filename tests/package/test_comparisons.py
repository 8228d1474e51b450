"""examples/comparisons: Keras's layers and those of the package train alike, and print what the
README shows."""

import importlib
import pathlib
import re

import keras
import numpy as np
import pytest

from support.selection import all_but

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "comparisons"
# {example: small sizes}.
SMALL = {
    "speech_ctc": ("--count", "160", "--units", "8"),
    "forecasting": ("--series", "4", "--windows", "6", "--units", "8"),
    "attention": ("--count", "320", "--units", "8"),
}
# The longest chain of roundings: in each of at most 48 steps, products of at most 32 inputs and 8 states, forward
# and backward. TensorFlow computes CTC in float32.
ROUNDINGS = 2 * 48 * (32 + 8)
EPSILON = {"speech_ctc": np.finfo("float32").eps}


@pytest.fixture(params=all_but(list(SMALL), "forecasting"))
def name(request):
    return request.param


@pytest.fixture
def example(name, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module(name)


@pytest.fixture
def float64():
    # The policy too: an earlier test of the process may have set it.
    before = keras.config.floatx(), keras.config.dtype_policy()
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_floatx(before[0])
    keras.config.set_dtype_policy(before[1])


def words(text):
    """The text of each line without numbers and without the width of columns."""
    return [
        " ".join(re.sub(r"[-+.\d]+(e[-+]\d+)?", "0", line).split()) for line in text.splitlines()
    ]


def test_the_losses_are_those_of_keras(name, example, float64, capsys):
    keras_run, ours = example.main([*SMALL[name], "--epochs", "1"])
    assert len(ours.losses) >= 5 and len(set(ours.losses)) > 1
    tolerance = ROUNDINGS * EPSILON.get(name, np.finfo("float64").eps)
    np.testing.assert_allclose(ours.losses[:5], keras_run.losses[:5], rtol=tolerance)
    readme = (EXAMPLES / "README.md").read_text()
    (shown,) = re.findall(
        rf"{name}\.py\n```\n+```text\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE
    )
    assert words(capsys.readouterr().out) == words(shown)


@pytest.mark.parametrize("argument", ["--epochs=0", "--series=-1"])
def test_sizes_below_one_are_rejected_by_name(argument, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    with pytest.raises(SystemExit, match="2"):
        importlib.import_module("forecasting").main([argument])
    flag, value = argument.split("=")
    assert f"{flag} must be at least 1, but it is {value}." in capsys.readouterr().err
