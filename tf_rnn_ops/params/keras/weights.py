"""Weights of Keras's LSTM, GRU and SimpleRNN layers."""

from typing import Any, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tf_rnn_ops.params.cells import (
    Cell,
    Converted,
    add_exactly,
    as_array,
    check_shape,
    converted,
    mode_of,
    to_cells,
)
from tf_rnn_ops.params.gates import reorder
from tf_rnn_ops.params.keras import objects
from tf_rnn_ops.params.keras.arrays import cells_of, layers_of
from tf_rnn_ops.params.layout import Layout


def from_keras(source: Any, rnn_mode: str | None = None) -> Converted:
    """Makes the buffer of CudnnRNNV3 from a stack of Keras layers, or from their weights.

    The bias of an LSTM or SimpleRNN becomes the input bias; the recurrent bias is 0. Only a GRU with
    reset_after=True has the formula of the op. Activations must be Keras's defaults, or relu for a
    SimpleRNN with rnn_mode='rnn_relu'.

    Args:
        source: Layers or weights. Layers: an LSTM, GRU, SimpleRNN, or a Bidirectional layer around one
            (with merge_mode='concat'), of Keras 2 or 3 or of tf_rnn_ops.keras; a sequential model with only
            dropout between its recurrent layers; a list of layers; or a layer such as
            tf_rnn_ops.keras.CudnnLSTM. For a functional model give the list of its recurrent layers, of which
            each reads the output of the previous layer: the caller passes states and masks. A subclass is accepted if
            it does not override `call`. Weights: a list with the result of get_weights() for each layer: [kernel,
            recurrent_kernel, bias], without the bias if use_bias=False. A Bidirectional layer has the
            weights of the forward layer and then of the backward layer. A single result of get_weights()
            is one layer.
        rnn_mode: 'rnn_tanh' or 'rnn_relu', needed for the weights of a SimpleRNN. Otherwise None: the mode
            follows from `source`.

    Returns:
        A Converted: the layout and the buffer.

    Raises:
        TypeError: `source` has another type.
        ValueError: An array has the wrong shape or type, the number of arrays is wrong, a layer does not
            compute the function of the op, or other layers are between the recurrent layers.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops import params
        >>> kernel, recurrent, bias = np.ones([2, 12]), np.ones([3, 12]), np.zeros(12)
        >>> converted = params.from_keras([kernel, recurrent, bias])
        >>> converted.layout.rnn_mode, converted.params.shape
        ('lstm', (84,))
    """
    if hasattr(type(source), "from_converted"):  # a stack of tf_rnn_ops.keras
        return _of_stack(source)
    wanted = "Keras layers, a sequential model or a list of weights"
    layers, mode_of_layers = layers_of(source, objects.keras_stack, wanted, per_cell=(2, 3))
    cells, num_dirs = cells_of(layers, (2, 3), _cell)
    mode = mode_of(len(cells[0].w), mode_of_layers or rnn_mode, "these Keras layers")
    return converted(mode, cells, num_dirs)


def to_keras(layout: Layout, params: ArrayLike, use_bias: bool = True) -> list[list[np.ndarray]]:
    """Makes the weights of a stack of Keras layers; the inverse of from_keras.

    An LSTM or SimpleRNN of Keras has one bias, the sum of the two biases in the buffer. from_keras makes
    it the input bias. A GRU (reset_after=True) keeps both biases. If the op skips the input weights, the
    kernel is the identity for every gate.

    Args:
        layout: A Layout without projection.
        params: The buffer.
        use_bias: Whether the layers have a bias. If not, all biases must be 0.

    Returns:
        For each layer a list for set_weights(): [kernel, recurrent_kernel, bias], without the bias if
        use_bias is False. A bidirectional layer has the weights of the forward layer and then of the
        backward layer.

    Raises:
        ValueError: The buffer does not fit the layout, or Keras has no such layer.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops import params
        >>> layout = params.Layout("gru", num_layers=1, num_units=3, input_size=2)
        >>> [weight.shape for weight in params.to_keras(layout, np.zeros(layout.size))[0]]
        [(2, 9), (3, 9), (2, 9)]
    """
    if layout.num_proj:
        raise ValueError(f"Keras has no LSTM with a projection, but num_proj is {layout.num_proj}.")
    per_cell = []
    for k, cell in enumerate(to_cells(layout, params)):
        arrays = [_columns(reorder(matrix, "buffer", "keras")) for matrix in (cell.w, cell.r)]
        biases = [reorder(bias, "buffer", "keras").ravel() for bias in (cell.bw, cell.br)]
        if use_bias:
            arrays.append(np.stack(biases) if layout.rnn_mode == "gru" else add_exactly(*biases))
        elif np.any(biases[0]) or np.any(biases[1]):
            raise ValueError(
                f"use_bias=False needs biases of 0, but layer {k // layout.num_directions} has nonzero biases."
            )
        per_cell.append(arrays)
    num_dirs = layout.num_directions
    return [sum(per_cell[k : k + num_dirs], []) for k in range(0, len(per_cell), num_dirs)]


def _of_stack(stack: Any) -> Converted:
    """The Converted of a CudnnLSTM, CudnnGRU, CudnnRNNTanh or CudnnRNNRelu of tf_rnn_ops.keras."""
    objects.check_not_overridden(stack, type(stack).__name__, ("__call__", "call"))
    if not stack.built:
        raise ValueError(f"The stack {stack.name!r} has no weights yet: build it, or call it once.")
    if stack.go_backwards:
        raise ValueError(
            f"go_backwards of the stack {stack.name!r} must be False for the op, but it is True."
        )
    return Converted(stack.layout, np.asarray(stack.params))


def _cell(where: str, arrays: Sequence, width: int, units: int, gates: int) -> Cell:
    kernel, recurrent, *rest = arrays
    kernel = as_array(f"kernel of {where}", kernel, rank=2)
    check_shape(f"kernel of {where}", kernel, (width, gates * units))
    recurrent = as_array(f"recurrent_kernel of {where}", recurrent, rank=2)
    check_shape(f"recurrent_kernel of {where}", recurrent, (units, gates * units))
    zeros = np.zeros((gates, units), kernel.dtype)
    if not rest:
        bw, br = zeros, zeros
    elif gates == 3:
        if np.ndim(rest[0]) == 1:
            raise ValueError(
                f"bias of {where} must have shape {(2, 3 * units)}, but its shape is "
                f"{np.shape(rest[0])}: this is a GRU with reset_after=False, whose formula CudnnRNNV3 "
                "does not have. Use tf_rnn_ops.keras.GRU(reset_after=False), which accepts these weights."
            )
        bias = as_array(f"bias of {where}", rest[0], rank=2)
        check_shape(f"bias of {where}", bias, (2, 3 * units))
        bw, br = (reorder(half.reshape(3, units), "keras", "buffer") for half in bias)
    else:
        bias = as_array(f"bias of {where}", rest[0], rank=1)
        check_shape(f"bias of {where}", bias, (gates * units,))
        bw, br = bias.reshape(gates, units), zeros
    return Cell(_gates(kernel, gates), _gates(recurrent, gates), bw, br)


def _gates(kernel: np.ndarray, gates: int) -> np.ndarray:
    """Converts [in, G*H] to [G, H, in] in the order of the buffer."""
    return reorder(kernel.T.reshape(gates, -1, kernel.shape[0]), "keras", "buffer")


def _columns(stacked: np.ndarray) -> np.ndarray:
    """Converts [G, H, in] to [in, G*H]."""
    return np.ascontiguousarray(stacked.reshape(-1, stacked.shape[2]).T)
