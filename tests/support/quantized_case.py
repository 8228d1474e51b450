"""Calls of QuantizedLayerRNN in float32, and what the reference says of them."""

import dataclasses

import numpy as np
import tensorflow as tf

from support.reference import quantized

MATRICES = ("kernel", "recurrent_kernel", "projection")
# The inputs of PackQuantizedLayerRNN.
WEIGHTS = (*MATRICES, *(f"{name}_scale" for name in MATRICES), "bias")
_INPUTS = {"input": "x", "input_h": "h0", "input_c": "c0", "sequence_lengths": "lengths"}


@dataclasses.dataclass
class QuantizedCase:
    """One problem, time-major; optional tensors are None if they are absent."""

    rnn_mode: str
    x: np.ndarray
    h0: np.ndarray
    c0: np.ndarray
    kernel: np.ndarray  # integers, as each of the matrices
    kernel_scale: np.ndarray
    recurrent_kernel: np.ndarray
    recurrent_kernel_scale: np.ndarray
    bias: np.ndarray | None = None
    projection: np.ndarray | None = None
    projection_scale: np.ndarray | None = None
    lengths: np.ndarray | None = None
    activation: str = "tanh"
    recurrent_activation: str = "sigmoid"

    @property
    def is_lstm(self):
        return self.rnn_mode == "lstm"

    def weights(self):
        """The inputs of PackQuantizedLayerRNN as arrays of the op's types."""
        found = {}
        for name in WEIGHTS:
            value = getattr(self, name)
            dtype = np.int8 if name in MATRICES else np.float32
            found[name] = np.zeros(0, dtype) if value is None else value.astype(dtype)
        return found

    def tensors(self, time_major=True):
        """All inputs of QuantizedLayerRNN but `packed`."""
        found = self.weights()
        for name, field in _INPUTS.items():
            value = getattr(self, field)
            if name == "input_c" and not self.is_lstm:
                value = 0.0
            elif name == "input" and not time_major:
                value = value.swapaxes(0, 1)
            dtype = np.int32 if field == "lengths" else np.float32
            found[name] = np.asarray([] if value is None else value, dtype)
        return found

    def attrs(self, time_major=True):
        functions = {name: getattr(self, name) for name in ("activation", "recurrent_activation")}
        return {"rnn_mode": self.rnn_mode, "time_major": time_major, **functions}

    def pack(self, ops):
        weights = {name: tf.constant(array) for name, array in self.weights().items()}
        return ops.PackQuantizedLayerRNN(**weights, rnn_mode=self.rnn_mode)

    def run(self, ops, time_major=True, packed=True):
        """The op's results as time-major float64 arrays, without what the case does not have."""
        tensors = {name: tf.constant(array) for name, array in self.tensors(time_major).items()}
        panels = self.pack(ops) if packed else tf.zeros([0], tf.uint8)
        result = ops.QuantizedLayerRNN(**tensors, packed=panels, **self.attrs(time_major))
        found = {name: t.numpy().astype(np.float64) for name, t in result._asdict().items()}
        if not self.is_lstm:
            del found["output_c"]
        if not time_major:
            found["output"] = found["output"].swapaxes(0, 1)
        return found

    def reference(self, output):
        """The results if each step begins at the h of `output`, and bounds for `output`; see quantized.layer."""
        weights = {"bias": self.bias}
        for name in MATRICES:
            if getattr(self, name) is not None:
                weights[name] = getattr(self, name), getattr(self, f"{name}_scale")
        return quantized.layer(
            self.rnn_mode,
            self.x,
            [self.h0, self.c0] if self.is_lstm else [self.h0],
            weights,
            output,
            self.lengths,
            activation=self.activation,
            recurrent_activation=self.recurrent_activation,
        )
