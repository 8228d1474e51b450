"""Random problems for LayerRNN (numpy only)."""

import dataclasses

import numpy as np

from reference import layer
from reference.cells import exact
from reference.layer import LayerInputs
from reference.rounding import rounder
from reference.spec import GATES

MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")


@dataclasses.dataclass
class LayerCase:
    """One problem, time-major; float64 arrays whose values are exact in `dtype`."""

    rnn_mode: str
    dtype: str
    inputs: LayerInputs
    dy: np.ndarray
    dh: np.ndarray
    dc: np.ndarray

    @property
    def is_lstm(self):
        return self.rnn_mode == "lstm"

    def reference(self, q=exact, output=None):
        """Outputs and gradients under the names of the ops' results, naive if q rounds.

        `output` is what a 16-bit gradient op is given; see reference/layer.py.
        """
        outputs, tape = layer.forward(self.rnn_mode, self.inputs, q)
        grads = layer.backward(
            self.rnn_mode, self.inputs, tape, self.dy, self.dh, self.dc, q, output
        )
        return {**outputs, **{f"{name}_backprop": grad for name, grad in grads.items()}}

    def __str__(self):
        i = self.inputs
        given = [
            n
            for n in ("bias", "lengths", "input_mask", "recurrent_mask")
            if getattr(i, n) is not None
        ]
        return f"{self.rnn_mode} {self.dtype} x {i.x.shape} h {i.h0.shape} {given} {i.lengths}"


def layer_case(
    rnn_mode,
    shape,
    rng,
    dtype="float64",
    bias=True,
    lengths="random",
    input_mask=True,
    recurrent_mask=True,
):
    """Draws a problem.

    Args:
        rnn_mode: as the attribute.
        shape: (T, B, I, H).
        rng: a numpy generator.
        dtype: name of the op's type.
        bias: whether it has one.
        lengths: None for none, "random" (0..T, with one full row) or an array.
        input_mask: whether there is one.
        recurrent_mask: whether there is one.
    """
    q = rounder(dtype)
    steps, batch, input_size, units = shape
    gates = GATES[rnn_mode]
    bound = 1.0 / np.sqrt(units)

    def normal(*size, scale=1.0):
        return q(scale * rng.standard_normal(size))

    def weights(*size):
        return q(rng.uniform(-bound, bound, size))

    def mask(given, size):
        # More values than dropout has, some of them 0.
        return rng.choice([0.0, 0.75, 1.0, 1.5], (gates, batch, size)) if given else None

    if isinstance(lengths, str):
        lengths = rng.integers(0, steps + 1, size=batch)
        if batch:
            lengths[rng.integers(batch)] = steps
    columns = gates * units
    inputs = LayerInputs(
        x=normal(steps, batch, input_size),
        h0=normal(batch, units, scale=0.5),
        c0=normal(batch, units, scale=0.5),
        kernel=weights(input_size, columns),
        recurrent_kernel=weights(units, columns),
        bias=weights(*((2, columns) if rnn_mode == "gru" else (columns,))) if bias else None,
        lengths=None if lengths is None else np.asarray(lengths, np.int32),
        input_mask=mask(input_mask, input_size),
        recurrent_mask=mask(recurrent_mask, units),
    )
    upstream = normal(steps, batch, units), normal(batch, units), normal(batch, units)
    return LayerCase(rnn_mode, dtype, inputs, *upstream)


def random_layer_case(rnn_mode, rng, dtype="float64", largest=(9, 8, 9, 18)):
    """A random problem with each optional tensor in half of the cases."""
    shape = tuple(int(rng.integers(1, size + 1)) for size in largest)
    names = ("bias", "input_mask", "recurrent_mask")
    given = {name: bool(rng.integers(2)) for name in names}
    lengths = "random" if rng.integers(2) else None
    return layer_case(rnn_mode, shape, rng, dtype, lengths=lengths, **given)
