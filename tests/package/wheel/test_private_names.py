"""The allowed uses of names that begin with an underscore (CONTRIBUTING.md), read from the source.

Names of TensorFlow and Keras: the doors only. Names of this package: the folder that they are in.
"""

import ast
import functools
import pathlib
import re

import keras
import pytest
import tensorflow as tf

import tf_rnn_ops.contrib
import tf_rnn_ops.keras

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "tf_rnn_ops"
DOORS = (
    PACKAGE / "native" / "tf_internals",
    PACKAGE / "keras" / "_internals",
    PACKAGE / "params" / "keras" / "internals.py",
    PACKAGE / "_patches.py",
)
PRIVATE = re.compile(r"_[a-z0-9]\w*")
MODULES = re.compile(r"(tensorflow\.python|tensorflow\.__internal__|keras\.src|keras\.api)\b")
# Methods of Python's own named tuples and frames, and attributes of nodes in graphs.
OF_PYTHON = {"_asdict", "_replace", "_fields", "_getframe", "_repr_html_"}
OF_GRAPHS = {
    "_output_shapes",
    "_input_shapes",
    "_lower_using_switch_merge",
    "_tf_rnn_ops_former_op",
}
# Strings that are not names of attributes: names of libraries, and ends of names. And marks on objects of
# Keras.
TEXTS = {
    "_tf_rnn_ops",
    "_tf_rnn_ops_stock",
    "_tf_rnn_ops_xla",
    "_backprop",
    "_grad",
    "_next",
    "_reverse",
    "_scale",
}
MARKS = {"_jit_forbidden"}
# PyTorch and tf2onnx have no door: one file each reads their private names.
OF_OTHERS = {"_orig_mod", "_forward_hooks", "_forward_pre_hooks", "_convert_common"}


@functools.cache
def sources():
    """{path: the parsed file}."""
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def is_door(path):
    return any(path == door or door in path.parents for door in DOORS)


def defined(tree):
    """The private names that a file gives to functions, classes, variables and attributes of self."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                found.add(node.attr)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.split(".")[-1])
    return {name for name in found if PRIVATE.fullmatch(name)}


def modules_of_others(tree):
    """The private modules of TensorFlow and Keras that a file imports or names."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)  # also what importlib gets; not a docstring, see below
        elif isinstance(node, ast.Attribute):
            found.append(ast.unparse(node).replace("tf.", "tensorflow.", 1))
    return {name for name in found if MODULES.match(name)}


def names_of_others(tree, ours):
    """Private attributes that a file reads or sets of what it has not made itself.

    Args:
        tree: The parsed file.
        ours: The private names of the package.
    """
    own, found = defined(tree), set()
    parts = [
        part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
    ]
    for node in ast.walk(tree):
        if node in parts:
            continue  # a piece of a text
        if isinstance(node, ast.Attribute) and PRIVATE.fullmatch(node.attr):
            base = node.value
            of_self = isinstance(base, ast.Name) and base.id in ("self", "cls")
            of_super = isinstance(base, ast.Call) and ast.unparse(base.func) == "super"
            # A name of the file on any object, a name of the package on self.
            if node.attr not in (ours if of_self or of_super else own) | OF_PYTHON | OF_OTHERS:
                found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # For getattr and the like, wherever the string goes.
            if (
                PRIVATE.fullmatch(node.value)
                and node.value not in ours | OF_GRAPHS | OF_OTHERS | TEXTS | MARKS
            ):
                found.add(node.value)
    return found


OURS = set().union(*(defined(tree) for path, tree in sources().items() if not is_door(path)))


@pytest.mark.parametrize(
    "path", [p for p in sources() if not is_door(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_only_the_doors_use_private_names_of_others(path):
    tree = sources()[path]
    assert modules_of_others(tree) == set()
    assert names_of_others(tree, OURS) == set()


def classes():
    """The classes of the package outside of the doors that derive from one of TensorFlow or Keras."""
    waiting = [tf.Module, keras.layers.Layer, tf.keras.layers.Layer, object]
    waiting += [tf_rnn_ops.contrib._saveable_base.TransformedSaveable]
    found = set()
    while waiting:
        cls = waiting.pop()
        waiting += [] if cls is object else cls.__subclasses__()
        if cls.__module__.startswith("tf_rnn_ops.") and "internals" not in cls.__module__:
            found.add(cls)
    return sorted(found, key=lambda cls: (cls.__module__, cls.__name__))


def test_the_classes_are_found():
    names = {cls.__name__ for cls in classes()}
    assert names >= {"LSTM", "CudnnStack", "ZoneoutGRUCell", "TransformedSaveable", "_CudnnRNN"}


@functools.cache
def attributes_of_others():
    """The attributes that TensorFlow and Keras give objects."""
    things = (keras.layers.LSTM(1), keras.layers.LSTMCell(1), tf.Module())
    return set().union(*map(vars, things))


@pytest.mark.parametrize("cls", classes(), ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_no_class_overrides_a_private_name_of_others(cls):
    others = [base for base in cls.__mro__ if not base.__module__.startswith("tf_rnn_ops.")]
    theirs = set().union(*(vars(base) for base in others))
    theirs |= attributes_of_others()
    tree = sources()[PACKAGE.parent / pathlib.Path(*cls.__module__.split(".")).with_suffix(".py")]
    assert {
        name for name in defined(tree) | set(vars(cls)) if PRIVATE.fullmatch(name)
    } & theirs == (set())


def foreign_imports(path, tree):
    """The private modules and names of this package that a file imports from another folder."""
    folder, found = path.relative_to(ROOT).parts[:-1], set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("tf_rnn_ops"):
            continue
        for alias in node.names:
            parts = [*node.module.split("."), alias.name]
            for k, part in enumerate(parts):
                if PRIVATE.fullmatch(part) and folder[:k] != tuple(parts[:k]):
                    found.add(".".join(parts))
    return found


def foreign_attributes(path, tree, folders):
    """The private names of this package that a file reads of a module or object of another folder.

    Args:
        path: The file.
        tree: The parsed file.
        folders: {private name: the folders with a file that defines it}.
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in folders.keys() - OF_PYTHON:
            if not any(place in path.parents for place in folders[node.attr]):
                found.add(node.attr)
    return found


@functools.cache
def folders_of_names():
    """{private name: the folders with a file that defines it}."""
    found = {}
    for path, tree in sources().items():
        for name in defined(tree):
            found.setdefault(name, set()).add(path.parent)
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_private_names_stay_in_their_folder(path):
    tree = sources()[path]
    assert foreign_imports(path, tree) == set()
    assert foreign_attributes(path, tree, folders_of_names()) == set()


@pytest.mark.parametrize(
    "text",
    [
        "from tensorflow.python.framework import ops",
        "import keras.src.backend",
        "from keras.src import backend",
        "importlib.import_module('tensorflow.python.eager.record')",
        "tf.__internal__.tracking.Trackable",
    ],
)
def test_a_private_module_is_noticed(text):
    assert modules_of_others(ast.parse(text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("layer._layers", "_layers"),
        ("self._untrack_variable(x)", "_untrack_variable"),
        ("super()._trackable_children()", "_trackable_children"),
        ("getattr(tensor, '_keras_mask', None)", "_keras_mask"),
        ("NAMES = ('_seed_generators',)", "_seed_generators"),
        ("optimizer._var_key(x)", "_var_key"),
    ],
)
def test_a_private_name_is_noticed(text, name):
    assert names_of_others(ast.parse(text), OURS) == {name}


def test_a_name_of_another_folder_is_noticed():
    path = PACKAGE / "keras" / "_convert" / "stacks" / "graph.py"
    tree = ast.parse("from tf_rnn_ops.params._classes import KERAS\nstack._private(1)")
    assert foreign_imports(path, tree) == {"tf_rnn_ops.params._classes.KERAS"}
    folders = {"_private": {PACKAGE / "params"}}
    assert foreign_attributes(path, tree, folders) == {"_private"}
    assert foreign_imports(PACKAGE / "params" / "deep" / "x.py", tree) == set()
