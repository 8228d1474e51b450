"""What layers hold, and who sets it."""

import sys

from tf_rnn_ops.params.keras_internals import attribute

_COPY = "A layer cannot be copied"


def inner_layers(layer):
    """The layers that a layer itself holds, those of a model with its Input layers.

    Needs the list _layers. Without it this raises RuntimeError.
    """
    return attribute(layer, "_layers", "The layers inside of a layer cannot be found")


def held(layer):
    """The lists in which Keras keeps what a layer itself holds, by what is in them.

    Needs _layers, _trainable_variables, _non_trainable_variables and _seed_generators. Without them this raises
    RuntimeError.
    """
    trainable = attribute(layer, "_trainable_variables", _COPY)
    return {
        "layers": attribute(layer, "_layers", _COPY),
        "variables": [*trainable, *attribute(layer, "_non_trainable_variables", _COPY)],
        "seed generators": attribute(layer, "_seed_generators", _COPY),
    }


def untrack(layer, variable):
    """Makes a variable that is an attribute of a layer none of the layer's weights.

    Needs the method _untrack_variable(). Without it this raises RuntimeError, because files of weights would differ.
    """
    attribute(layer, "_untrack_variable", "A layer cannot be stateful")(variable)


def is_set_by_keras():
    """Whether the caller of this, the setter of a property of a layer, was called by code of Keras.

    Needs that the modules of Keras are in a package keras. Without that the answer is no.
    """
    frame = sys._getframe(2)
    while frame.f_code.co_name == "__setattr__":
        frame = frame.f_back
    return frame.f_globals.get("__name__", "").startswith("keras.")
