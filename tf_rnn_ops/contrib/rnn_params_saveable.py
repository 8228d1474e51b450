"""Canonical checkpoints of the TensorFlow 1 versions before CudnnLSTMSaveable."""

import inspect

import tensorflow as tf

from tf_rnn_ops.contrib import _formats, _network, _saveable_base
from tf_rnn_ops.contrib.models import CANONICAL_OP_NAME, CudnnRNNModel

# The arguments in the later versions of TensorFlow 1, and in version 1.0, which had no models.
_LATER = inspect.signature(
    lambda self, cudnn_rnn, params_to_canonical, canonical_to_params, param_variables,
    base_variable_scope=None, name=None, *, op_name=None: None
)  # fmt: skip
_EARLY = _LATER.replace(
    parameters=[
        parameter
        for name, parameter in _LATER.parameters.items()
        if name not in ("cudnn_rnn", "base_variable_scope")
    ]
)


def _shown_as(signature):
    def decorate(function):
        function.__signature__ = signature
        return function

    return decorate


def _arguments(*args, **kwargs):
    """{name: value} of the arguments of RNNParamsSaveable.__init__ in any version of TensorFlow 1.

    Raises:
        TypeError: The arguments fit neither signature.
    """
    has_model = "cudnn_rnn" in kwargs or isinstance((*args, None)[1], CudnnRNNModel)
    bound = (_LATER if has_model else _EARLY).bind(*args, **kwargs)
    bound.apply_defaults()
    arguments = bound.arguments
    if has_model and not isinstance(arguments["cudnn_rnn"], CudnnRNNModel):
        raise TypeError(
            f"cudnn_rnn must be a model of contrib, but it is {arguments['cudnn_rnn']!r}."
        )
    variables = arguments["param_variables"]
    if not isinstance(variables, (list, tuple)) or not variables:
        raise TypeError(f"param_variables must be a list of variables, but it is {variables!r}.")
    return arguments


class RNNParamsSaveable(_saveable_base.TransformedSaveable):
    """Saves an opaque buffer under the early names of TensorFlow 1, and restores it.

    Without a model, or with a bidirectional model or a simple RNN, the canonical tensors are saved
    unchanged under their names in the graph: 'CudnnRNNParamsToCanonical:0' and so on, weights first. With
    a unidirectional LSTM or GRU they are saved as the variables of equivalent cells, such as
    'multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/kernel', together with the two halves of each merged
    bias ('bias_cudnn_0', 'bias_cudnn_1'; 'bias_cudnn 0', 'bias_cudnn 1' for a GRU), from which the buffer
    is restored without loss.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> model = contrib.CudnnLSTM(num_layers=1, num_units=4, input_size=3)
        >>> params = tf.Variable(tf.zeros([model.params_size()]))
        >>> saveable = contrib.RNNParamsSaveable(
        ...     model, model.params_to_canonical, model.canonical_to_params, [params])
        >>> saveable.tensor_names[0]
        'multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/kernel'
    """

    @_shown_as(_LATER)
    def __init__(self, *args, **kwargs):
        """Connects a buffer to a checkpoint; accepts the arguments of all versions of TensorFlow 1.

        Args:
            cudnn_rnn: The model, a CudnnLSTM for instance. TensorFlow 1.0 did not have this argument.
            params_to_canonical: Function of the buffer that returns weights and biases, such as
                the method of the model.
            canonical_to_params: Function of weights and biases that returns the buffer, or a tuple with a
                tensor for each variable.
            param_variables: A list of the variables to restore. Only the first variable is saved.
            base_variable_scope: Prefix of each name in the checkpoint; only with cudnn_rnn.
            name: Name of the object. A Saver saves only the last object of each name. The default
                joins the names of the variable and of the first tensor. In a graph of tf.compat.v1
                it has only the name of the tensor.
            op_name: The part before the colon in the names of tensors that are saved unchanged. The
                default is the name of the op in the graph, or 'CudnnRNNParamsToCanonical' in eager
                execution. In TensorFlow 1 the op of a second model in one graph had a number after its
                name.

        Raises:
            TypeError: The arguments fit neither signature.
            ValueError: The functions do not fit the model.
        """
        arguments = _arguments(self, *args, **kwargs)
        self._model = arguments.get("cudnn_rnn")
        self._params_to_canonical = arguments["params_to_canonical"]
        self._canonical_to_params = arguments["canonical_to_params"]
        self.variables = _saveable_base.as_variables(arguments["param_variables"])
        self._as_cells = (
            self._model is not None
            and self._model.direction == "unidirectional"
            and self._model.rnn_mode in ("lstm", "gru")
        )
        if self._as_cells:
            self._format = _formats.FORMATS[self._model.rnn_mode]
        # Names and values come from one set of tensors, so that a graph has the op only once.
        self._tensors = None if tf.executing_eagerly() else self._compute()
        names = self._cell_names() if self._as_cells else self._tensor_names(arguments["op_name"])
        scope = arguments.get("base_variable_scope")
        prefix = f"{scope}/" if scope else ""
        super().__init__([prefix + n for n in names], arguments["name"], self.variables)

    def to_tensors(self):
        return self._compute() if self._tensors is None else self._tensors

    def assign(self, tensors):
        tensors = list(tensors)
        if self._as_cells:
            weights, biases = self._from_cells(tensors)
        else:
            weights, biases = tensors[: self._num_weights], tensors[self._num_weights :]
        params = self._canonical_to_params(weights, biases)
        return _saveable_base.assign_all(
            self.variables, params if isinstance(params, tuple) else (params,)
        )

    def _compute(self):
        weights, biases = self._params_to_canonical(self.read_buffer())
        if self._as_cells:
            return self._to_cells(weights, biases)
        self._num_weights = len(weights)
        return [*weights, *biases]

    def _tensor_names(self, op_name):
        if self._tensors is not None and op_name is None:
            return [tensor.name for tensor in self._tensors]
        count = len(self.to_tensors())
        return [f"{op_name or CANONICAL_OP_NAME}:{k}" for k in range(count)]

    def _cell_names(self):
        # TensorFlow 1 writes the space in the names of a GRU.
        side = "bias_cudnn_{}" if self._model.rnn_mode == "lstm" else "bias_cudnn {}"
        bias_names = [*self._format.bias_names, side.format(0), side.format(1)]
        return [
            f"multi_rnn_cell/cell_{layer}/{self._format.cell_name}/{n}"
            for kind in (self._format.weight_names, bias_names)
            for layer in range(self._model.num_layers)
            for n in kind
        ]

    def _to_cells(self, weights, biases):
        gates = self._format.gates
        cell_weights, cell_biases = [], []
        for layer in range(self._model.num_layers):
            of_layer = slice(2 * gates * layer, 2 * gates * (layer + 1))
            w, b = weights[of_layer], biases[of_layer]
            cell_weights += self._format.weights_to_cell(w)
            cell_biases += self._format.biases_to_cell(b)
            cell_biases += [self._format.side_biases(part) for part in (b[:gates], b[gates:])]
        return cell_weights + cell_biases

    def _from_cells(self, tensors):
        units = self._model.num_units
        widths = _network.input_widths(self._model.layout)
        bias_shapes = [*self._format.bias_shapes(units), *[self._format.side_shape(units)] * 2]
        shapes = [s for width in widths for s in self._format.weight_shapes(width, units)]
        shapes += [s for _ in widths for s in bias_shapes]
        checked = iter(
            _saveable_base.check_shape(*entry)
            for entry in zip(tensors, shapes, self.tensor_names, strict=True)
        )
        weights, biases = [], []
        for width in widths:
            of_layer = [next(checked) for _ in self._format.weight_names]
            weights += self._format.weights_from_cell(of_layer, width)
        for _ in widths:
            *merged, first, second = [next(checked) for _ in bias_shapes]
            biases += self._format.biases_from_sides(merged, (first, second))
        return weights, biases
