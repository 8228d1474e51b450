"""convert: the same model on the layers of this package, or back on Keras's."""

from typing import TypeVar

import keras

from tf_rnn_ops.keras.layers.drop_in import GRU, LSTM, RNN, SimpleRNN
from tf_rnn_ops.keras.path import environment
from tf_rnn_ops.keras.tools import copying

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
_Model = TypeVar("_Model", bound=keras.layers.Layer)
_PACKAGE = __name__.split(".")[0]


def convert(model: _Model, to: str = "tf_rnn_ops") -> _Model:
    """Copies a model with every LSTM, GRU, SimpleRNN and RNN replaced, wherever they are nested.

    The copy has the same structure, names, weights, states and seeds, and predicts the same. A
    compiled model is compiled again with the same optimizer (with its state), loss and metrics. The
    copy is made in the scope of the model's distribution strategy. The given model does not change,
    but no other thread may train it in the meantime.
    Layers of other classes, subclasses of Keras's included, and an RNN with cells of other classes
    than Keras's stay what they are: see explain.

    Args:
        model: A Keras 3 model or layer: functional, sequential, nested, or of a class of its own
            that from_config can create anew.
        to: 'tf_rnn_ops', or 'keras' for the way back.

    Returns:
        The copy.

    Raises:
        TypeError: model is not a Keras 3 model or layer.
        ValueError: to is unknown, the model, its optimizer or a metric cannot be copied, or to is
            'keras' and a layer or a function of one is of this package, or a subclass of such, that
            Keras does not have.

    Example:
        >>> import keras
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4)])
        >>> type(tf_rnn_ops.keras.convert(model).layers[0]).__module__
        'tf_rnn_ops.keras.layers'
    """
    environment.refuse_keras_2(model, "model")
    if not isinstance(model, keras.layers.Layer):
        raise TypeError(
            f"model must be a Keras model or layer, but it is a {type(model).__name__}."
        )
    if to not in _CLASSES:
        raise ValueError(f"to must be one of {sorted(_CLASSES)}, but it is {to!r}.")
    if to == "keras":
        refuse_layers_without_stock_twin(model)
        _refuse_functions_of_this_package(model)
    return converted(model, to)


def converted(model, to):
    """As convert, of a model that can be converted; functions of this package stay where they are."""
    return copying.copy_of(model, _CLASSES[to])


def refuse_layers_without_stock_twin(model):
    for layer in model._flatten_layers():
        cls = type(layer)
        # A user's subclass of ours needs this package as much.
        ours = any(base.__module__.split(".")[0] == _PACKAGE for base in cls.__mro__)
        if ours and cls not in _CLASSES["keras"]:
            raise ValueError(
                f"The layer {layer.name!r} is a {cls.__name__}, which has no counterpart in "
                "keras.layers; to='keras' can convert LSTM, GRU, SimpleRNN and RNN, but no "
                "subclass of them."
            )


def _refuse_functions_of_this_package(model):
    for layer in model._flatten_layers():
        for argument in ("activation", "recurrent_activation"):
            function = getattr(layer, argument, None)
            if str(getattr(function, "__module__", "")).split(".")[0] == _PACKAGE:
                raise ValueError(
                    f"{argument} of the layer {layer.name!r} is {function.__name__} of this package, "
                    "without which Keras cannot load the model; to='keras' needs a function of Keras."
                )
