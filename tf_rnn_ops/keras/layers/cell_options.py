"""The arguments of cells that Keras leaves out of their configs, and we do not."""

import keras


def implementation(cell):
    """The `implementation` of a cell, as a part of its config, if it is not the default.

    A cell without it may take another path, or drop other inputs.
    """
    # Keras sets it to 1 for recurrent_dropout.
    default = 1 if getattr(cell, "recurrent_dropout", 0) else 2
    given = getattr(cell, "implementation", default)
    return {} if given == default else {"implementation": given}


_STOCK = (keras.layers.LSTMCell, keras.layers.GRUCell)


def complete(config, cell):
    """Adds to the config of a cell, or of StackedRNNCells, what Keras has left out.

    Args:
        config: The result of serialize_keras_object for `cell`; it is changed.
        cell: The cell. Only the classes of Keras themselves are known to take `implementation`.
    """
    if type(cell) is keras.layers.StackedRNNCells:
        for one_config, one in zip(config["config"]["cells"], cell.cells):
            complete(one_config, one)
    elif type(cell) in _STOCK:
        config["config"].update(implementation(cell))
