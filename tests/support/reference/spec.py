"""The sizes that follow from one CudnnRNN configuration."""

import dataclasses

GATES = {"lstm": 4, "gru": 3, "gru_reset_before": 3, "rnn": 1, "rnn_tanh": 1, "rnn_relu": 1}


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
