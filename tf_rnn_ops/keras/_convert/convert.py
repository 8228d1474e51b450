"""convert: the same model on the layers of this package, or back on Keras's layers."""

import warnings
from typing import Any, TypeVar

import keras

from tf_rnn_ops.keras import _layer_paths as paths
from tf_rnn_ops.keras._convert import copying
from tf_rnn_ops.keras._internals.layers import flatten_layers
from tf_rnn_ops.keras.dispatch import decision, environment
from tf_rnn_ops.keras.layers import GRU, LSTM, RNN, SimpleRNN, quantization
from tf_rnn_ops.keras.layers.op_layer import OpLayer
from tf_rnn_ops.keras.layers.stack_layer import CudnnStack

_PAIRS = (
    (keras.layers.LSTM, LSTM),
    (keras.layers.GRU, GRU),
    (keras.layers.SimpleRNN, SimpleRNN),
    (keras.layers.RNN, RNN),
)
_CLASSES = {
    "tf_rnn_ops": dict(_PAIRS),
    "keras": {ours: stock for stock, ours in _PAIRS},
}
# The number of layers that a warning names.
_NAMED = 5
_Model = TypeVar("_Model", bound=keras.layers.Layer)
_PACKAGE = __name__.split(".")[0]


def convert(model: _Model, to: str = "tf_rnn_ops", quantize: str | None = None) -> _Model:
    """Copies a model with every LSTM, GRU, SimpleRNN and RNN replaced, at any depth.

    The copy has the same structure, names, weights, states, seeds and predictions. A compiled model is
    compiled again with the same optimizer (with its state), loss and metrics, and so are compiled models
    inside of it. The copy is made in the scope of the model's distribution strategy. The given model does
    not change, but no other thread may train it in the meantime. Other layers stay as they are, also
    subclasses of Keras's layers and an RNN with cells that are not Keras's. A warning names the recurrent
    layers of the copy that run Keras's implementation, except layers with unroll=True or use_cudnn=False,
    which ask for it. `explain` tells the reason for each layer.

    Args:
        model: A Keras 3 model or layer: functional, sequential, nested, or of a user's class that
            from_config can create.
        to: 'tf_rnn_ops', or 'keras' for the opposite direction.
        quantize: 'int8' quantizes the weights of the recurrent layers of the copy that have int8 kernels, as
            quantize("int8") of a model does for all layers. A warning names those on ops that keep float weights. None
            keeps the type of the weights.

    Returns:
        The copy.

    Raises:
        TypeError: model is not a Keras 3 model or layer.
        ValueError: to or quantize is unknown; quantize is given and to is not 'tf_rnn_ops', or no recurrent
            layer can be quantized; to is not 'tf_rnn_ops' and a layer has int8 weights; the model, its
            optimizer or a metric cannot be copied; or to is 'keras' and Keras has no counterpart of a layer or
            function of this package, or of a subclass. Layers of Keras get the weights of a stack from
            tf_rnn_ops.params.to_keras.

    Example:
        >>> import keras
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4)])
        >>> type(tf_rnn_ops.keras.convert(model).layers[0]).__module__
        'tf_rnn_ops.keras.layers.lstm'
        >>> tf_rnn_ops.keras.convert(model, quantize="int8").layers[0].dtype_policy.name
        'int8_from_float32'
    """
    copy, in_float = _copy_and_reasons(model, to, quantize)
    if in_float:
        warnings.warn(
            f"convert(quantize={quantize!r}) leaves float weights in the copy: {_listed(in_float)}.",
            stacklevel=2,
        )
    kept = paths.kept_by_keras(copy) if to != "keras" else {}
    if kept:
        several = len(kept) > 1
        shown = [f"{name!r} ({reason})" for name, reason in kept.items()]
        warnings.warn(
            f"The layer{'s' if several else ''} {_listed(shown, ', ')} of the copy "
            f"run{'' if several else 's'} Keras's implementation. See tf_rnn_ops.keras.explain(copy).",
            stacklevel=2,
        )
    return copy


def convert_silently(
    model: _Model, to: str = "tf_rnn_ops", quantize: str | None = None, compiled: bool = True
) -> _Model:
    """As convert(), without the warnings. For callers that report the path of each layer.

    With compiled=False the copy is not compiled, and the optimizer need not be one that can be copied.
    """
    return _copy_and_reasons(model, to, quantize, compiled)[0]


def _listed(texts: list[str], separator: str = "; ") -> str:
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return separator.join(texts[:_NAMED]) + more


def _copy_and_reasons(
    model: _Model, to: str, quantize: str | None, compiled: bool = True
) -> tuple[_Model, list[str]]:
    """The copy, and why recurrent layers of it that were to be quantized have float weights."""
    environment.check_model(model, keras.layers.Layer)
    if to not in _CLASSES:
        raise ValueError(f"to must be one of {sorted(_CLASSES)}, but it is {to!r}.")
    check_quantize(quantize, to)
    if to != "tf_rnn_ops":
        _check_not_quantized(model, to)
    if to == "keras":
        check_counterparts(model)
        _check_functions(model)
    copy = converted(model, to, compiled)
    return copy, [] if quantize is None else _quantize(copy, quantize)


def check_quantize(quantize: Any, to: str = "tf_rnn_ops") -> None:
    """Raises ValueError unless the argument of convert() is valid."""
    if quantize not in (None, "int8") or (quantize and to != "tf_rnn_ops"):
        wanted = "'int8' or None" if to == "tf_rnn_ops" else f"None with to={to!r}"
        raise ValueError(f"quantize must be {wanted}, but it is {quantize!r}.")


def recurrent_layers(model: keras.layers.Layer) -> list[OpLayer]:
    """The layers with a cell of a model on the layers of this package, at any depth."""
    return [layer for layer in flatten_layers(model) if isinstance(layer, OpLayer)]


def _check_not_quantized(model: keras.layers.Layer, to: str) -> None:
    for layer in filter(decision.is_quantized, recurrent_layers(model)):
        raise ValueError(
            f"The layer {layer.name!r} has int8 weights, which to={to!r} cannot convert: convert the model "
            "that has not been quantized."
        )


def _quantize(model: keras.layers.Layer, mode: str) -> list[str]:
    """Quantizes the recurrent layers for which there are int8 kernels, and that are not yet quantized.

    Returns:
        The reasons why others have float weights.
    """
    layers = recurrent_layers(model)
    reasons = [
        f"The stack {layer.name!r} has float weights only"
        for layer in flatten_layers(model)
        if isinstance(layer, CudnnStack)
    ]
    for layer in layers:
        try:
            if not decision.is_quantized(layer):
                quantization.quantize(layer, mode)
        except NotImplementedError as error:
            reasons.append(str(error).removesuffix("."))
    if not any(map(decision.is_quantized, layers)):
        reason = reasons[-1] if reasons else f"{model.name!r} has no recurrent layer"
        raise ValueError(f"convert: nothing can be quantized: {reason}.")
    return reasons


def converted(model: _Model, to: str, compiled: bool = True) -> _Model:
    """As convert(), without the checks. Functions of this package do not change."""
    return copying.copy_of(model, _CLASSES[to], compiled)


def check_counterparts(model: keras.layers.Layer) -> None:
    """Raises ValueError for layers of this package without a counterpart in Keras."""
    for layer in flatten_layers(model):
        cls = type(layer)
        # A user's subclass of our class needs this package too.
        ours = any(base.__module__.split(".")[0] == _PACKAGE for base in cls.__mro__)
        if not ours or cls in _CLASSES["keras"]:
            continue
        advice = ""
        if isinstance(layer, CudnnStack):
            advice = " tf_rnn_ops.params.to_keras(layer.layout, layer.params) returns the weights for layers of Keras."
        raise ValueError(
            f"The layer {layer.name!r} is a {cls.__name__}, which has no counterpart in keras.layers. "
            f"LSTM, GRU, SimpleRNN and RNN have one, but subclasses of them have none.{advice}"
        )


def _check_functions(model: keras.layers.Layer) -> None:
    for layer in flatten_layers(model):
        for argument in ("activation", "recurrent_activation"):
            function: Any = getattr(layer, argument, None)
            if str(getattr(function, "__module__", "")).split(".")[0] == _PACKAGE:
                raise ValueError(
                    f"{argument} of the layer {layer.name!r} is {function.__name__} of this package, "
                    "without which Keras cannot load the model; to='keras' needs a function of Keras."
                )
