"""The problems of a benchmark: their text form, their data and their floating-point operations."""

import dataclasses
import itertools
import pathlib
import re

import numpy as np

SHAPES = pathlib.Path(__file__).resolve().parent / "shapes"
# {cell that only Keras's layers and our layers have: (base cell, arguments)}.
LAYER_CELLS = {
    "lstm_hard_sigmoid": ("lstm", {"recurrent_activation": "hard_sigmoid"}),
    "gru_hard_sigmoid": ("gru", {"recurrent_activation": "hard_sigmoid"}),
    "gru_reset_before": ("gru", {"reset_after": False}),
    "sigmoid": ("sigmoid", {}),
    "lstm_projected": ("ProjectedLSTM", {"use_peepholes": True, "cell_clip": 3.0}),
    "lstm_layer_norm": ("LayerNormLSTM", {}),
}
GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1, "sigmoid": 1}
GATES |= {"ProjectedLSTM": 4, "LayerNormLSTM": 4}
GATES |= {name: GATES[cell] for name, (cell, _) in LAYER_CELLS.items()}
# A model of Dense, LSTM layers and Dense, which only benchmarks.peers.steppers has.
MODEL = "dense_lstm"
GATES[MODEL] = 4
CELLS = ("lstm", "gru", "tanh", "relu")
# {type of a problem: bytes of a weight}. With int8 only the weights are int8, and the rest is float32.
BYTES = {"float32": 4, "bfloat16": 2, "int8": 1}


@dataclasses.dataclass(frozen=True)
class Problem:
    """A recurrent network and the size of its input."""

    cell: str  # one of CELLS or LAYER_CELLS, or MODEL
    T: int
    B: int
    I: int  # noqa: E741 - the project's letter for the input size
    H: int
    L: int = 1
    D: int = 1
    dtype: str = "float32"
    dropout: float = 0.0  # of inputs and, with another mask, of states, as in Keras; training only

    @property
    def S(self):
        """The size of an output: with a projection half the units."""
        return self.H // 2 if self.cell == "lstm_projected" else self.H

    @property
    def value_dtype(self):
        """The type of inputs and results."""
        return "float32" if self.dtype == "int8" else self.dtype

    @property
    def name(self):
        stack = f" L={self.L} D={self.D}" if (self.L, self.D) != (1, 1) else ""
        dtype = f" {self.dtype}" if self.dtype != "float32" else ""
        dropout = f" dropout={self.dropout:g}" if self.dropout else ""
        return f"{self.cell} ({self.T},{self.B},{self.I},{self.H}){stack}{dtype}{dropout}"

    def has_mode(self, training):
        """Whether the problem is timed in this mode: dropout only in training, int8 only in inference."""
        return self.dtype != "int8" if training else not self.dropout

    def flops(self, training):
        """The operations of the matrix products. A backward pass has twice as many as a forward pass."""
        per_row = 0
        for layer in range(self.L):
            size = self.I if layer == 0 else self.D * self.S
            per_row += 2 * self.D * GATES[self.cell] * self.H * (size + self.S)
            if self.S != self.H:
                per_row += 2 * self.D * self.H * self.S
        return self.T * self.B * per_row * (3 if training else 1)


def parse(line):
    """Reads one line of a shapes file; raises ValueError with the line."""
    words = line.split()
    try:
        options = dict(w.split("=") for w in words if "=" in w)
        words = [w for w in words if "=" not in w]
        cell, sizes = words[0], [int(w) for w in words[1:7]]
        dropout = float(options.pop("dropout", 0))
        problem = Problem(cell, *sizes, *words[7:8], dropout=dropout)
        if cell not in GATES or len(sizes) < 4 or min(sizes) < 1 or len(words) > 8 or options:
            raise ValueError
        if problem.D not in (1, 2) or problem.dtype not in BYTES:
            raise ValueError
        if not 0 <= dropout < 1:
            raise ValueError
        if problem.dtype == "int8" and (dropout or cell in LAYER_CELLS):
            raise ValueError
    except (ValueError, IndexError, TypeError):
        raise ValueError(
            f"not a problem: {line!r}; expected 'cell T B I H [L] [D] [dtype] [dropout=RATE]' with "
            f"cell one of {', '.join([*CELLS, *LAYER_CELLS, MODEL])}, dtype one of {', '.join(BYTES)} and 0 <= RATE < 1; int8 "
            f"has only {', '.join([*CELLS, MODEL])} and no RATE"
        ) from None
    return problem


def expand(line):
    """The lines of a line with choices: "lstm {1,3} 8 64 64" is two lines."""
    parts = [part.split(",") for part in re.split(r"[{}]", line)]
    parts[::2] = [[",".join(part)] for part in parts[::2]]
    return ["".join(words) for words in itertools.product(*parts)]


def read(name):
    """The problems of a file of shapes, of such a file in benchmarks/shapes, or of a line."""
    path = pathlib.Path(name)
    if not path.exists():
        path = SHAPES / f"{name}.txt"
    lines = [name] if " " in str(name) and not path.exists() else path.read_text().splitlines()
    lines = [line.split("#")[0].strip() for line in lines]
    return [parse(one) for line in lines if line for one in expand(line)]


def make_data(problem, seed=0):
    """Makes input, output gradient and weights, the same for every library.

    Returns:
        x [T, B, I], dy [T, B, D*S] and weights: for each layer and direction (w_ih [G*H, in],
        w_hh [G*H, S], b_ih [G*H], b_hh [G*H]) with PyTorch's gate orders (LSTM i, f, g, o; GRU
        r, z, n), all float32.
    """
    rng = np.random.default_rng(seed)
    p = problem

    def normal(*shape, scale=1.0):
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    weights = []
    for layer in range(p.L):
        size = p.I if layer == 0 else p.D * p.S
        gate_units = GATES[p.cell] * p.H
        for _ in range(p.D):
            scale = p.H**-0.5 / 2
            weights.append(
                (
                    normal(gate_units, size, scale=scale),
                    normal(gate_units, p.S, scale=scale),
                    normal(gate_units, scale=scale),
                    normal(gate_units, scale=scale),
                )
            )
    return normal(p.T, p.B, p.I), normal(p.T, p.B, p.D * p.S), weights
