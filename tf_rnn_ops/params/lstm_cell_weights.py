"""Conversion of weights from tf.compat.v1.nn.rnn_cell.LSTMCell to ProjectedLSTM."""

import numpy as np
from numpy.typing import ArrayLike

from tf_rnn_ops.params.gates import order


def from_lstm_cell(
    kernel: ArrayLike,
    bias: ArrayLike,
    *,
    projection: ArrayLike | None = None,
    w_i_diag: ArrayLike | None = None,
    w_f_diag: ArrayLike | None = None,
    w_o_diag: ArrayLike | None = None,
    forget_bias: float = 1.0,
) -> list[np.ndarray]:
    """Converts the weights of TensorFlow 1's LSTMCell.

    Args:
        kernel: [I + S, 4*H], with the gates i, c, f, o.
        bias: [4*H].
        projection: The variable projection/kernel, [H, S]; None without num_proj.
        w_i_diag: Peephole of the input gate, [H]. Give all three peepholes or none.
        w_f_diag: Peephole of the forget gate, [H].
        w_o_diag: Peephole of the output gate, [H].
        forget_bias: The argument of the cell, which adds it to the forget gate at every step.

    Returns:
        The list for set_weights of a tf_rnn_ops.keras.ProjectedLSTM: kernel, recurrent_kernel and bias,
        then projection and peepholes if they are given.

    Raises:
        ValueError: A shape is not as above, or one peephole is given without the others.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops.params import from_lstm_cell
        >>> [w.shape for w in from_lstm_cell(np.ones((3 + 2, 4 * 2)), np.ones(4 * 2))]
        [(3, 8), (2, 8), (8,)]
    """
    kernel, bias = np.asarray(kernel), np.asarray(bias)
    if kernel.ndim != 2 or kernel.shape[1] % 4:
        raise ValueError(f"kernel must be [I + S, 4*H], but its shape is {kernel.shape}.")
    columns, units = kernel.shape[1], kernel.shape[1] // 4
    if bias.shape != (columns,):
        raise ValueError(f"bias must be [{columns}], but its shape is {bias.shape}.")
    hidden, extra = units, []
    if projection is not None:
        projection = np.asarray(projection)
        if projection.ndim != 2 or projection.shape[0] != units:
            raise ValueError(
                f"projection must be [{units}, P], but its shape is {projection.shape}."
            )
        hidden, extra = projection.shape[1], [projection]
    diagonals = {"w_i_diag": w_i_diag, "w_f_diag": w_f_diag, "w_o_diag": w_o_diag}
    if any(w is not None for w in diagonals.values()):
        arrays = {name: np.asarray(w) for name, w in diagonals.items()}
        for name, array in arrays.items():
            if array.shape != (units,):
                raise ValueError(f"{name} must be [{units}] like the others, but it is {array}.")
        extra.append(np.stack(list(arrays.values())))
    inputs = kernel.shape[0] - hidden
    if inputs < 1:
        raise ValueError(
            f"kernel must have rows for the input and for h [{hidden}], but it has "
            f"{kernel.shape[0]} rows."
        )
    bias = _in_our_order(bias)
    if bias.dtype.kind in "biu":  # forget_bias need not be an integer
        bias = bias.astype(float)
    bias[units : 2 * units] += forget_bias
    kernel = _in_our_order(kernel)
    return [kernel[:inputs], kernel[inputs:], bias, *extra]


def _in_our_order(weights: np.ndarray) -> np.ndarray:
    """The weights with the gates in Keras's order."""
    gates = np.split(weights, 4, axis=-1)
    return np.concatenate([gates[k] for k in order("tensorflow_1", "keras", 4)], axis=-1)
