"""Initializers, regularizers and constraints for the matrices and biases in the buffer of a stack."""

import itertools
import operator
from typing import Any, Callable, Iterable, Iterator, NamedTuple

import tensorflow as tf

from tf_rnn_ops.params.initializers import nth_use
from tf_rnn_ops.params.layout import Block, Layout


class _Piece(NamedTuple):
    """All gates of one source of one layer and direction: a kernel or a bias in Keras.

    Attributes:
        source: 'input', 'recurrent' or 'projection'.
        blocks: The gates' Blocks.
        start: Its first position in the buffer.
        end: The position after its last.
        shape: The shape in the buffer: for a matrix the transpose of Keras's shape, for a bias (G*H,).
    """

    source: str
    blocks: list
    start: int
    end: int
    shape: tuple

    def of(self, buffer: tf.Tensor) -> tf.Tensor:
        """The matrix [in, rows] or the vector."""
        values = tf.reshape(buffer[self.start : self.end], self.shape)
        return tf.transpose(values) if len(self.shape) == 2 else values


def _pieces(blocks: Iterable[Block]) -> Iterator[_Piece]:
    groups = itertools.groupby(blocks, operator.attrgetter("layer", "direction", "source"))
    for (_, _, source), gates in groups:
        group = list(gates)
        rows = sum(block.shape[0] for block in group)
        yield _Piece(source, group, group[0].offset, group[-1].end, (rows, *group[0].shape[1:]))


def _matrices(layout: Layout) -> list[_Piece]:
    """The matrices that exist. With skip_input the first layer has no matrix for its input."""
    return [piece for piece in _pieces(layout.weights) if piece.end > piece.start]


def initial(
    layout: Layout, dtype: Any, kernel: Any, recurrent: Any, bias: Any, unit_forget_bias: bool
) -> tf.Tensor:
    """Makes the initial buffer, with Keras's initialization for each layer and direction.

    WHY tensors, not arrays: Keras may build a layer while it traces a function.

    Args:
        layout: A Layout.
        dtype: The type of the buffer.
        kernel: Initializer of the input matrices and projections.
        recurrent: Initializer of the recurrent matrices.
        bias: Initializer of the input biases; None for 0. The recurrent biases are 0.
        unit_forget_bias: Whether the input bias of an LSTM's forget gate is 1.

    Returns:
        A vector.
    """
    values = []
    for k, piece in enumerate(_pieces(layout.weights)):
        initializer = recurrent if piece.source == "recurrent" else kernel
        if piece.end > piece.start:
            values.append(tf.transpose(_draw(initializer, k, piece.shape[::-1], dtype)))
    for k, piece in enumerate(_pieces(layout.biases)):
        if bias is None or piece.source == "recurrent":
            values.append(tf.zeros(piece.shape, dtype))
            continue
        gates = tf.split(_draw(bias, k, piece.shape, dtype), len(piece.blocks))
        if unit_forget_bias:
            gates = [
                tf.ones_like(gate) if block.gate == "f" else gate
                for gate, block in zip(gates, piece.blocks)
            ]
        values += gates
    return tf.concat([tf.reshape(value, [-1]) for value in values], axis=0)


def _draw(initializer: Any, index: int, shape: tuple[int, ...], dtype: Any) -> tf.Tensor:
    # WHY float32: TensorFlow has no QR decomposition in bfloat16, which 'orthogonal' needs.
    drawn = "float32" if dtype == "bfloat16" else dtype
    return tf.cast(nth_use(initializer, index)(shape, dtype=drawn), dtype)


def regularizer(
    layout: Layout, kernel: Any, recurrent: Any, bias: Any
) -> Callable[[tf.Tensor], tf.Tensor] | None:
    """The sum of the regularizers of a stack of Keras layers; None without regularizers.

    Args:
        layout: A Layout.
        kernel: Regularizer of the input matrices and projections. All three regularizers may be None.
        recurrent: Regularizer of the recurrent matrices.
        bias: Regularizer of the biases: of both biases for a GRU, otherwise of their sum, which is Keras's
            bias.

    Returns:
        A function of the buffer, or None.
    """
    if kernel is None and recurrent is None and bias is None:
        return None

    def loss(buffer: tf.Tensor) -> tf.Tensor:
        buffer = tf.convert_to_tensor(buffer)
        terms = []
        for piece in _matrices(layout):
            function = recurrent if piece.source == "recurrent" else kernel
            if function is not None:
                terms.append(function(piece.of(buffer)))
        pieces = list(_pieces(layout.biases)) if bias is not None else []
        for inputs, states in zip(pieces[::2], pieces[1::2]):
            pair = [inputs.of(buffer), states.of(buffer)]
            terms.append(bias(tf.stack(pair) if layout.rnn_mode == "gru" else sum(pair)))
        return tf.add_n(terms) if terms else tf.zeros([], buffer.dtype)

    return loss


def constraint(
    layout: Layout, kernel: Any, recurrent: Any, bias: Any
) -> Callable[[tf.Tensor], tf.Tensor] | None:
    """Makes a function that applies constraints to each matrix and each bias; None without constraints.

    Args:
        layout: A Layout.
        kernel: Constraint of the input matrices and projections. All three constraints may be None.
        recurrent: Constraint of the recurrent matrices.
        bias: Constraint of each bias vector. There are two for each layer and direction.

    Returns:
        A function that maps a buffer to a buffer, or None.
    """
    if kernel is None and recurrent is None and bias is None:
        return None

    def constrained(buffer: tf.Tensor) -> tf.Tensor:
        buffer = tf.convert_to_tensor(buffer)
        values = []
        for piece in [*_matrices(layout), *_pieces(layout.biases)]:
            value = piece.of(buffer)
            function = {"recurrent": recurrent}.get(piece.source, kernel)
            function = bias if len(piece.shape) == 1 else function
            if function is not None:
                value = tf.convert_to_tensor(function(value))
            values.append(tf.reshape(tf.transpose(value), [-1]))
        return tf.concat(values, axis=0)

    return constrained


def without_bias_gradient(layout: Layout, buffer: tf.Tensor) -> tf.Tensor:
    """The buffer, through which no gradient reaches the biases."""
    first = layout.biases[0].offset
    weights, biases = tf.split(buffer, [first, layout.size - first])
    return tf.concat([weights, tf.stop_gradient(biases)], axis=0)
