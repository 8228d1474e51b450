"""Random problems for LayerRNN (numpy only)."""

import dataclasses

import numpy as np

from support.reference import layer
from support.reference.cells import exact
from support.reference.layer import LayerInputs
from support.reference.rounding import rounder
from support.reference.spec import CELLS, GATES


def _modes_of(cell):
    """A cell, and its variants: see layer_case."""
    more = ("lstmp", "lstm_layer_norm") if cell == "lstm" else ()
    return (cell, *more, f"{cell}_zoneout") if CELLS[cell].zoneout else (cell, *more)


# The modes of the op, lstmp, which is lstm with a projection, peepholes and both limits, one with layer
# normalization, and those with zoneout, which a seed selects.
MODES = tuple(mode for cell in CELLS for mode in _modes_of(cell))
WITHOUT_C = tuple(mode for cell in CELLS if not CELLS[cell].has_c for mode in _modes_of(cell))
# The names of the others say their activation.
WITH_FUNCTIONS = tuple(mode for cell in CELLS if CELLS[cell].activation for mode in _modes_of(cell))
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
    cell_clip: float = 0.0
    proj_clip: float = 0.0
    zoneout_h: float = 0.0
    zoneout_c: float = 0.0
    layer_norm_epsilon: float = 1e-3

    @property
    def is_lstm(self):
        return self.rnn_mode == "lstm"

    @property
    def hidden(self):
        """S."""
        return self.inputs.h0.shape[1]

    def functions(self):
        """The activations, limits and so on, as attributes of the ops."""
        names = ("activation", "recurrent_activation", "cell_clip", "proj_clip")
        names += ("zoneout_h", "zoneout_c", "layer_norm_epsilon")
        return {name: getattr(self, name) for name in names}

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
        names = (
            "bias",
            "projection",
            "peepholes",
            "layer_norm",
            "lengths",
            "input_mask",
            "recurrent_mask",
            "seed",
        )
        given = [n for n in names if getattr(i, n) is not None]
        functions = " ".join(map(str, self.functions().values()))
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
    num_proj=None,
    peepholes=None,
    clips=None,
    seed=True,
):
    """Draws a problem.

    Args:
        rnn_mode: one of MODES.
        shape: (T, B, I, H).
        rng: a numpy generator.
        dtype: name of the op's type.
        bias: whether it has one.
        lengths: None for none, "random" (0..T, with one full row) or an array.
        input_mask: whether there is one.
        recurrent_mask: whether there is one.
        functions: activation and recurrent_activation.
        num_proj: P of an lstm, 0 for no projection; by default that of an lstmp is about 2/3 H.
        peepholes: whether an lstm has them; by default only an lstmp.
        clips: cell_clip and proj_clip; by default limits that an lstmp reaches.
        seed: whether there is one where there is zoneout.
    """
    full = rnn_mode == "lstmp"
    zones_out, normalizes = rnn_mode.endswith("_zoneout"), rnn_mode == "lstm_layer_norm"
    rnn_mode = "lstm" if full or normalizes else rnn_mode.removesuffix("_zoneout")
    zoneout_h, zoneout_c = (0.3, 0.4 * CELLS[rnn_mode].has_c) if zones_out else (0.0, 0.0)
    if num_proj is None:
        num_proj = max(1, 2 * shape[3] // 3) if full else 0
    peepholes = full if peepholes is None else peepholes
    cell_clip, proj_clip = clips or ((0.25, 0.125) if full else (0.0, 0.0))
    if not CELLS[rnn_mode].recurrent_activation:
        functions = (functions[0], "sigmoid")
    q = rounder(dtype)
    steps, batch, input_size, units = shape
    gates, hidden = GATES[rnn_mode], num_proj or units
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
    columns, bias_rows = gates * units, (2,) if CELLS[rnn_mode].bias_rows == 2 else ()
    inputs = LayerInputs(
        x=normal(steps, batch, input_size),
        h0=normal(batch, hidden, scale=0.5),
        c0=normal(batch, units, scale=0.5),
        kernel=weights(input_size, columns),
        recurrent_kernel=weights(hidden, columns),
        bias=weights(*bias_rows, columns) if bias else None,
        lengths=None if lengths is None else np.asarray(lengths, np.int32),
        input_mask=mask(input_mask, input_size),
        recurrent_mask=mask(recurrent_mask, hidden),
        projection=q(3 * weights(units, num_proj)) if num_proj else None,
        peepholes=normal(3, units, scale=0.5) if peepholes else None,
        layer_norm=normal(18, units, scale=0.75) if normalizes else None,
        seed=rng.integers(-(2**52), 2**52, 2) if zones_out and seed else None,
    )
    upstream = normal(steps, batch, hidden), normal(batch, hidden), normal(batch, units)
    attrs = (*functions, cell_clip, proj_clip, zoneout_h, zoneout_c)
    if normalizes:
        # A small one would let rounding errors grow from step to step; see bounds.py.
        attrs += (1.0,)
    return LayerCase(rnn_mode, dtype, inputs, *upstream, *attrs)


def random_layer_case(rnn_mode, rng, dtype="float64", largest=(9, 8, 9, 18), **options):
    """A random problem with each optional tensor in half of the cases."""
    shape = tuple(int(rng.integers(1, size + 1)) for size in largest)
    names = ("bias", "input_mask", "recurrent_mask")
    given = {name: bool(rng.integers(2)) for name in names}
    lengths = "random" if rng.integers(2) else None
    options.setdefault("seed", bool(rng.integers(2)) if rnn_mode.endswith("_zoneout") else True)
    return layer_case(rnn_mode, shape, rng, dtype, lengths=lengths, **given, **options)
