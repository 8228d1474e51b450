"""Extends keras.Model.quantize for the layers of this package.

Its filters see a layer where Keras shows them the cell, and the float weights are freed at once.
"""

import gc
import inspect
import re
from typing import Any, Callable

import keras

from tf_rnn_ops._python import patches
from tf_rnn_ops.keras._internals.layers import flatten_layers
from tf_rnn_ops.keras.dispatch import quantized
from tf_rnn_ops.keras.layers.quantization import Quantize

_FUNCTIONS = ("train_function", "test_function", "predict_function")
"""The attributes of a model with the functions that fit, evaluate and predict have traced."""


def guard() -> None:
    """Makes Model.quantize decide about a cell by the name of its layer, and free the float weights."""
    patches.wrap(keras.Model, "quantize", _extended)


def _extended(original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    def quantize(*args: Any, **kwargs: Any) -> Any:
        call = signature.bind(*args, **kwargs)
        filters = call.arguments.get("filters")
        if callable(filters) or isinstance(filters, (str, list, tuple)):
            call.arguments["filters"] = lambda layer: _accepts(filters, layer)
        result = original(*call.args, **call.kwargs)
        _free(call.args[0])
        return result

    return quantize


def _accepts(filters: Any, layer: keras.layers.Layer) -> bool:
    hook = vars(layer).get("quantize")
    layer = hook.layer if isinstance(hook, Quantize) else layer
    if callable(filters):
        return filters(layer)
    patterns = [filters] if isinstance(filters, str) else filters
    return any(re.search(pattern, layer.name) for pattern in patterns)


def _free(model: keras.Model) -> None:
    """Frees float weights that functions of the model, or of models in it, still read."""
    layers = flatten_layers(model)
    if not any(isinstance(vars(layer).get("quantize"), Quantize) for layer in layers):
        return
    for inner in layers:
        for name in _FUNCTIONS if isinstance(inner, keras.Model) else ():
            # WHY: TensorFlow tracks the function until the attribute is deleted.
            patches.remove(inner, name)
            patches.put(inner, name, None)
    gc.collect()  # functions are in cycles of references
    quantized.free_kept()
