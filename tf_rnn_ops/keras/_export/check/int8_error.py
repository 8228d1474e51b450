"""The error of int8 weights in a model, which says how far a file with such weights may be from it."""

from typing import Any, Callable

import keras
import numpy as np

from tf_rnn_ops._comparison.differences import largest_difference
from tf_rnn_ops.keras._convert.convert import convert_silently, recurrent_layers
from tf_rnn_ops.keras._internals.layers import flatten_layers
from tf_rnn_ops.keras.dispatch import decision
from tf_rnn_ops.keras.layers import quantization


def is_quantized(model: keras.Model) -> bool:
    """Whether a layer of a model has int8 weights."""
    return any(getattr(layer, "quantization_mode", None) for layer in flatten_layers(model))


def dequantize(model: keras.Model) -> list[str]:
    """Gives the recurrent layers of a model float weights. Returns the names of those that had int8 weights."""
    quantized = list(filter(decision.is_quantized, recurrent_layers(model)))
    for layer in quantized:
        quantization.dequantize(layer)
    return [layer.name for layer in quantized]


class Int8Error:
    """The differences of a model from its copy with int8 weights, or of one with int8 weights from its float copy.

    Attributes:
        is_known: Whether there is such a copy. There is none of a model that cannot be copied or that keeps states.
    """

    def __init__(self, model: keras.Model) -> None:
        self._copy: Any = None
        self._found: dict[str, float] = {}
        stateful = any(getattr(layer, "stateful", False) for layer in flatten_layers(model))
        if isinstance(model, keras.Model) and not stateful:
            self._copy = _copy(model)
        self.is_known = self._copy is not None

    def of(
        self,
        arguments: Any,
        want: dict[str, np.ndarray],
        results: Callable[[Any], dict[str, np.ndarray]],
    ) -> dict[str, float]:
        """{name of an output: largest difference in this call and the calls before}.

        Args:
            arguments: The arguments of the model.
            want: {name: output of the model}.
            results: A function from what a model returns to {name: output}.
        """
        if self.is_known:
            got = results(self._copy(*arguments, training=False))
            for name, one in want.items():
                self._found[name] = max(self._found.get(name, 0.0), _largest(got[name], one))
        return self._found


def _copy(model: keras.Model) -> keras.Model | None:
    try:
        if not is_quantized(model):
            return convert_silently(model, quantize="int8", compiled=False)
        copy = convert_silently(model, compiled=False)
    except (ValueError, NotImplementedError):
        return None
    dequantize(copy)
    return copy


def _largest(got: Any, want: np.ndarray) -> float:
    if want.dtype.kind not in "fcV" or not want.size:
        return 0.0
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = np.asarray(got).astype(wide), want.astype(wide)
    finite = np.isfinite(a) & np.isfinite(b)
    return largest_difference(a[finite], b[finite])
