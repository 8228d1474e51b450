"""Sorts the arguments of a layer that makes its cell."""

import inspect

import keras

_BOTH = ("dtype", "trainable")


def split_arguments(cell_class, arguments):
    """Returns the arguments of the cell, and those of keras.layers.RNN.

    Args:
        cell_class: A subclass of keras.layers.LSTMCell that names its own arguments.
        arguments: Arguments by name.
    """
    # LSTMCell takes implementation without naming it.
    of_cell = {"implementation", *_BOTH}
    for cls in (cell_class, keras.layers.LSTMCell):
        of_cell |= set(inspect.signature(cls).parameters)
    cell = {n: value for n, value in arguments.items() if n in of_cell}
    layer = {n: value for n, value in arguments.items() if n in _BOTH or n not in of_cell}
    return cell, layer
