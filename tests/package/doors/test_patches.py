"""The package changes attributes of what it has not made in one module only, tf_rnn_ops/_patches.py.

OF_GRAPHS and OWN have the other assignments to attributes. They are of objects that the package makes: graphs, copies,
functions and objects of its own classes. A new assignment is in one of the three lists, or the test fails.
"""

import ast
import functools
import pathlib
import types

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops import _patches

DOOR = pathlib.Path(_patches.__file__)
PACKAGE = DOOR.parent
SETTERS = ("setattr", "delattr", "__setattr__", "__delattr__")
OF_DICTS = ("update", "pop", "setdefault", "clear", "popitem", "__setitem__", "__delitem__")

# The attributes of graphs, nodes and functions of TensorFlow and ONNX, in the rooms that write new ones.
WRITERS = ("export/", "params/onnx/", "portable/")
OF_GRAPHS = {
    *(
        "attr",
        "attributes",
        "device",
        "input",
        "metadata_props",
        "name",
        "node",
        "op",
        "output",
        "ret",
    ),
    *("b", "f", "i", "s", "type"),
}
OWN = {
    "_commands/portable.py": {"report.compared"},
    "contrib/_cell_parts.py": {"cell.bias", "cell.kernel"},
    "contrib/rnn_params_saveable.py": {"function.__signature__"},
    "export/litert/writing.py": {"converter.optimizations"},
    "export/onnx/running.py": {"options.intra_op_num_threads"},
    "export/onnx/writing.py": {"_Errors._before", "_Errors._users"},
    "export/states.py": {"function.control_ret", "function.node_def"},
    "info.py": {"library.cudnnGetVersion.restype"},
    "keras/_convert/carry.py": {
        "delattr(new_layer, name)",
        "new_layer.trainable",
        "new_variable.trainable",
        "setattr(new_layer, name, getattr(layer, name))",
    },
    "keras/_convert/copying.py": {"copy.dtype_policy"},
    "keras/_convert/layer_calls.py": {
        "_thread.instead",
        "vars(found).update(vars(layer), **attributes)",
    },
    "keras/_export/export.py": {"stream.observe"},
    "keras/_convert/stacks/stack_to_keras.py": {"layer.trainable", "operation.name"},
    # The store of the property supports_jit itself.
    "keras/layers/drop_in.py": {
        "__init__.__signature__",
        "cls.__init__",
        "layer.__dict__['supports_jit']",
    },
    "keras/layers/jit_flag.py": {"layer.supports_jit"},
    "keras/layers/options.py": {"setattr(self, name, one.kept(name, given[name]))"},
    "keras/layers/own_layer.py": {
        "cls._cell_class",
        "cls._cell_name",
        "cls._of_cell",
        "setattr(cls, name, _forwarded(name))",
    },
    "keras/layers/projected_cell.py": {"setattr(self, f'peephole_{gate}', weight)"},
    "keras/layers/quantization.py": {"setattr(build_and_follow, _OF_KERAS, build)"},
    "keras/layers/quantize_model.py": {"given.arguments"},
    "keras/layers/quantized_cells.py": {
        "setattr(self, f'{name}_scale', scale)",
        "setattr(self, name, params.weight_of(cell, name))",
    },
    "keras/layers/stack_layer.py": {"setattr(self, name, state)"},
    "native/loader.py": {
        "function.argtypes",
        "function.restype",
    },
    "native/tf_internals/checkpoints.py": {"object_map[self].variables"},
    "portable/_saved_model.py": {"report.changed", "report.compared", "report.kept"},
    "stock.py": {"names.argtypes", "names.restype"},
}


@functools.cache
def sources():
    """{path from the folder of the package: the parsed file}."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if path != DOOR]
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text()) for path in paths}


def is_dict_of(node):
    """Whether an expression is the dict of an object: vars(x) or x.__dict__."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", None) == "vars" and bool(node.args)
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def changed(target):
    """The text of the attribute that an assignment to a target changes; "" if it is one of `self`, or none."""
    if isinstance(target, ast.Subscript) and is_dict_of(target.value):
        return ast.unparse(target)
    while isinstance(target, ast.Subscript):
        target = target.value
    if not isinstance(target, ast.Attribute) or ast.unparse(target.value) == "self":
        return ""
    return ast.unparse(target)


def assignments(tree):
    """The attributes, other than those of `self`, that a file sets or deletes, as texts."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            of_dict = name in OF_DICTS and is_dict_of(getattr(function, "value", None))
            found |= {ast.unparse(node)} if of_dict or name in SETTERS else set()
        elif isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            found.add(changed(node))
    return found - {""}


@pytest.mark.parametrize("path", sources())
def test_every_assignment_is_known(path):
    found = assignments(sources()[path])
    if path.startswith(WRITERS):
        found = {text for text in found if text.rpartition(".")[2] not in OF_GRAPHS}
    assert found == OWN.get(path, set()), (
        "list in OWN what the package has made, and change the rest through _patches"
    )


@pytest.mark.parametrize(
    "text",
    [
        "layer.call = call",
        "cell.quantize, done = f, True",
        "keras.Model.quantize = f",
        "del layer.build",
        "layer.count += 1",
        "layer.states[0] = x",
        "for layer.name in names: pass",
        "setattr(layer, 'call', f)",
        "object.__setattr__(cell, '__class__', cls)",
        "delattr(layer, 'call')",
        "vars(layer)['call'] = f",
        "vars(layer).pop('call')",
        "layer.__dict__['call'] = f",
        "self.layer.call = f",
    ],
)
def test_an_assignment_is_noticed(text):
    assert len(assignments(ast.parse(text))) == 1


@pytest.mark.parametrize("text", ["self.x = 1", "self.x[0] += 1", "x = y.z", "x['call'] = y.z"])
def test_no_other_statement_is_noticed(text):
    assert assignments(ast.parse(text)) == set()


def test_the_list_has_the_modules_that_use_the_door():
    using = {path for path, tree in sources().items() if "_patches." in ast.unparse(tree)}
    assert using == {patch.module for patch in _patches.LISTED}


def test_only_listed_names_change():
    thing = types.SimpleNamespace(call=1)
    for change in (
        lambda: _patches.put(thing, "call", 2),
        lambda: _patches.remove(thing, "call"),
        lambda: _patches.wrap(thing, "call", lambda original: original),
    ):
        with pytest.raises(KeyError, match="'call' is not an attribute in LISTED"):
            change()
    assert thing.call == 1


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
    _patches.wrap(Model, "quantize", around)
    assert Model().quantize("int8") == ["int8", "others", "ours"]
    assert Model.quantize.__name__ == "quantize"
    Model.quantize = others(Model.quantize)
    _patches.wrap(Model, "quantize", around)
    assert Model().quantize("int8") == ["int8", "others", "ours", "others"]


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
