"""Finds the functions of models that Keras traced before accelerate(): they keep Keras's implementation."""

import gc
import weakref

import keras

from tf_rnn_ops.keras.layers.paths import OURS
from tf_rnn_ops.keras.layers.quantize_model import FUNCTIONS
from tf_rnn_ops.params.keras.internals import flatten_layers

# The stock layers that have run under accelerate(), so that their functions may have the op.
_accelerated: weakref.WeakSet = weakref.WeakSet()
_with_loops: weakref.WeakSet = weakref.WeakSet()


def count_as_accelerated(layer):
    """Remembers that a stock layer ran under accelerate()."""
    _accelerated.add(layer)


def find():
    """Finds the functions that fit, evaluate and predict have traced, when accelerate() begins.

    Returns:
        The names of their models.
    """
    if not _models():
        return []
    gc.collect()  # a model may be garbage
    found = _models()
    for model in found:
        _with_loops.update(_traced(model))
    return sorted(model.name for model in found)


def _models():
    """The models on stock layers that have traced functions."""
    # WHY get_referrers: Keras has no list of its models, and this is the fastest pass over all objects.
    return [
        one
        for one in gc.get_referrers(*_subclasses(keras.Model))
        if isinstance(one, keras.Model)
        and not getattr(one, "run_eagerly", True)
        and _traced(one)
        and any(map(_is_stock, flatten_layers(one)))
    ]


def _traced(model):
    functions = (getattr(model, name, None) for name in FUNCTIONS)
    return [one for one in functions if one is not None]


def functions_with_loops(model):
    """The names of the functions of a model that were traced before accelerate()."""
    return [name for name in FUNCTIONS if getattr(model, name, None) in _with_loops]


def _is_stock(layer):
    """Whether only accelerate() runs a layer on the op, and has not yet done so."""
    is_recurrent = isinstance(layer, keras.layers.RNN) and not isinstance(layer, OURS)
    return is_recurrent and layer not in _accelerated


def _subclasses(cls):
    return {cls}.union(*map(_subclasses, cls.__subclasses__()))
