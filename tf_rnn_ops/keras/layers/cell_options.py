"""Adds the arguments of cells that Keras omits from configs."""

from typing import Any

import keras

from tf_rnn_ops.keras.dispatch import cells


def implementation(cell: keras.layers.Layer) -> dict[str, int]:
    """The `implementation` of a cell as a part of its config, if it is not the default.

    A copy of a cell without it may run on another path, or drop other inputs.
    """
    # Keras sets `implementation` to 1 for recurrent_dropout.
    default = 1 if getattr(cell, "recurrent_dropout", 0) else 2
    number = getattr(cell, "implementation", default)
    return {} if number == default else {"implementation": number}


_STOCK = (keras.layers.LSTMCell, keras.layers.GRUCell)


def complete(config: Any, cell: keras.layers.Layer) -> None:
    """Adds the arguments that Keras omits to the config of a cell, or of StackedRNNCells.

    Args:
        config: The result of serialize_keras_object for `cell`. It is changed in place.
        cell: The cell. Only Keras's own classes are known to accept `implementation`.
    """
    if type(cell) is keras.layers.StackedRNNCells:
        for cell_config, inner in zip(config["config"]["cells"], cell.cells):
            complete(cell_config, inner)
    elif cells.class_of(cell) in _STOCK:
        config["config"].update(implementation(cell))
