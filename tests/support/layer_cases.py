"""Random problems for LayerRNN (numpy only)."""

import dataclasses

import numpy as np

from reference import layer
from reference.cells import exact
from reference.layer import LayerInputs
from reference.rounding import rounder
from reference.spec import GATES

MODES = ("lstm", "gru", "gru_reset_before", "rnn", "rnn_tanh", "rnn_relu")
WITH_FUNCTIONS = MODES[:4]  # the names of the others say their activation
# Pairs of activation and recurrent_activation, which rnn does not have.
FUNCTIONS = (
    ("tanh", "hard_sigmoid"),
    ("relu", "sigmoid"),
    ("linear", "hard_sigmoid_keras2"),
    ("sigmoid", "tanh"),
    ("hard_sigmoid", "sigmoid"),
)


@dataclasses.dataclass
class LayerCase:
    """One problem, time-major; float64 arrays whose values are exact in `dtype`."""

    rnn_mode: str
    dtype: str
    inputs: LayerInputs
    dy: np.ndarray
    dh: np.ndarray
    dc: np.ndarray
    activation: str = "tanh"
    recurrent_activation: str = "sigmoid"

    @property
    def is_lstm(self):
        return self.rnn_mode == "lstm"

    def functions(self):
        """The two activations, as attributes of the ops."""
        return {
            "activation": self.activation,
            "recurrent_activation": self.recurrent_activation,
        }

    def attrs(self):
        """The attributes of the ops that say what the layer computes."""
        return {"rnn_mode": self.rnn_mode, **self.functions()}

    def reference_with_tape(self, q=exact, output=None):
        """Outputs and gradients under the names of the ops' results, and the tape; naive if q rounds.

        `output` is what a 16-bit gradient op is given; see reference/layer.py.
        """
        functions = self.functions()
        outputs, tape = layer.forward(self.rnn_mode, self.inputs, q, functions)
        grads = layer.backward(
            self.rnn_mode, self.inputs, tape, self.dy, self.dh, self.dc, q, functions, output
        )
        return {**outputs, **{f"{name}_backprop": grad for name, grad in grads.items()}}, tape

    def reference(self, q=exact, output=None):
        return self.reference_with_tape(q, output)[0]

    def __str__(self):
        i = self.inputs
        given = [
            n
            for n in ("bias", "lengths", "input_mask", "recurrent_mask")
            if getattr(i, n) is not None
        ]
        functions = f"{self.activation} {self.recurrent_activation}"
        return f"{self.rnn_mode} {functions} {self.dtype} x {i.x.shape} h {i.h0.shape} {given} {i.lengths}"


def layer_case(
    rnn_mode,
    shape,
    rng,
    dtype="float64",
    bias=True,
    lengths="random",
    input_mask=True,
    recurrent_mask=True,
    functions=("tanh", "sigmoid"),
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
        functions: activation and recurrent_activation.
    """
    if rnn_mode == "rnn":
        functions = (functions[0], "sigmoid")
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
    return LayerCase(rnn_mode, dtype, inputs, *upstream, *functions)


def random_layer_case(rnn_mode, rng, dtype="float64", largest=(9, 8, 9, 18), **options):
    """A random problem with each optional tensor in half of the cases."""
    shape = tuple(int(rng.integers(1, size + 1)) for size in largest)
    names = ("bias", "input_mask", "recurrent_mask")
    given = {name: bool(rng.integers(2)) for name in names}
    lengths = "random" if rng.integers(2) else None
    return layer_case(rnn_mode, shape, rng, dtype, lengths=lengths, **given, **options)
