"""Finds the functions of models that Keras traced before accelerate(): they keep Keras's implementation."""

import gc
import weakref

import keras

from tf_rnn_ops.keras._internals.layers import flatten_layers
from tf_rnn_ops.keras._layer_paths import OURS
from tf_rnn_ops.keras._patched.quantize import FUNCTIONS
from tf_rnn_ops.keras.dispatch import eligibility

# {id of a stock layer: reference}: those that were traced under accelerate(). Not a WeakSet: a class may have no hash.
_accelerated: dict[int, weakref.ref] = {}
_has_looked = False


def count_as_accelerated(layer: keras.layers.Layer) -> None:
    """Remembers that a stock layer was traced under accelerate()."""
    key = id(layer)
    if not _is_accelerated(layer):
        _accelerated[key] = weakref.ref(layer, lambda _: _accelerated.pop(key, None))


def _is_accelerated(layer: keras.layers.Layer) -> bool:
    reference = _accelerated.get(id(layer))
    return reference is not None and reference() is layer


def names_of_models() -> list[str]:
    """Finds the models that fit, evaluate or predict have traced, once in a process.

    WHY once: it takes 0.1 s or more, and accelerate() may be in a loop.

    Returns:
        The names of the models, at the first call.
    """
    global _has_looked
    if _has_looked:
        return []
    _has_looked = True
    if not _models():
        return []
    gc.collect()  # a model may be garbage
    return sorted({model.name for model in _models()})


def _models() -> list[keras.Model]:
    """The models with layers that accelerate() would change, and traced functions."""
    # WHY get_referrers: Keras has no list of its models, and this is the fastest pass over all objects.
    return [
        model
        for model in gc.get_referrers(*_subclasses(keras.Model))
        if isinstance(model, keras.Model)
        and functions_of(model)
        and any(map(_would_change, flatten_layers(model)))
    ]


def functions_of(model: keras.Model) -> list[str]:
    """The names of the functions that a model has traced."""
    if getattr(model, "run_eagerly", True):
        return []
    return [name for name in FUNCTIONS if getattr(model, name, None) is not None]


def was_traced_before(layer: keras.layers.Layer) -> bool:
    """Whether a stock layer of a model with traced functions is in them with Keras's implementation."""
    return not isinstance(layer, OURS) and not _is_accelerated(layer)


def _would_change(layer: keras.layers.Layer) -> bool:
    stock = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)
    if not isinstance(layer, stock) and type(layer) is not keras.layers.RNN:
        return False
    return was_traced_before(layer) and layer.built and eligibility.keras_reason(layer) is None


def _subclasses(cls: type) -> set[type]:
    return {cls}.union(*map(_subclasses, cls.__subclasses__()))
