"""Weights of CuDNNLSTM and CuDNNGRU, layers of Keras 2 and tf.compat.v1."""

from typing import Any

import numpy as np

from tf_rnn_ops.params import _keras_objects
from tf_rnn_ops.params.cells import (
    Cell,
    Converted,
    as_array,
    as_list,
    check_shape,
    from_cells,
    gate_count,
    reorder,
)
from tf_rnn_ops.params.layout import Layout

# Which gate of the buffer each gate of the layer is: i, f, c, o for an LSTM, z, r, h for a GRU.
_ORDER = {3: (1, 0, 2), 4: (0, 1, 2, 3)}


def from_cudnn_layer(source: Any) -> Converted:
    """Makes the buffer of CudnnRNNV3 from CuDNNLSTM or CuDNNGRU layers, to the bit.

    These layers handed the memory of a gate's [I, H] to cuDNN, which takes it for [H, I]: their
    matrices are not those of an LSTM or GRU.

    Args:
        source: A layer, or a model whose recurrent layers are one stack; a list of layers; or their
            weights as get_weights() returns them: for one layer [kernel, recurrent_kernel, bias],
            for a Bidirectional one these of the forward and then of the backward layer, for a stack
            a list of such lists.

    Returns:
        A Converted: the layout and the buffer.

    Raises:
        TypeError: `source` is none of these.
        ValueError: An array has the wrong shape or type, or the layers are no stack.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops import params
        >>> converted = params.from_cudnn_layer([np.ones([2, 12]), np.ones([3, 12]), np.zeros(24)])
        >>> converted.layout.rnn_mode, converted.params.shape
        ('lstm', (84,))
    """
    layers = _weights(source)
    num_dirs = len(layers[0]) // 3
    cells: list[Cell] = []
    first = as_array("recurrent_kernel of layer 0", layers[0][1], rank=2)
    units = first.shape[0]
    gates = gate_count("recurrent_kernel of layer 0", first.shape[1], units)
    if gates not in _ORDER:
        raise ValueError(
            "recurrent_kernel of layer 0 must have 3 or 4 gates, of a CuDNNGRU or a CuDNNLSTM, but "
            f"it has {gates}."
        )
    input_size = as_array("kernel of layer 0", layers[0][0], rank=2).shape[0]
    for k, layer in enumerate(layers):
        if len(layer) != 3 * num_dirs:
            raise ValueError(
                f"Layer {k} must have {3 * num_dirs} arrays as layer 0, but it has {len(layer)}."
            )
        width = input_size if k == 0 else num_dirs * units
        for d in range(num_dirs):
            cells.append(_cell(f"layer {k}", layer[3 * d : 3 * d + 3], width, units, gates))
    layout = Layout(
        {4: "lstm", 3: "gru"}[gates],
        len(layers),
        units,
        input_size,
        direction="bidirectional" if num_dirs == 2 else "unidirectional",
    )
    return Converted(layout, from_cells(layout, cells))


def _weights(source):
    """A list of three or six arrays for each layer."""
    if _keras_objects.is_layer(source):
        return _keras_objects.cudnn_stack(source)
    source = as_list(source, "CuDNNLSTM or CuDNNGRU layers, a model or a list of weights")
    if source and _keras_objects.is_layer(source[0]):
        return _keras_objects.cudnn_stack(source)
    if source and not isinstance(source[0], (list, tuple)):
        source = [source]
    if not source or len(source[0]) not in (3, 6):
        found = f"layer 0 has {len(source[0])}" if source else "there is no layer"
        raise ValueError(
            f"There must be 3 arrays for each layer, or 6 for a Bidirectional one, but {found}."
        )
    _keras_objects.check_lists(source)
    return source


def _cell(where, arrays, width, units, gates):
    kernel, recurrent = (
        as_array(f"{name} of {where}", array, rank=2)
        for name, array in zip(("kernel", "recurrent_kernel"), arrays)
    )
    bias = as_array(f"bias of {where}", arrays[2], rank=1)
    check_shape(f"kernel of {where}", kernel, (width, gates * units))
    check_shape(f"recurrent_kernel of {where}", recurrent, (units, gates * units))
    check_shape(f"bias of {where}", bias, (2 * gates * units,))
    order = _ORDER[gates]
    return Cell(
        *(reorder(_reinterpreted(matrix, gates, units), order) for matrix in (kernel, recurrent)),
        *(reorder(half, order) for half in bias.reshape(2, gates, units)),
    )


def _reinterpreted(matrix, gates, units):
    """The memory of each gate's [in, H] as [H, in]."""
    return np.stack([gate.reshape(units, -1) for gate in np.split(matrix, gates, axis=1)])
