"""tf_rnn_ops/_python/patches.py, by which the package changes attributes of objects that it has not made."""

import ast
import functools
import pathlib
import re

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops._python import patches

PACKAGE = pathlib.Path(tf_rnn_ops.__file__).parent
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/design/patches.md"


def test_the_page_lists_the_changed_attributes():
    rows = re.findall(r"^\| (?!owner|---)[^|]+\| ([^|]+) \|", PAGE.read_text(), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    sources = [path.read_text() for path in PACKAGE.rglob("*.py")]
    changed = {"__class__"}
    for call in (node for source in sources for node in ast.walk(ast.parse(source))):
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("patches."):
            changed |= {arg.value for arg in call.args[1:2] if isinstance(arg, ast.Constant)}
            if ast.unparse(call.func) == "patches.Replacement":
                names = (node.value for node in ast.walk(call) if isinstance(node, ast.Constant))
                changed |= {name for name in names if isinstance(name, str)}
    assert changed <= listed
    assert listed == {name for name in listed if any(name in source for source in sources)}


def test_a_function_is_wrapped_once():
    """Also if another package has wrapped the wrapper in the meantime, and not if another one has wrapped the original."""

    class Model:
        def quantize(self, mode):
            return [mode]

    def around(original):
        return lambda self, mode: [*original(self, mode), "ours"]

    def others(original):
        @functools.wraps(original)
        def quantize(self, mode):
            return [*original(self, mode), "others"]

        return quantize

    Model.quantize = others(Model.quantize)
    patches.wrap(Model, "quantize", around)
    assert Model().quantize("int8") == ["int8", "others", "ours"]
    assert Model.quantize.__name__ == "quantize"
    Model.quantize = others(Model.quantize)
    patches.wrap(Model, "quantize", around)
    assert Model().quantize("int8") == ["int8", "others", "ours", "others"]


class Owner:
    one = "theirs"


def test_a_replacement_ends_with_its_last_user():
    made = []
    replacement = patches.Replacement(
        lambda: made.append(1) or {(Owner, "one"): "ours", (Owner, "two"): "new"}
    )
    with replacement:
        assert (Owner.one, Owner.two) == ("ours", "new") and replacement.in_use
        with replacement:
            assert replacement.has_set("new") and made == [1]
        assert Owner.one == "ours"
    assert Owner.one == "theirs" and not hasattr(Owner, "two")
    assert not replacement.in_use and not replacement.has_set("new")


def test_a_replacement_leaves_the_patch_of_another_package():
    with patches.Replacement(lambda: {(Owner, "one"): "ours"}) as replacement:
        Owner.one = "wraps ours"
    assert Owner.one == "wraps ours" and not replacement.has_set("ours")
    Owner.one = "theirs"


def attributes_of(model):
    """For each layer its class, and its attributes other than those of a call."""
    layers = [
        model,
        *model.layers,
        *(layer.cell for layer in model.layers if hasattr(layer, "cell")),
    ]
    return [
        (type(layer), {name: id(value) for name, value in vars(layer).items()}) for layer in layers
    ]


@pytest.mark.parametrize("space", [keras.layers, tf_rnn_ops.keras], ids=["keras", "tf_rnn_ops"])
@pytest.mark.parametrize("streaming", [False, True])
def test_the_given_model_does_not_change(space, streaming, tmp_path):
    x = keras.Input((None, 3), batch_size=2)
    y = keras.layers.Conv1D(3, 2, padding="causal")(x)
    y = space.LSTM(4, stateful=True, return_sequences=True)(y)
    model = keras.Model(x, space.RNN(keras.layers.GRUCell(4))(y))
    model(np.ones((2, 5, 3), np.float32))
    before = attributes_of(model)
    tf_rnn_ops.keras.export(model, tmp_path / "m", streaming=streaming, print_fn=None)
    tf_rnn_ops.keras.convert(model, quantize="int8")
    assert attributes_of(model) == before
