"""Private attributes of layers."""

import sys
from typing import Any

import keras

from tf_rnn_ops._python import patches
from tf_rnn_ops.params.keras import internals
from tf_rnn_ops.params.keras.internals import attribute

_COPY = "A layer cannot be copied"

# WHY not here: params needs it without an import of Keras.
flatten_layers = internals.flatten_layers


def inner_layers(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    """The layers that a layer itself holds. For a model they include its Input layers.

    Needs the list _layers. Without it this raises RuntimeError.
    """
    return attribute(layer, "_layers", "The layers inside of a layer cannot be found")


def held(layer: keras.layers.Layer) -> dict[str, list]:
    """Keras's lists of the layers, variables and seed generators that a layer itself holds, by kind.

    Needs _layers, _trainable_variables, _non_trainable_variables and _seed_generators. Without them this raises
    RuntimeError.
    """
    trainable = attribute(layer, "_trainable_variables", _COPY)
    return {
        "layers": attribute(layer, "_layers", _COPY),
        "variables": [*trainable, *attribute(layer, "_non_trainable_variables", _COPY)],
        "seed generators": attribute(layer, "_seed_generators", _COPY),
    }


def untrack(layer: keras.layers.Layer, variable: keras.Variable) -> None:
    """Removes a variable from the weights of a layer that has it as an attribute.

    Needs the method _untrack_variable(). Without it this raises RuntimeError, because files of weights
    would be different.
    """
    attribute(layer, "_untrack_variable", "A layer cannot be stateful")(variable)


def remove_variable(layer: keras.layers.Layer, name: str) -> None:
    """Deletes an attribute of a layer that is one of its variables.

    Needs the method _untrack_variable(). WHY not delattr: Keras's also calls gc.collect(), for each variable.
    """
    untrack(layer, getattr(layer, name))
    patches.remove(layer, name, above=keras.layers.Layer)


def output_shape_of(layer: keras.layers.Lambda) -> Any:
    """The argument output_shape of a Lambda.

    Needs _output_shape. Without it the result is None, with which Keras finds the shape by a call.
    """
    return getattr(layer, "_output_shape", None)


def is_set_by_keras() -> bool:
    """Whether Keras called the caller of this function, a setter of a property of a layer.

    Needs that the modules of Keras are in a package keras. Otherwise the result is False.
    """
    frame: Any = sys._getframe(2)
    while frame.f_code.co_name == "__setattr__":
        frame = frame.f_back
    return frame.f_globals.get("__name__", "").startswith("keras.")
