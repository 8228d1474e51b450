"""Calls of LinearRecurrence, which is in no module for users."""

import dataclasses

import numpy as np
import tensorflow as tf

from support.reference import linear_recurrence
from tf_rnn_ops.native import loader

SLOPES = ("h_by_gates", "c_by_gates", "h_by_h", "h_by_c", "c_by_h", "c_by_c")
INPUTS = ("input", "cell_input", "recurrent_kernel", *SLOPES)


@dataclasses.dataclass
class LinearCase:
    """The inputs by name, those that are absent None, and the attributes."""

    dtype: str
    rnn_mode: str
    transposed: bool
    input: np.ndarray  # [T, B, H]
    recurrent_kernel: np.ndarray  # [H, G*H]
    cell_input: np.ndarray | None = None
    h_by_gates: np.ndarray | None = None
    c_by_gates: np.ndarray | None = None
    h_by_h: np.ndarray | None = None
    h_by_c: np.ndarray | None = None
    c_by_h: np.ndarray | None = None
    c_by_c: np.ndarray | None = None

    def arrays(self):
        """By the names of the op's inputs, of size 0 where absent."""
        found = {name: getattr(self, name) for name in INPUTS}
        return {name: np.zeros([0]) if a is None else a for name, a in found.items()}

    def _results(self, h, c):
        return {"output": h, "cell_output": c} if self.rnn_mode == "lstm" else {"output": h}

    def reference(self):
        return self._results(*linear_recurrence.run(self.rnn_mode, self.arrays(), self.transposed))

    def run(self, op=None):
        """The op's outputs as float64 arrays; `op` calls it, by default plainly."""
        tensors = {name: tf.constant(a, self.dtype) for name, a in self.arrays().items()}
        attrs = {"rnn_mode": self.rnn_mode, "transposed": self.transposed}
        found = (op or loader.ops().tf_rnn_ops_linear_recurrence)(**tensors, **attrs)
        return self._results(*(tensor.numpy().astype(np.float64) for tensor in found))
