"""The base of layers around a cell of this package."""

import inspect
from typing import Any

import keras

from tf_rnn_ops.keras.layers.op_layer import OpLayer

_BOTH = ("dtype", "trainable")
_OF_LAYER = (*_BOTH, "name", "activity_regularizer")


class CellLayer(OpLayer, keras.layers.RNN):
    """A layer that creates its cell, with the arguments of both.

    A subclass names the class of its cell. The subclass gets a property for each argument of the cell,
    and its constructor spells out the arguments of both.
    """

    def __init_subclass__(cls, cell_class=None, cell_name=None, **kwargs):
        """Adopts the arguments of the cell.

        Args:
            cell_class: A subclass of OpCell; None in a subclass of a layer with a cell_class.
            cell_name: The name of the cells.
            **kwargs: Arguments for the base classes.
        """
        super().__init_subclass__(**kwargs)
        if cell_class is None:
            return
        cls._cell_class, cls._cell_name = cell_class, cell_name
        cls._of_cell = inspect.signature(cell_class).parameters.keys() - _OF_LAYER
        for name in cls._of_cell:
            setattr(cls, name, _forwarded(name))

    def __init__(self, **kwargs: Any) -> None:
        cell = {name: kwargs.pop(name) for name in self._of_cell}
        cell |= {name: kwargs[name] for name in _BOTH}
        super().__init__(self._cell_class(name=self._cell_name, **cell), **kwargs)
        self.input_spec = keras.layers.InputSpec(ndim=3)

    def get_config(self):
        """Returns the arguments of the constructor."""
        config = super().get_config()
        del config["cell"]
        cell = self.cell.get_config()
        for name in ("name", *_BOTH):
            cell.pop(name, None)
        return {**cell, **config}

    @classmethod
    def from_config(cls, config):
        """Creates a layer from what get_config returned."""
        return cls(**config)


def _forwarded(name):
    return property(lambda layer: getattr(layer.cell, name), doc=f"`{name}` of the cell.")
