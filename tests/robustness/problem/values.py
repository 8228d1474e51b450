"""The numbers of a problem, which follow from its line only (README.md, "Numbers").

tests/cc/cpu/kernel_harness.cc draws the same numbers in C++.
"""

import numpy as np

from robustness.problem.grammar import BLOCK, FACTS, GATES, INT8, LAYER, LINEAR, MODES
from support.cases import BlockCase, RnnCase
from support.layer_cases import LayerCase
from support.linear_case import LinearCase
from support.quantized_case import QuantizedCase
from support.reference import layout
from support.reference.block_lstm import BlockLstmInputs
from support.reference.layer import LayerInputs
from support.reference.rounding import rounder
from support.reference.spec import RnnSpec

_STEP = 0x9E3779B97F4A7C15
_MASK = np.array([0.0, 0.0, 0.75, 1.0, 1.5])


def mix(z):
    """The finaliser of SplitMix64 on an array of uint64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def words(seed, name, count):
    """The random words of a tensor."""
    key = 0xCBF29CE484222325  # FNV-1a of the name
    for byte in name.encode():
        key = ((key ^ byte) * 0x100000001B3) % 2**64
    key = mix(np.array([(seed + _STEP) % 2**64], np.uint64)) ^ np.uint64(key)
    return mix(key + np.uint64(_STEP) * np.arange(1, count + 1, dtype=np.uint64))


class _Draw:
    def __init__(self, problem):
        self.seed, self.dropout = problem.seed, problem.dropout
        self.round = rounder("float32" if problem.type == INT8 else problem.type)

    def uniform(self, name, scale, *shape):
        return self.round(scale * (2 * self._units(name, int(np.prod(shape))) - 1)).reshape(shape)

    def _units(self, name, count):
        return (words(self.seed, name, count) >> np.uint64(11)) * 2.0**-53

    def integers(self, name, *shape):
        found = words(self.seed, name, int(np.prod(shape))) >> np.uint64(56)
        return found.astype(np.int64).reshape(shape) - 128

    def scales(self, name, weight, count):
        """Such that no weight is larger than `weight`."""
        return self.round(weight / 256 * (1 + self._units(name, count)))

    def mask(self, name, *shape):
        drawn = words(self.seed, name, int(np.prod(shape)))
        if not self.dropout:
            return _MASK[drawn % np.uint64(5)].reshape(shape)
        kept = (drawn >> np.uint64(11)) * 2.0**-53 >= self.dropout
        return self.round(np.where(kept, 1 / (1 - self.dropout), 0.0)).reshape(shape)


def lengths(problem):
    """The length of each row; of BlockLSTMV2 one for all rows."""
    count = 1 if problem.op == BLOCK else problem.B
    if problem.lengths == "full":
        return np.full(count, problem.T, np.int32)
    if problem.lengths == "random":
        drawn = words(problem.seed, "lengths", count) % np.uint64(problem.T + 1)
        return drawn.astype(np.int32)
    return np.array([int(n) for n in problem.lengths.split(",")], np.int32)


def spec(problem):
    return RnnSpec(
        rnn_mode=MODES[problem.cell],
        layers=problem.L,
        units=problem.H,
        input_size=problem.I,
        direction="bidirectional" if problem.D == 2 else "unidirectional",
        input_mode={"linear": "linear_input", "skip": "skip_input", "auto": "auto_select"}[
            problem.input
        ],
        num_proj=problem.P,
    )


def _stack(p, draw):
    s = spec(p)
    weight = 1.5 / np.sqrt(max(p.I, p.H))
    state = (s.state_rows, p.B)
    return RnnCase(
        spec=s,
        dtype=p.type,
        x=draw.uniform("x", 2, p.T, p.B, p.I),
        h0=draw.uniform("h0", 1, *state, s.output_units),
        c0=draw.uniform("c0", 1, *state, p.H),
        params=draw.uniform("params", weight, layout.params_size(s)),
        lengths=lengths(p),
        dy=draw.uniform("dy", 1, p.T, p.B, s.output_size),
        dh=draw.uniform("dh_n", 1, *state, s.output_units),
        dc=draw.uniform("dc_n", 1, *state, p.H),
    )


def _layer(p, draw):
    gates, hidden = GATES[p.cell], p.P or p.H
    weight, columns = 1.5 / np.sqrt(max(p.I, p.H)), gates * p.H
    bias = (2, columns) if FACTS[p.cell].bias_rows == 2 else (columns,)
    x_masked, h_masked = p.mask in ("input", "both"), p.mask in ("recurrent", "both")
    return LayerCase(
        rnn_mode=MODES[p.cell],
        dtype=p.type,
        inputs=LayerInputs(
            x=draw.uniform("x", 2, p.T, p.B, p.I),
            h0=draw.uniform("h0", 1, p.B, hidden),
            c0=draw.uniform("c0", 1, p.B, p.H),
            kernel=draw.uniform("kernel", weight, p.I, columns),
            recurrent_kernel=draw.uniform("recurrent_kernel", weight, hidden, columns),
            bias=draw.uniform("bias", weight, *bias) if p.bias == "yes" else None,
            projection=draw.uniform("projection", weight, p.H, p.P) if p.P else None,
            peepholes=draw.uniform("peepholes", 1, 3, p.H) if p.peephole == "yes" else None,
            layer_norm=draw.uniform("layer_norm", 1, 18, p.H) if p.norm == "yes" else None,
            lengths=None if p.lengths == "full" else lengths(p),
            input_mask=draw.mask("input_mask", gates, p.B, p.I) if x_masked else None,
            recurrent_mask=draw.mask("recurrent_mask", gates, p.B, hidden) if h_masked else None,
            seed=np.array([p.seed, 0]) if p.drawn == "yes" else None,
        ),
        dy=draw.uniform("dy", 1, p.T, p.B, hidden),
        dh=draw.uniform("dh_n", 1, p.B, hidden),
        dc=draw.uniform("dc_n", 1, p.B, p.H),
        activation=p.activation,
        recurrent_activation=p.recurrent_activation,
        # The attributes are float32.
        cell_clip=float(np.float32(p.clip)),
        proj_clip=float(np.float32(p.proj_clip)),
        zoneout_h=float(np.float32(p.zoneout_h)),
        zoneout_c=float(np.float32(p.zoneout_c)),
        layer_norm_epsilon=float(np.float32(p.epsilon)),
    )


def _quantized(p, draw):
    gates, hidden = GATES[p.cell], p.P or p.H
    weight, columns = 1.5 / np.sqrt(max(p.I, p.H)), gates * p.H
    bias = (2, columns) if FACTS[p.cell].bias_rows == 2 else (columns,)

    def matrix(name, rows, count):
        return {
            name: draw.integers(name, rows, count),
            f"{name}_scale": draw.scales(f"{name}_scale", weight, count),
        }

    return QuantizedCase(
        rnn_mode=MODES[p.cell],
        x=draw.uniform("x", 2, p.T, p.B, p.I),
        h0=draw.uniform("h0", 1, p.B, hidden),
        c0=draw.uniform("c0", 1, p.B, p.H),
        **matrix("kernel", p.I, columns),
        **matrix("recurrent_kernel", hidden, columns),
        **(matrix("projection", p.H, p.P) if p.P else {}),
        bias=draw.uniform("bias", weight, *bias) if p.bias == "yes" else None,
        lengths=None if p.lengths == "full" else lengths(p),
        activation=p.activation,
        recurrent_activation=p.recurrent_activation,
    )


def _block(p, draw):
    weight = 1.5 / np.sqrt(p.I + p.H)
    return BlockCase(
        dtype=p.type,
        inputs=BlockLstmInputs(
            x=draw.uniform("x", 2, p.T, p.B, p.I),
            cs_prev=draw.uniform("cs_prev", 1, p.B, p.H),
            h_prev=draw.uniform("h_prev", 1, p.B, p.H),
            w=draw.uniform("w", weight, p.I + p.H, 4 * p.H),
            wci=draw.uniform("wci", 1, p.H),
            wcf=draw.uniform("wcf", 1, p.H),
            wco=draw.uniform("wco", 1, p.H),
            b=draw.uniform("b", weight, 4 * p.H),
        ),
        cs_grad=draw.uniform("cs_grad", 1, p.T, p.B, p.H),
        h_grad=draw.uniform("h_grad", 1, p.T, p.B, p.H),
        seq_len_max=int(lengths(p)[0]),
        # The attribute is a float32.
        cell_clip=float(np.float32(p.clip)),
        use_peephole=p.peephole == "yes",
    )


def _linear(p, draw):
    gates, states = p.slopes in ("all", "gates"), p.slopes in ("all", "states")
    found = {"input": draw.uniform("input", 1, p.T, p.B, p.H)}
    columns = GATES[p.cell] * p.H
    weight = 1.5 / np.sqrt(p.H)
    found["recurrent_kernel"] = draw.uniform("recurrent_kernel", weight, p.H, columns)
    letters = "hc" if p.cell == "lstm" else "h"
    if p.cell == "lstm":
        found["cell_input"] = draw.uniform("cell_input", 1, p.T, p.B, p.H)
    names = [f"{a}_by_gates" for a in letters if gates]
    names += [f"{a}_by_{b}" for a in letters for b in letters if states]
    for name in names:
        size = columns if name.endswith("gates") else p.H
        found[name] = draw.uniform(name, 0.5, p.T, p.B, size)
    return LinearCase(p.type, MODES[p.cell], p.adjoint == "yes", **found)


def case(problem):
    """The problem as a case of support/, time-major, in arrays that are exact in its type."""
    make = {LAYER: _layer, BLOCK: _block, LINEAR: _linear}.get(problem.op, _stack)
    if problem.type == INT8:
        make = _quantized
    return make(problem, _Draw(problem))
