"""The base of layers that make a cell of this package."""

from typing import Any

import keras

from tf_rnn_ops.keras.layers.op_layer import OpLayer


class CellAttribute(property):
    """An argument of a layer that is an attribute of its cell."""

    def __init__(self) -> None:
        super().__init__(lambda layer: getattr(layer.cell, self.name))

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class CellLayer(OpLayer):
    """A layer that makes its cell, with the arguments of both."""

    units = CellAttribute()
    activation = CellAttribute()
    recurrent_activation = CellAttribute()
    use_bias = CellAttribute()
    kernel_initializer = CellAttribute()
    recurrent_initializer = CellAttribute()
    bias_initializer = CellAttribute()
    kernel_regularizer = CellAttribute()
    recurrent_regularizer = CellAttribute()
    bias_regularizer = CellAttribute()
    kernel_constraint = CellAttribute()
    recurrent_constraint = CellAttribute()
    bias_constraint = CellAttribute()
    dropout = CellAttribute()
    recurrent_dropout = CellAttribute()
    seed = CellAttribute()
    implementation = CellAttribute()

    def __init__(self, cell: keras.layers.Layer, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self.input_spec = keras.layers.InputSpec(ndim=3)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        config = super().get_config()
        del config["cell"]
        cell = self.cell.get_config()
        for name in ("name", "dtype", "trainable"):
            cell.pop(name, None)
        return {**cell, **config}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Creates a layer from what get_config returned."""
        return cls(**config)


class LSTMCellLayer(CellLayer):
    """A CellLayer with an LSTM cell."""

    unit_forget_bias = CellAttribute()
