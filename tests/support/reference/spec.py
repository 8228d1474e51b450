"""The facts of each cell, for the tests, and the sizes that follow from one CudnnRNN configuration."""

import dataclasses
from typing import NamedTuple


class Cell(NamedTuple):
    """The facts of an rnn_mode. tests/ops/test_cell_facts.py compares the ops with them."""

    gates: int  # G
    order: tuple[int, ...]  # where the steps of cells.py have the gates of the weights
    bias_rows: int = 1  # of LayerRNN
    has_c: bool = False
    activation: bool = True  # the attribute says it; otherwise the name
    recurrent_activation: bool = True  # gates with this function
    zoneout: bool = False
    # In how many percent of the random cases of LayerRNN the cell stands for each of these cells
    # (tests/robustness/problem). Cells of CudnnRNNV3 are drawn first.
    drawn_for: tuple[str, ...] = ()
    percent: int = 0


# In the order of RnnMode.
CELLS = {
    "rnn_relu": Cell(1, (0,), activation=False, recurrent_activation=False),
    "rnn_tanh": Cell(1, (0,), activation=False, recurrent_activation=False),
    "lstm": Cell(4, (0, 1, 2, 3), has_c=True, zoneout=True),
    "gru": Cell(3, (1, 0, 2), bias_rows=2, zoneout=True),
    "gru_reset_before": Cell(3, (1, 0, 2), drawn_for=("gru",), percent=50),
    "rnn": Cell(
        1, (0,), recurrent_activation=False, drawn_for=("rnn_tanh", "rnn_relu"), percent=40
    ),
}
GATES = {mode: cell.gates for mode, cell in CELLS.items()}


@dataclasses.dataclass(frozen=True)
class RnnSpec:
    """One configuration; letters as in the op documentation (L, H, I, P, D, G)."""

    rnn_mode: str = "lstm"
    layers: int = 1
    units: int = 4
    input_size: int = 3
    direction: str = "unidirectional"
    input_mode: str = "linear_input"
    num_proj: int = 0

    @property
    def directions(self):
        return 2 if self.direction == "bidirectional" else 1

    @property
    def gates(self):
        return GATES[self.rnn_mode]

    @property
    def is_lstm(self):
        return self.rnn_mode == "lstm"

    @property
    def has_projection(self):
        return 0 < self.num_proj < self.units

    @property
    def output_units(self):
        """Width of h for one direction: P with a projection, otherwise H."""
        return self.num_proj if self.has_projection else self.units

    @property
    def output_size(self):
        return self.directions * self.output_units

    @property
    def skips_input(self):
        """Whether layer 0 adds its input to every gate instead of multiplying it by weights."""
        if self.input_mode == "auto_select":
            return self.input_size == self.units
        return self.input_mode == "skip_input"

    @property
    def state_rows(self):
        return self.layers * self.directions

    def layer_input(self, layer):
        return self.input_size if layer == 0 else self.output_size

    def has_input_weights(self, layer):
        return layer > 0 or not self.skips_input

    def attrs(self):
        """The attributes that every CudnnRNN op takes."""
        return {
            "rnn_mode": self.rnn_mode,
            "input_mode": self.input_mode,
            "direction": self.direction,
            "num_proj": self.num_proj,
        }
