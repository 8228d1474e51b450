"""Cells with the results of the op, for tf.keras.layers.RNN and for code that runs single steps."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tf_rnn_ops._python import checks
from tf_rnn_ops.contrib import _formats
from tf_rnn_ops.contrib._saveable_base import as_variables
from tf_rnn_ops.params.initializers import nth_use


class _CompatibleCell(tf.keras.layers.Layer):
    _rnn_mode: str  # set by the classes below

    def __init__(
        self,
        num_units: int,
        reuse: bool | None = None,
        kernel_initializer: object = "glorot_uniform",
        *,
        name: str | None = None,
        dtype: object = None,
        trainable: bool = True,
    ) -> None:
        """Creates a cell.

        Args:
            num_units: Number of units, H.
            reuse: Ignored. It shared variables in TensorFlow 1.
            kernel_initializer: Initializer of the kernels.
            name: The name of the layer, as for every Keras layer.
            dtype: The type of the cell, or its dtype policy.
            trainable: Whether the variables are trained.

        Raises:
            ValueError: num_units is not a positive integer.
            RuntimeError: Keras does not run on TensorFlow.
        """
        backend = tf.keras.backend.backend()
        if backend != "tensorflow":
            raise RuntimeError(
                f"{type(self).__name__} needs Keras on TensorFlow, but its backend is {backend!r}. "
                "Set the environment variable KERAS_BACKEND=tensorflow before keras is imported."
            )
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        del reuse
        checks.check_size("num_units", num_units)
        self.num_units = int(num_units)
        self.kernel_initializer = tf.keras.initializers.get(kernel_initializer)
        self.output_size = self.num_units
        self.state_size = self.num_units if self._rnn_mode == "gru" else [self.num_units] * 2
        self._tensors: dict[str, Any] = {}

    def build(self, input_shape):
        width = input_shape[-1]
        if width is None:
            raise ValueError(
                f"The size of the input must be known, but its shape is {tuple(input_shape)}."
            )
        cell = _formats.FORMATS[self._rnn_mode]
        for names, shapes in (
            (cell.weight_names, cell.weight_shapes(width, self.num_units)),
            (cell.bias_names, cell.bias_shapes(self.num_units)),
        ):
            for k, (name, shape) in enumerate(zip(names, shapes, strict=True)):
                self._tensors[name] = self.add_weight(
                    name=name.replace("/", "_"),
                    shape=shape,
                    initializer=nth_use(self._initializer(name), k),
                )

    def canonical_variables(
        self,
        layer: int = 0,
        direction: str = "unidirectional",
        backward: bool = False,
        scope: str | None = None,
    ) -> dict[str, tf.Variable]:
        """Returns the variables under their names in a canonical checkpoint.

        Args:
            layer: Number of the layer in the stack.
            direction: 'unidirectional' or 'bidirectional': the direction of the stack with this cell.
            backward: Whether it is the cell of the backward direction.
            scope: The scope that was given to the saveable.

        Returns:
            A dict, the var_list of a tf.compat.v1.train.Saver.
        """
        prefix = _formats.cell_prefix(
            layer, _formats.FORMATS[self._rnn_mode].cell_name, direction, backward
        )
        prefix = f"{scope}/{prefix}" if scope else prefix
        variables = as_variables(self._tensors.values())
        return {f"{prefix}/{name}": v for name, v in zip(self._tensors, variables, strict=True)}

    def get_config(self):
        return {
            **super().get_config(),
            "num_units": self.num_units,
            "kernel_initializer": tf.keras.initializers.serialize(self.kernel_initializer),
        }


@tf.keras.utils.register_keras_serializable("tf_rnn_ops")
class CudnnCompatibleLSTMCell(_CompatibleCell):
    """One step of CudnnLSTM: gates in the order i, c, f, o and no forget bias added.

    Its states are h and c, in Keras's order.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> layer = tf.keras.layers.RNN(contrib.CudnnCompatibleLSTMCell(4), return_sequences=True)
        >>> tuple(layer(tf.ones([5, 7, 3])).shape)
        (5, 7, 4)
    """

    _rnn_mode = "lstm"

    def call(self, inputs, states):
        h, c = states
        kernel, bias = (tf.convert_to_tensor(t) for t in self._tensors.values())
        gates = tf.concat([inputs, h], axis=1) @ kernel + bias
        i, new, f, o = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(new)
        h = tf.sigmoid(o) * tf.tanh(c)
        return h, [h, c]

    def _initializer(self, name):
        return self.kernel_initializer if name == "kernel" else "zeros"


@tf.keras.utils.register_keras_serializable("tf_rnn_ops")
class CudnnCompatibleGRUCell(_CompatibleCell):
    """One step of CudnnGRU: the reset gate applies after the recurrent product.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> layer = tf.keras.layers.RNN(contrib.CudnnCompatibleGRUCell(4))
        >>> tuple(layer(tf.ones([5, 7, 3])).shape)
        (5, 4)
    """

    _rnn_mode = "gru"

    def call(self, inputs, states):
        h = states[0] if isinstance(states, (list, tuple)) else states
        kernel, kernel_x, kernel_h, bias, bias_x, bias_h = (
            tf.convert_to_tensor(t) for t in self._tensors.values()
        )
        gates = tf.sigmoid(tf.concat([inputs, h], axis=1) @ kernel + bias)
        r, u = tf.split(gates, 2, axis=1)
        new = tf.tanh(inputs @ kernel_x + bias_x + r * (h @ kernel_h + bias_h))
        h = (1 - u) * new + u * h
        return h, [h]

    def _initializer(self, name):
        if name.endswith("kernel"):
            return self.kernel_initializer
        # As in TensorFlow 1, the biases of the gates start at 1.
        return "ones" if name == "gates/bias" else "zeros"
