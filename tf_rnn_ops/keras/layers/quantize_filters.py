"""Lets the filters of keras.Model.quantize see a layer of this package where Keras shows them its cell."""

import functools
import inspect
import re

import keras

from tf_rnn_ops.keras.layers.quantization import Quantize


def guard() -> None:
    """Makes Model.quantize decide about a cell by the name of its layer."""
    original = keras.Model.quantize
    if "filters" in inspect.signature(original).parameters and not hasattr(original, "__wrapped__"):
        keras.Model.quantize = _by_layer(original)


def _by_layer(original):
    signature = inspect.signature(original)

    @functools.wraps(original)
    def quantize(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        filters = given.arguments.get("filters")
        if callable(filters) or isinstance(filters, (str, list, tuple)):
            given.arguments["filters"] = lambda layer: _accepts(filters, layer)
        return original(*given.args, **given.kwargs)

    return quantize


def _accepts(filters, layer):
    hook = vars(layer).get("quantize")
    layer = hook.layer if isinstance(hook, Quantize) else layer
    if callable(filters):
        return filters(layer)
    patterns = [filters] if isinstance(filters, str) else filters
    return any(re.search(pattern, layer.name) for pattern in patterns)
