"""The classes of the package: none overrides a private name of TensorFlow or Keras, outside of the doors."""

import ast
import functools
import inspect
import re

import keras
import pytest
import tensorflow as tf

import tf_rnn_ops.contrib
import tf_rnn_ops.keras

PRIVATE = re.compile(r"_[a-z0-9]\w*")


def classes():
    """Those that derive from a class of TensorFlow or Keras."""
    waiting = [tf.Module, keras.layers.Layer, tf.keras.layers.Layer]
    waiting += [tf_rnn_ops.contrib._saveable_base.TransformedSaveable]
    found = set()
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls.__module__.startswith("tf_rnn_ops.") and "internals" not in cls.__module__:
            found.add(cls)
    names = {cls.__name__ for cls in found}
    assert names >= {"LSTM", "CudnnStack", "ZoneoutGRUCell", "TransformedSaveable", "_CudnnRNN"}
    return sorted(found, key=lambda cls: (cls.__module__, cls.__name__))


def set_on_self(cls):
    """The attributes that the methods of a class assign to `self`."""
    for node in ast.walk(ast.parse(inspect.getsource(cls))):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if ast.unparse(node.value) == "self":
                yield node.attr


@functools.cache
def attributes_of_others():
    """The attributes that TensorFlow and Keras give objects."""
    things = (keras.layers.LSTM(1), keras.layers.LSTMCell(1), tf.Module())
    return set().union(*map(vars, things))


@pytest.mark.parametrize("cls", classes(), ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_no_class_overrides_a_private_name_of_others(cls):
    bases = [base for base in cls.__mro__ if not base.__module__.startswith("tf_rnn_ops.")]
    others = attributes_of_others().union(*map(vars, bases))
    own = {name for name in {*vars(cls), *set_on_self(cls)} if PRIVATE.fullmatch(name)}
    assert own & others == set()
