"""What layers share around a cell of this package, whose arguments are theirs."""

import inspect

import keras

from tf_rnn_ops.keras.layers.drop_in import OneOp, path_options

_BOTH = ("dtype", "trainable")


class OwnCell(OneOp, keras.layers.RNN):
    """A layer over a cell that it makes, with the arguments of both."""

    def __init__(self, cell_class, cell_name, units, arguments):
        """Creates the layer.

        Args:
            cell_class: A subclass of LSTMCell or GRUCell of Keras that names its own arguments.
            cell_name: Name of the cell.
            units: Number of units, H.
            arguments: All other arguments by name, of the cell and of keras.layers.RNN.
        """
        # Keras's cells take implementation without naming it.
        of_cell = {"implementation", *_BOTH}
        for cls in (cell_class, cell_class.__base__):
            of_cell |= set(inspect.signature(cls).parameters)
        cell = {n: value for n, value in arguments.items() if n in of_cell}
        layer = {n: value for n, value in arguments.items() if n in _BOTH or n not in of_cell}
        super().__init__(cell_class(units, name=cell_name, **cell), **layer)
        self.input_spec = keras.layers.InputSpec(ndim=3)

    @property
    def units(self):
        """Number of units, H."""
        return self.cell.units

    def get_config(self):
        """Returns the arguments of the constructor."""
        config = super().get_config()
        del config["cell"]
        cell = self.cell.get_config()
        for name in ("name", "dtype", "trainable"):
            cell.pop(name, None)
        return {**cell, **config, **path_options(self)}

    @classmethod
    def from_config(cls, config):
        """Creates a layer from what get_config returned."""
        return cls(**config)
