"""Weights of CuDNNLSTM and CuDNNGRU, layers of Keras 2 and tf.compat.v1."""

from typing import Any, Sequence

import numpy as np

from tf_rnn_ops.params.cells import Cell, Converted, as_array, check_shape, converted
from tf_rnn_ops.params.gates import reorder
from tf_rnn_ops.params.keras import objects
from tf_rnn_ops.params.keras.arrays import cells_of, layers_of


def from_cudnn_layer(source: Any) -> Converted:
    """Makes the buffer of CudnnRNNV3 from CuDNNLSTM or CuDNNGRU layers.

    The conversion is exact to the bit. These layers pass the memory of a gate's [I, H] to cuDNN, which
    reads it as [H, I]. So their matrices are not the matrices of a Keras LSTM or GRU.

    Args:
        source: A layer, a sequential model, a list of layers, or the weights
            that get_weights() returns. The weights of one layer are [kernel, recurrent_kernel, bias]. A
            Bidirectional layer has the weights of the forward layer and then of the backward layer. A
            stack is a list of such lists.

    Returns:
        A Converted: the layout and the buffer.

    Raises:
        TypeError: `source` has another type.
        ValueError: An array has the wrong shape or type, or the layers are not a stack.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops import params
        >>> converted = params.from_cudnn_layer([np.ones([2, 12]), np.ones([3, 12]), np.zeros(24)])
        >>> converted.layout.rnn_mode, converted.params.shape
        ('lstm', (84,))
    """
    wanted = "CuDNNLSTM or CuDNNGRU layers, a sequential model or a list of weights"
    layers, _ = layers_of(source, objects.cudnn_stack, wanted, per_cell=(3,))
    cells, num_dirs = cells_of(layers, (3,), _cell)
    return converted({4: "lstm", 3: "gru"}[len(cells[0].w)], cells, num_dirs)


def _cell(where: str, arrays: Sequence, width: int, units: int, gates: int) -> Cell:
    if gates == 1:
        raise ValueError(
            f"recurrent_kernel of {where} must have 3 or 4 gates, of a CuDNNGRU or a CuDNNLSTM, but "
            f"it has {gates}."
        )
    kernel, recurrent = (
        as_array(f"{name} of {where}", array, rank=2)
        for name, array in zip(("kernel", "recurrent_kernel"), arrays)
    )
    bias = as_array(f"bias of {where}", arrays[2], rank=1)
    check_shape(f"kernel of {where}", kernel, (width, gates * units))
    check_shape(f"recurrent_kernel of {where}", recurrent, (units, gates * units))
    check_shape(f"bias of {where}", bias, (2 * gates * units,))
    matrices = (_reinterpreted(matrix, gates, units) for matrix in (kernel, recurrent))
    stacked = (*matrices, *bias.reshape(2, gates, units))
    return Cell(*(reorder(array, "keras", "buffer") for array in stacked))


def _reinterpreted(matrix: np.ndarray, gates: int, units: int) -> np.ndarray:
    """The memory of each gate's [in, H] as [H, in]."""
    return np.stack([gate.reshape(units, -1) for gate in np.split(matrix, gates, axis=1)])
