"""The configuration that models, layers, saveables and converters have in common."""

import operator

from tf_rnn_ops.params import Layout
from tf_rnn_ops.params.layout import num_directions


def _shown(name, doc):
    return property(lambda network: network.attributes[name], doc=doc)


class Network:
    """Has the entries of `attributes`, the configuration as arguments of ops, as properties."""

    num_layers = _shown("num_layers", "L.")
    num_units = _shown("num_units", "H.")
    input_size = _shown("input_size", "I.")
    input_mode = _shown("input_mode", "As given.")
    rnn_mode = _shown("rnn_mode", "'lstm', 'gru', 'rnn_tanh' or 'rnn_relu'.")
    direction = _shown("direction", "'unidirectional' or 'bidirectional'.")

    @property
    def num_dirs(self):
        """D: 1 or 2."""
        return num_directions(self.direction)


def described(rnn_mode, num_layers, num_units, input_size, input_mode, direction):
    """A configuration as arguments of ops, and its Layout.

    Raises:
        ValueError: An argument is wrong; the text names it.
    """
    sizes = {"num_layers": num_layers, "num_units": num_units, "input_size": input_size}
    layout = Layout(rnn_mode, **sizes, input_mode=input_mode, direction=direction)
    attributes = {name: operator.index(size) for name, size in sizes.items()}
    attributes |= {"rnn_mode": rnn_mode, "input_mode": input_mode, "direction": direction}
    return attributes, layout


def input_widths(layout):
    """The number of columns of the input matrices of each layer and direction; 0 without input weights."""
    first = layout.weights[0].gate
    return [w.shape[1] for w in layout.weights if (w.source, w.gate) == ("input", first)]


def checked_dropout(dropout):
    """Returns the dropout; ValueError if it is not in [0, 1]."""
    if not 0 <= dropout <= 1:
        raise ValueError(f"dropout must be in [0, 1], but it is {dropout!r}.")
    return dropout
