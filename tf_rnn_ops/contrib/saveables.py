"""Canonical checkpoints as TensorFlow 1 wrote them up to its end: the weights of equivalent cells."""

import operator

import tensorflow as tf
from google.protobuf import json_format, struct_pb2

# The functions with which TensorFlow writes collections into a MetaGraph have no public names.
from tensorflow.core.framework import variable_pb2
from tensorflow.python.framework import ops

from tf_rnn_ops import raw_ops
from tf_rnn_ops.contrib import _formats, _saveable_base
from tf_rnn_ops.contrib.models import check_configuration


class CudnnOpaqueParamsSaveable(_saveable_base.TransformedSaveable):
    """What the four saveables share; use the one of the model."""

    _rnn_mode: str  # set by the classes below

    def __init__(
        self,
        opaque_params,
        num_layers,
        num_units,
        input_size,
        input_mode="linear_input",
        direction="unidirectional",
        scope=None,
        name=None,
    ):
        """Connects a buffer to a checkpoint.

        Args:
            opaque_params: The variable that holds the buffer.
            num_layers: As in the model, like the next arguments.
            num_units: As in the model.
            input_size: As in the model.
            input_mode: As in the model; note that the default is another one.
            direction: As in the model.
            scope: What precedes each name in the checkpoint, a string or a variable scope. The
                layers of TensorFlow 1 used their own scope, such as 'cudnn_lstm'.
            name: Name of the object, which must differ from others in the same Saver; by default
                it is made from those of the variable and the first tensor.

        Raises:
            ValueError: An argument is wrong.
        """
        check_configuration(num_layers, num_units, input_size, input_mode, direction)
        self._num_layers = operator.index(num_layers)
        self._num_units = operator.index(num_units)
        self._input_size = operator.index(input_size)
        self._input_mode = input_mode
        self._direction = direction
        self._format = _formats.FORMATS[self._rnn_mode]
        self._widths = [
            _formats.input_width(k, num_units, input_size, input_mode, direction)
            for k in range(num_layers)
            for _ in range(_formats.directions(direction))
        ]
        scope = getattr(scope, "name", scope)
        self._prefix = f"{scope}/" if scope else ""
        names = [self._prefix + n for n in self._names()]
        super().__init__(names, name, [opaque_params])

    def to_tensors(self):
        result = raw_ops.CudnnRNNParamsToCanonicalV2(
            **self._attributes(),
            params=self.read_buffer(),
            num_params_weights=2 * self._format.gates * len(self._widths),
            num_params_biases=2 * self._format.gates * len(self._widths),
        )
        weights, biases = [], []
        for k in range(len(self._widths)):
            of_cell = slice(2 * self._format.gates * k, 2 * self._format.gates * (k + 1))
            weights += self._format.weights_to_cell(result.weights[of_cell])
            biases += self._format.biases_to_cell(result.biases[of_cell])
        return weights + biases

    def assign(self, tensors):
        shapes = [s for w in self._widths for s in self._format.weight_shapes(w, self._num_units)]
        shapes += [s for _ in self._widths for s in self._format.bias_shapes(self._num_units)]
        tensors = [
            _saveable_base.check_shape(
                tensor, shape, name, self._configurations(tensor, shape, has_inputs=k == 0)
            )
            for k, (tensor, shape, name) in enumerate(
                zip(tensors, shapes, self.tensor_names, strict=True)
            )
        ]
        per_cell = len(self._format.weight_names)
        of_cells = [tensors[k : k + per_cell] for k in range(0, len(tensors), per_cell)]
        weights, biases = [], []
        for k, width in enumerate(self._widths):
            weights += self._format.weights_from_cell(of_cells[k], width)
            biases += self._format.biases_from_cell(of_cells[len(self._widths) + k])
        params = raw_ops.CudnnRNNCanonicalToParamsV2(
            **self._attributes(), weights=weights, biases=biases
        )
        return _saveable_base.assign_all(self._variables, [params])

    def to_proto(self, export_scope=None):
        """Describes the object, as tf.compat.v1.Variable.to_proto does.

        Args:
            export_scope: The scope that is exported and removed from names, or None.

        Returns:
            A protocol buffer, or None if the variable is not in that scope.
        """
        variable = self._variables[0].to_proto(export_scope)
        if variable is None:
            return None
        proto = struct_pb2.Struct()
        proto.update(
            {
                **self._attributes(),
                "name": ops.strip_name_scope(self.name, export_scope),
                "prefix": ops.strip_name_scope(self._prefix, export_scope),
                "variable": json_format.MessageToDict(variable),
            }
        )
        return proto

    @staticmethod
    def from_proto(proto, import_scope=None):
        """The inverse of to_proto, in a graph that has the variable.

        Args:
            proto: What to_proto returned.
            import_scope: The scope into which the graph was imported, or None.

        Returns:
            A saveable of the class that the object had.
        """
        fields = json_format.MessageToDict(proto)
        variable_def = json_format.ParseDict(fields.pop("variable"), variable_pb2.VariableDef())
        variables = tf.compat.v1.GraphKeys.GLOBAL_VARIABLES
        sizes = ("num_layers", "num_units", "input_size")  # a Struct has no integers
        return _CLASSES[fields.pop("rnn_mode")](
            ops.get_from_proto_function(variables)(variable_def, import_scope=import_scope),
            **{key: int(fields.pop(key)) for key in sizes},
            scope=ops.prepend_name_scope(fields.pop("prefix"), import_scope).rstrip("/"),
            name=ops.prepend_name_scope(fields.pop("name"), import_scope),
            **fields,
        )

    def _configurations(self, tensor, shape, has_inputs):
        """That of the model and, as far as the tensor tells, that of the checkpoint."""
        found = tf.concat([[0, 0], tf.shape(tensor)], axis=0)  # whatever its rank is
        units = found[-1] // (shape[-1] // self._num_units)
        of_checkpoint = ["num_units = ", tf.as_string(units)]
        if has_inputs:
            of_checkpoint += [" and input_size = ", tf.as_string(found[-2] - units)]
        return tf.strings.join(
            [
                f"This model is of rnn_mode = '{self._rnn_mode}' with "
                f"num_units = {self._num_units}, input_size = {self._input_size}, num_layers = {self._num_layers}, input_mode = "
                f"'{self._input_mode}' and direction = '{self._direction}'; the checkpoint is of a "
                "model with ",
                *of_checkpoint,
                ".",
            ]
        )

    def _names(self):
        prefixes = [
            _formats.cell_prefix(layer, self._format.cell_name, self._direction, backward)
            for layer in range(self._num_layers)
            for backward in (False, True)[: _formats.directions(self._direction)]
        ]
        kinds = (self._format.weight_names, self._format.bias_names)
        return [f"{prefix}/{n}" for kind in kinds for prefix in prefixes for n in kind]

    def _attributes(self):
        return {
            "num_layers": self._num_layers,
            "num_units": self._num_units,
            "input_size": self._input_size,
            "rnn_mode": self._rnn_mode,
            "input_mode": self._input_mode,
            "direction": self._direction,
        }


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

    _rnn_mode = "lstm"


class CudnnGRUSaveable(CudnnOpaqueParamsSaveable):
    """Saves the buffer of a CudnnGRU as the variables of CudnnCompatibleGRUCells."""

    _rnn_mode = "gru"


class CudnnRNNTanhSaveable(CudnnOpaqueParamsSaveable):
    """Saves the buffer of a CudnnRNNTanh as the variables of basic cells."""

    _rnn_mode = "rnn_tanh"


class CudnnRNNReluSaveable(CudnnOpaqueParamsSaveable):
    """Saves the buffer of a CudnnRNNRelu as the variables of basic cells."""

    _rnn_mode = "rnn_relu"


_CLASSES = {
    one._rnn_mode: one
    for one in (CudnnLSTMSaveable, CudnnGRUSaveable, CudnnRNNTanhSaveable, CudnnRNNReluSaveable)
}
