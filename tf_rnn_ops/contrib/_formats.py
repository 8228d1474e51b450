"""The weights of one pseudo-layer (a layer and direction) in the formats of TensorFlow 1's cells.

A cell of TensorFlow 1 multiplies the concatenation of input and hidden state by one kernel
[in + H, G*H], the transpose of the canonical matrices side by side, and has one bias. Its LSTM has
the gates in the order i, c, f, o; the op has i, f, c, o. The candidate of the GRU has two matrices and two
biases, because the reset gate is applied between the two products.

The checkpoint has the sum of two biases. Reading gives each bias half of the sum, which is exact.
"""

import dataclasses

import tensorflow as tf

from tf_rnn_ops.params.gates import order


def cell_prefix(layer, cell_name, direction, backward):
    """The scope of a cell's variables in the graph of a stack built from cells.

    Args:
        layer: Number of the layer, from 0.
        cell_name: Such as 'cudnn_compatible_lstm_cell'.
        direction: 'unidirectional' or 'bidirectional'.
        backward: Whether it is the cell of the backward direction.

    Returns:
        A string.
    """
    if direction == "unidirectional":
        return f"rnn/multi_rnn_cell/cell_{layer}/{cell_name}"
    way = "bw" if backward else "fw"
    return f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn/{way}/{cell_name}"


@dataclasses.dataclass(frozen=True)
class _OneKernelFormat:
    """Cells with one kernel and one bias.

    Attributes:
        gates: G.
        cell_name: Scope of the cell.
        order: For each gate of the cell the number of the gate in the op. The permutation is its own
            inverse.
    """

    gates: int
    cell_name: str
    order: tuple

    weight_names = ("kernel",)
    bias_names = ("bias",)

    def weight_shapes(self, width, num_units):
        """Shapes of the tensors of weight_names."""
        return [[width + num_units, self.gates * num_units]]

    def bias_shapes(self, num_units):
        """Shapes of the tensors of bias_names."""
        return [[self.gates * num_units]]

    def weights_to_cell(self, weights):
        """Joins canonical weights, G for the input and G recurrent ones."""
        w, r = weights[: self.gates], weights[self.gates :]
        rows = [tf.concat([w[gate], r[gate]], axis=1) for gate in self.order]
        return [tf.transpose(tf.concat(rows, axis=0))]

    def weights_from_cell(self, tensors, width):
        """The inverse of weights_to_cell; `width` is the size of the cell's input."""
        columns = tf.split(tensors[0], self.gates, axis=1)
        columns = [tf.transpose(columns[gate]) for gate in self.order]
        return [c[:, :width] for c in columns] + [c[:, width:] for c in columns]

    def biases_to_cell(self, biases):
        """Adds up canonical biases, G for the input and G recurrent ones."""
        w, r = biases[: self.gates], biases[self.gates :]
        return [tf.concat([w[gate] + r[gate] for gate in self.order], axis=0)]

    def biases_from_cell(self, tensors):
        """Canonical biases whose sums are the biases of the cell."""
        halves = tf.split(tensors[0] * 0.5, self.gates, axis=0)
        return [halves[gate] for gate in self.order] * 2

    def side_biases(self, biases):
        """The biases of one side (input or recurrent) of the merged gates, as one tensor."""
        return tf.concat([biases[gate] for gate in self.order], axis=0)

    def biases_from_sides(self, tensors, sides):
        """Canonical biases from the results of side_biases, without loss."""
        del tensors
        parts = [tf.split(side, self.gates, axis=0) for side in sides]
        return [part[gate] for part in parts for gate in self.order]

    def side_shape(self, num_units):
        """Shape of the result of side_biases."""
        return [self.gates * num_units]


class _GruFormat:
    """Cells with a kernel for the gates r, u and two for the candidate."""

    gates = 3
    cell_name = "cudnn_compatible_gru_cell"
    weight_names = (
        "gates/kernel",
        "candidate/input_projection/kernel",
        "candidate/hidden_projection/kernel",
    )
    bias_names = (
        "gates/bias",
        "candidate/input_projection/bias",
        "candidate/hidden_projection/bias",
    )

    def weight_shapes(self, width, num_units):
        """Shapes of the tensors of weight_names."""
        return [
            [width + num_units, 2 * num_units],
            [width, num_units],
            [num_units, num_units],
        ]

    def bias_shapes(self, num_units):
        """Shapes of the tensors of bias_names."""
        return [[2 * num_units], [num_units], [num_units]]

    def weights_to_cell(self, weights):
        """Joins the canonical weights of r and u."""
        w_r, w_u, w_h, r_r, r_u, r_h = weights
        gates = tf.concat([tf.concat([w_r, r_r], axis=1), tf.concat([w_u, r_u], axis=1)], axis=0)
        return [tf.transpose(gates), tf.transpose(w_h), tf.transpose(r_h)]

    def weights_from_cell(self, tensors, width):
        """The inverse of weights_to_cell; `width` is the size of the cell's input."""
        r, u = (tf.transpose(part) for part in tf.split(tensors[0], 2, axis=1))
        w_h, r_h = (tf.transpose(part) for part in tensors[1:])
        return [r[:, :width], u[:, :width], w_h, r[:, width:], u[:, width:], r_h]

    def biases_to_cell(self, biases):
        """Adds up the canonical biases of r and u."""
        return [self.side_biases(biases[:3]) + self.side_biases(biases[3:]), biases[2], biases[5]]

    def biases_from_cell(self, tensors):
        """Canonical biases whose sums are the biases of the cell."""
        r, u = tf.split(tensors[0] * 0.5, 2, axis=0)
        return [r, u, tensors[1], r, u, tensors[2]]

    def side_biases(self, biases):
        """The biases of one side (input or recurrent) of the merged gates, as one tensor."""
        return tf.concat(biases[:2], axis=0)

    def biases_from_sides(self, tensors, sides):
        """Canonical biases from the results of side_biases, without loss."""
        (w_r, w_u), (r_r, r_u) = (tf.split(side, 2, axis=0) for side in sides)
        return [w_r, w_u, tensors[1], r_r, r_u, tensors[2]]

    def side_shape(self, num_units):
        """Shape of the result of side_biases."""
        return [2 * num_units]


FORMATS: dict[str, _OneKernelFormat | _GruFormat] = {
    "lstm": _OneKernelFormat(4, "cudnn_compatible_lstm_cell", order("buffer", "tensorflow_1", 4)),
    "gru": _GruFormat(),
    "rnn_tanh": _OneKernelFormat(1, "basic_rnn_cell", (0,)),
    "rnn_relu": _OneKernelFormat(1, "basic_rnn_cell", (0,)),
}
