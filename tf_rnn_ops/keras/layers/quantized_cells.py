"""Cells with int8 weights. A layer changes the class of its cell to one of them when it is quantized."""

import types
from typing import Any

import keras
import tensorflow as tf

from tf_rnn_ops.keras.dispatch import cells, changes, params, quantized
from tf_rnn_ops.keras.layers.projected_lstm_cell import ProjectedLSTMCell


class _QuantizedCell(keras.layers.Layer):
    """A cell of float_class whose matrices are int8, with a scale for each column.

    The weight is kernel * kernel_scale. With a dtype policy without int8 it is a cell of float_class.
    """

    float_class: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Remembers the methods of the subclass."""
        super().__init_subclass__(**kwargs)
        changes.remember(cls)

    def add_weight(self, *args: Any, **kwargs: Any) -> keras.Variable:
        """As in Keras, but the matrices are int8, and each gets scales. The bias is not cast."""
        name = kwargs.get("name")
        if self.quantization_mode != "int8":
            return super().add_weight(*args, **kwargs)
        if name not in cells.MATRICES:
            return super().add_weight(*args, **{**kwargs, "autocast": False})
        options = {"initializer": "zeros", "dtype": "int8", "regularizer": None, "constraint": None}
        matrix = super().add_weight(*args, **{**kwargs, **options, "trainable": False})
        scale = super().add_weight(
            shape=matrix.shape[1:],
            name=f"{name}_scale",
            initializer="ones",
            dtype="float32",
            trainable=False,
            autocast=False,
        )
        setattr(self, f"{name}_scale", scale)
        return matrix

    def quantized_call(
        self, inputs: tf.Tensor, states: list[tf.Tensor], training: bool | None = False
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Runs one step, in training with dequantized weights.

        Args:
            inputs: [B, I].
            states: The states.
            training: Whether to apply dropout, and to have gradients.

        Returns:
            The new output and the list of new states.
        """
        if training:
            return self.float_class.call(_Dequantized(self), inputs, states, training=True)
        has_c = len(states) == 2
        inputs = tf.cast(inputs, self.compute_dtype)
        h, c = (tf.cast(state, inputs.dtype) for state in (states[0], states[-1]))
        arguments = {"input": inputs[None], "input_h": h, "input_c": c}
        result = quantized.run_plain(arguments, *cells.quantized_arguments(self))
        new = [result.output_h, result.output_c] if has_c else [result.output_h]
        return result.output_h, new


class _Dequantized:
    """A quantized cell for `call` of its float class: with weights in float, for a call.

    Methods of the float class see the float weights, and all else is that of the cell.
    """

    def __init__(self, cell: keras.layers.Layer) -> None:
        self._cell = cell
        for name in (*cells.MATRICES, "bias"):
            if hasattr(cell, name):
                setattr(self, name, params.weight_of(cell, name))

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._cell, name)
        if name in vars(self._cell.float_class) and isinstance(value, types.MethodType):
            return types.MethodType(value.__func__, self)
        return value


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class QuantizedLSTMCell(_QuantizedCell, keras.layers.LSTMCell):
    """keras.layers.LSTMCell with int8 weights."""

    float_class = keras.layers.LSTMCell


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class QuantizedGRUCell(_QuantizedCell, keras.layers.GRUCell):
    """keras.layers.GRUCell with int8 weights."""

    float_class = keras.layers.GRUCell


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class QuantizedSimpleRNNCell(_QuantizedCell, keras.layers.SimpleRNNCell):
    """keras.layers.SimpleRNNCell with int8 weights."""

    float_class = keras.layers.SimpleRNNCell


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class QuantizedProjectedLSTMCell(_QuantizedCell, ProjectedLSTMCell):
    """ProjectedLSTMCell with int8 weights, without peepholes and clipping."""

    float_class = ProjectedLSTMCell


OF_CLASS = {
    cls.float_class: cls
    for cls in (
        QuantizedLSTMCell,
        QuantizedGRUCell,
        QuantizedSimpleRNNCell,
        QuantizedProjectedLSTMCell,
    )
}
"""{class of a cell: its class with int8 weights}."""
