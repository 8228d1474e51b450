"""Canonical checkpoints of the later versions of TensorFlow 1: the weights of equivalent cells."""

from __future__ import annotations

import tensorflow as tf

from tf_rnn_ops.contrib import _saveable_base, format_converters


class CudnnOpaqueParamsSaveable(_saveable_base.TransformedSaveable):
    """The base of the four saveables; use the saveable of the model."""

    _converter_cls: type  # set by the classes below

    def __init__(
        self,
        opaque_params: tf.Variable,
        num_layers: int,
        num_units: int,
        input_size: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        scope: str | tf.compat.v1.VariableScope | None = None,
        name: str | None = None,
    ) -> None:
        """Connects a buffer to a checkpoint.

        Args:
            opaque_params: The variable that holds the buffer.
            num_layers: As in the model.
            num_units: As in the model.
            input_size: As in the model.
            input_mode: As in the model, but with another default.
            direction: As in the model.
            scope: Prefix of each name in the checkpoint, a string or a variable scope. The
                layers of TensorFlow 1 used their own scope, such as 'cudnn_lstm'.
            name: Name of the object. A Saver saves only the last object of each name. The default
                joins the names of the variable and of the first tensor. In a graph of tf.compat.v1
                it has only the name of the tensor.

        Raises:
            ValueError: An argument is wrong.
        """
        self._converter = self._converter_cls(
            num_layers, num_units, input_size, input_mode, direction
        )
        scope = getattr(scope, "name", scope)
        self._prefix = f"{scope}/" if scope else ""
        names = [self._prefix + n for n in self._converter.tensor_names]
        super().__init__(names, name, [opaque_params])

    @property
    def format_converter(self) -> format_converters.CudnnParamsFormatConverter:
        """The converter between the buffer and the tensors of the checkpoint."""
        return self._converter

    def to_tensors(self):
        weights, biases = self._converter.opaque_to_tf_canonical(self.read_buffer())
        return weights + biases

    def assign(self, tensors):
        shapes = self._converter.tensor_shapes
        tensors = [
            _saveable_base.check_shape(
                tensor, shape, name, self._configurations(tensor, shape, has_inputs=k == 0)
            )
            for k, (tensor, shape, name) in enumerate(
                zip(tensors, shapes, self.tensor_names, strict=True)
            )
        ]
        params = self._converter.tf_canonical_to_opaque(tensors)
        return _saveable_base.assign_all(self.variables, [params])

    def _configurations(self, tensor, shape, has_inputs):
        """The configurations of the model and, as far as the tensor determines it, of the checkpoint."""
        model = self._converter.attributes
        sizes = tf.concat(
            [[0, 0], tf.shape(tensor)], axis=0
        )  # at least two sizes, also for a scalar
        units = sizes[-1] // (shape[-1] // model["num_units"])
        of_checkpoint = ["num_units = ", tf.as_string(units)]
        if has_inputs:
            of_checkpoint += [" and input_size = ", tf.as_string(sizes[-2] - units)]
        return tf.strings.join(
            [
                "This model has rnn_mode = '{rnn_mode}', num_units = {num_units}, "
                "input_size = {input_size}, num_layers = {num_layers}, input_mode = '{input_mode}' "
                "and direction = '{direction}'; the checkpoint is of a model with ".format(**model),
                *of_checkpoint,
                ".",
            ]
        )


class CudnnLSTMSaveable(CudnnOpaqueParamsSaveable):
    """Saves the buffer of a CudnnLSTM as the variables of CudnnCompatibleLSTMCells.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> model = contrib.CudnnLSTM(num_layers=1, num_units=4, input_size=3)
        >>> params = tf.Variable(tf.zeros([model.params_size()]))
        >>> contrib.CudnnLSTMSaveable(params, 1, 4, 3).tensor_names[1]
        'rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/bias'
    """

    _converter_cls = format_converters.CudnnParamsFormatConverterLSTM


class CudnnGRUSaveable(CudnnOpaqueParamsSaveable):
    """Saves the buffer of a CudnnGRU as the variables of CudnnCompatibleGRUCells.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> contrib.CudnnGRUSaveable(tf.Variable(tf.zeros([108])), 1, 4, 3).tensor_names[0]
        'rnn/multi_rnn_cell/cell_0/cudnn_compatible_gru_cell/gates/kernel'
    """

    _converter_cls = format_converters.CudnnParamsFormatConverterGRU


class CudnnRNNTanhSaveable(CudnnOpaqueParamsSaveable):
    """Saves the buffer of a CudnnRNNTanh as the variables of basic cells.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> contrib.CudnnRNNTanhSaveable(tf.Variable(tf.zeros([36])), 1, 4, 3).tensor_names[0]
        'rnn/multi_rnn_cell/cell_0/basic_rnn_cell/kernel'
    """

    _converter_cls = format_converters.CudnnParamsFormatConverterTanh


class CudnnRNNReluSaveable(CudnnOpaqueParamsSaveable):
    """Saves the buffer of a CudnnRNNRelu as the variables of basic cells.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> contrib.CudnnRNNReluSaveable(tf.Variable(tf.zeros([36])), 1, 4, 3).tensor_names[0]
        'rnn/multi_rnn_cell/cell_0/basic_rnn_cell/kernel'
    """

    _converter_cls = format_converters.CudnnParamsFormatConverterRelu
