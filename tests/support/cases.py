"""Random problems for both op families (numpy only)."""

import dataclasses

import numpy as np

from support.reference import block_lstm, layout, rnn
from support.reference.block_lstm import BlockLstmInputs
from support.reference.cells import exact
from support.reference.rounding import rounder
from support.reference.spec import RnnSpec


@dataclasses.dataclass
class RnnCase:
    """One CudnnRNN problem, time-major; float64 arrays whose values are exact in `dtype`."""

    spec: RnnSpec
    dtype: str
    x: np.ndarray
    h0: np.ndarray
    c0: np.ndarray
    params: np.ndarray
    lengths: np.ndarray
    dy: np.ndarray
    dh: np.ndarray
    dc: np.ndarray

    def reference(self, masks=None, q=exact, output=None):
        """(Forward, Backward) of the float64 reference, or of a naive one if q rounds.

        `output` is what a 16-bit gradient op is given; see reference/rnn.py.
        """
        fwd = rnn.forward(self.spec, self.x, self.h0, self.c0, self.params, self.lengths, masks, q)
        bwd = rnn.backward(
            self.spec, self.params, fwd.tape, self.dy, self.dh, self.dc, masks, q, output
        )
        return fwd, bwd


def rnn_case(spec, steps, batch, rng, dtype="float64", lengths="random"):
    """Draws a problem; `lengths` is "full", "random" (0..T, with one full row) or an array."""
    q = rounder(dtype)
    bound = 1.0 / np.sqrt(spec.units)

    def normal(*shape):
        return q(rng.standard_normal(shape))

    if isinstance(lengths, str):
        if lengths == "full":
            lengths = np.full(batch, steps)
        else:
            lengths = rng.integers(0, steps + 1, size=batch)
            if batch:
                lengths[rng.integers(batch)] = steps
    state = (spec.state_rows, batch)
    return RnnCase(
        spec=spec,
        dtype=dtype,
        x=normal(steps, batch, spec.input_size),
        h0=q(0.5 * rng.standard_normal(state + (spec.output_units,))),
        c0=q(0.5 * rng.standard_normal(state + (spec.units,))),
        params=q(rng.uniform(-bound, bound, layout.params_size(spec))),
        lengths=np.asarray(lengths, np.int32),
        dy=normal(steps, batch, spec.output_size),
        dh=normal(*state, spec.output_units),
        dc=normal(*state, spec.units),
    )


def random_spec(rng, max_layers=3, max_units=8, modes=("lstm", "gru", "rnn_tanh", "rnn_relu")):
    """A random valid configuration over every attribute."""
    mode = str(rng.choice(modes))
    units = int(rng.integers(1, max_units + 1))
    input_mode = str(rng.choice(["linear_input", "skip_input", "auto_select"]))
    same = input_mode == "skip_input" or rng.random() < 0.3
    return RnnSpec(
        rnn_mode=mode,
        layers=int(rng.integers(1, max_layers + 1)),
        units=units,
        input_size=units if same else int(rng.integers(1, 9)),
        direction=str(rng.choice(["unidirectional", "bidirectional"])),
        input_mode=input_mode,
        num_proj=int(rng.integers(0, units + 1)) if mode == "lstm" else 0,
    )


@dataclasses.dataclass
class BlockCase:
    """One BlockLSTMV2 problem; float64 arrays whose values are exact in `dtype`.

    cell_clip should be a float32 number, as the attribute is.
    """

    dtype: str
    inputs: BlockLstmInputs
    cs_grad: np.ndarray
    h_grad: np.ndarray
    seq_len_max: int
    cell_clip: float = 0.0
    use_peephole: bool = False

    def reference(self, q=exact):
        """(outputs, gradients), two dicts."""
        out = block_lstm.forward(
            self.inputs, self.seq_len_max, self.cell_clip, self.use_peephole, q
        )
        return out, self.reference_backward(out, q)

    def reference_backward(self, out, q=exact):
        return block_lstm.backward(
            self.inputs, out, self.cs_grad, self.h_grad, self.seq_len_max, self.use_peephole, q
        )


def block_case(steps, batch, input_size, units, rng, dtype="float64", seq_len_max=None, **attrs):
    """Draws a problem; seq_len_max defaults to all steps."""
    q = rounder(dtype)
    bound = 1.0 / np.sqrt(units)

    def normal(*shape, scale=1.0):
        return q(scale * rng.standard_normal(shape))

    return BlockCase(
        dtype=dtype,
        inputs=BlockLstmInputs(
            x=normal(steps, batch, input_size),
            cs_prev=normal(batch, units, scale=0.5),
            h_prev=normal(batch, units, scale=0.5),
            w=q(rng.uniform(-bound, bound, (input_size + units, 4 * units))),
            wci=normal(units, scale=0.5),
            wcf=normal(units, scale=0.5),
            wco=normal(units, scale=0.5),
            b=q(rng.uniform(-bound, bound, 4 * units)),
        ),
        cs_grad=normal(steps, batch, units),
        h_grad=normal(steps, batch, units),
        seq_len_max=steps if seq_len_max is None else seq_len_max,
        **attrs,
    )
