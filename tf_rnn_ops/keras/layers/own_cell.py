"""What layers share around a cell of this package, whose arguments are theirs."""

import inspect

import keras

from tf_rnn_ops.keras.layers.drop_in import OneOp
from tf_rnn_ops.keras.layers.signatures import spelled_out

_BOTH = ("dtype", "trainable")


class OwnCell(OneOp, keras.layers.RNN):
    """A layer over a cell that it makes, with the arguments of both.

    A subclass names the class of its cell. It gets a property for each argument of the cell.
    """

    def __init_subclass__(cls, cell_class=None, cell_name=None, **kwargs):
        """Takes the arguments of the cell over.

        Args:
            cell_class: A subclass of LSTMCell or GRUCell of Keras; None in a subclass of such a layer.
            cell_name: Name of the cells.
            **kwargs: For the classes above.
        """
        super().__init_subclass__(**kwargs)
        if cell_class is None:
            return
        cls._cell_class, cls._cell_name = cell_class, cell_name
        for name, parameter in inspect.signature(cell_class).parameters.items():
            if parameter.kind is not parameter.VAR_KEYWORD:
                setattr(cls, name, _of_cell(name))
        spelled_out(cell_class, keras.layers.RNN)(cls)

    def __init__(self, units, arguments):
        """Creates the layer.

        Args:
            units: Number of units, H.
            arguments: All other arguments by name, of the cell and of keras.layers.RNN.
        """
        # Keras's cells take implementation without naming it.
        of_cell = {"implementation", *_BOTH, *inspect.signature(self._cell_class).parameters}
        cell = {n: value for n, value in arguments.items() if n in of_cell}
        layer = {n: value for n, value in arguments.items() if n in _BOTH or n not in of_cell}
        super().__init__(self._cell_class(units, name=self._cell_name, **cell), **layer)
        self.input_spec = keras.layers.InputSpec(ndim=3)

    def get_config(self):
        """Returns the arguments of the constructor."""
        config = super().get_config()
        del config["cell"]
        cell = self.cell.get_config()
        for name in ("name", "dtype", "trainable"):
            cell.pop(name, None)
        return {**cell, **config}

    @classmethod
    def from_config(cls, config):
        """Creates a layer from what get_config returned."""
        return cls(**config)


def _of_cell(name):
    return property(lambda layer: getattr(layer.cell, name), doc=f"`{name}` of the cell.")
