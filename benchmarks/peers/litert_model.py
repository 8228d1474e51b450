"""A layer as a LiteRT file with one fused LSTM, written by hand."""

import flatbuffers
import numpy as np
from tensorflow.lite.python import schema_py_generated as schema

_INPUTS = 24  # of UNIDIRECTIONAL_SEQUENCE_LSTM
# Where it has the input, the four input weights, the four recurrent ones, the four biases, h and c.
_X, _W, _R, _B, _STATES = 0, 1, 5, 12, 18
# In the order of Keras (i, f, c, o), the place of each gate among LiteRT's four.
_GATES = (0, 1, 2, 3)


def build(x_shape, kernel, recurrent_kernel, bias):
    """The bytes of a file from x [B, T, I] to y [B, T, H].

    Args:
        x_shape: B, T, I.
        kernel: [I, 4H] in the order of Keras.
        recurrent_kernel: [H, 4H].
        bias: [4H].
    """
    units = len(recurrent_kernel)
    file = _File()
    inputs = [-1] * _INPUTS
    inputs[_X] = file.tensor(x_shape)
    for first, array in ((_W, kernel), (_R, recurrent_kernel), (_B, bias)):
        for gate, part in zip(_GATES, np.split(array, 4, -1)):
            part = np.ascontiguousarray(part.T)
            inputs[first + gate] = file.tensor(part.shape, part)
    for k in range(2):
        inputs[_STATES + k] = file.tensor((x_shape[0], units), variable=True)
    y = file.tensor((*x_shape[:2], units))
    options = schema.UnidirectionalSequenceLSTMOptionsT()
    options.fusedActivationFunction = schema.ActivationFunctionType.TANH
    operator = schema.OperatorT()
    operator.inputs, operator.outputs = inputs, [y]
    operator.builtinOptionsType = schema.BuiltinOptions.UnidirectionalSequenceLSTMOptions
    operator.builtinOptions = options
    return file.content([inputs[_X]], operator)


class _File:
    def __init__(self):
        self.tensors, self.buffers = [], [schema.BufferT()]  # the first one is empty

    def tensor(self, shape, values=None, variable=False):
        """The number of a new tensor of float32."""
        tensor = schema.TensorT()
        tensor.shape, tensor.name = list(shape), f"t{len(self.tensors)}".encode()
        tensor.type, tensor.isVariable = schema.TensorType.FLOAT32, variable
        if values is not None:
            tensor.buffer = len(self.buffers)
            self.buffers.append(schema.BufferT())
            self.buffers[-1].data = np.frombuffer(values.tobytes(), np.uint8)
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def content(self, inputs, operator):
        graph = schema.SubGraphT()
        graph.tensors, graph.operators = self.tensors, [operator]
        graph.inputs, graph.outputs = inputs, operator.outputs
        code = schema.OperatorCodeT()
        code.builtinCode = schema.BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM
        code.deprecatedBuiltinCode, code.version = code.builtinCode, 1
        model = schema.ModelT()
        model.version, model.subgraphs, model.buffers = 3, [graph], self.buffers
        model.operatorCodes = [code]
        builder = flatbuffers.Builder()
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
