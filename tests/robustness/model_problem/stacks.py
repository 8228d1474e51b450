"""Layers of Keras in place of the stacks of this package."""

import keras
import numpy as np

from support.reference import layout
from support.reference.spec import RnnSpec

LAYERS = 2
_CELLS = {
    "stack_lstm": (keras.layers.LSTM, {}),
    "stack_gru": (keras.layers.GRU, {}),
    "stack_tanh": (keras.layers.SimpleRNN, {}),
    "stack_relu": (keras.layers.SimpleRNN, {"activation": "relu"}),
}
_MODES = {
    "stack_lstm": "lstm",
    "stack_gru": "gru",
    "stack_tanh": "rnn_tanh",
    "stack_relu": "rnn_relu",
}


class KerasStack:
    """Layers of Keras that compute what a stack does.

    Attributes:
        built: The layers, a list for each layer of the stack with one for each direction.
    """

    def __init__(self, kind, units, both, sequences, name):
        cell, options = _CELLS[kind]
        options = options | {
            "return_sequences": True, "return_state": True, "zero_output_for_mask": True,
        }  # fmt: skip
        self._kind, self._units, self._both, self._sequences = kind, units, both, sequences
        self.built = [
            [
                cell(units, go_backwards=back, name=f"{name}_{k}_{int(back)}", **options)
                for back in (False, True)[: 1 + both]
            ]
            for k in range(LAYERS)
        ]

    def __call__(self, x, mask):
        """The results for a mask [B, T] or None, which is also the mask of the result."""
        for pair in self.built:
            results = [layer(x, mask=mask) for layer in pair]
            outputs = [results[0][0], *(keras.ops.flip(r[0], 1) for r in results[1:])]
            x = _joined(outputs)
        if not self._sequences:
            return _joined([r[1] for r in results])
        return x if mask is None else WithMask()([x, mask])

    def set_buffer(self, buffer):
        """Gives the layers the weights that the vector of a stack has."""
        size = int(self.built[0][0].weights[0].shape[0])
        direction = "bidirectional" if self._both else "unidirectional"
        spec = RnnSpec(_MODES[self._kind], LAYERS, self._units, size, direction)
        layers = [layer for pair in self.built for layer in pair]
        for layer, cell in zip(layers, layout.unpack(spec, buffer), strict=True):
            layer.set_weights(_keras_weights(self._kind, cell))


def _joined(tensors):
    return tensors[0] if len(tensors) == 1 else keras.ops.concatenate(tensors, -1)


def _keras_weights(kind, cell):
    """Kernel, recurrent kernel and bias. cuDNN has the gates r z n of a GRU, and Keras z r n."""
    order = [1, 0, 2] if kind == "stack_gru" else range(len(cell.w))
    kernel, recurrent = (np.concatenate([m[k].T for k in order], 1) for m in (cell.w, cell.r))
    biases = np.stack([np.concatenate([b[k] for k in order]) for b in (cell.bw, cell.br)])
    return [kernel, recurrent, biases if kind == "stack_gru" else biases.sum(0)]


class WithMask(keras.layers.Layer):
    """Gives a tensor a mask."""

    def call(self, inputs):
        return 1.0 * inputs[0]

    def compute_mask(self, inputs, previous_mask=None):
        return inputs[1]
