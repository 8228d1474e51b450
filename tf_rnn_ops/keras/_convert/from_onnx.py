"""Makes Keras layers of the LSTM, GRU and RNN nodes of ONNX, also of nodes that CudnnRNNV3 cannot compute."""

from typing import Any, Sequence

import keras
import numpy as np

from tf_rnn_ops.keras.dispatch.activations import hard_sigmoid_keras2
from tf_rnn_ops.keras.layers import GRU, LSTM, ProjectedLSTM, SimpleRNN
from tf_rnn_ops.keras.layers.reversed import Reversed
from tf_rnn_ops.params.cells import Cell, add_exactly, as_array, check_shape
from tf_rnn_ops.params.gates import reorder
from tf_rnn_ops.params.onnx import nodes as onnx_nodes

# {function with parameters: (default of alpha, default of beta)}, with None if ONNX has no default.
_PARAMETERS = {"hardsigmoid": (0.2, 0.5), "affine": (None, 0.0)}
_PLAIN = ("tanh", "sigmoid", "relu")
_KINDS = {"LSTM": LSTM, "GRU": GRU, "RNN": SimpleRNN}


def from_onnx(
    source: Any, node: str | Sequence[str] | None = None, *,
    return_sequences: bool = True, return_state: bool = False, zero_output_for_mask: bool = True,
    unroll: bool = False, dropout: float = 0.0, recurrent_dropout: float = 0.0,
    seed: int | None = None, kernel_regularizer: Any = None, recurrent_regularizer: Any = None,
    bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
    recurrent_constraint: Any = None, bias_constraint: Any = None, name: str | None = None,
    dtype: Any = None, trainable: bool = True,
) -> list[keras.layers.Layer]:  # fmt: skip
    """Makes Keras layers of the LSTM, GRU and RNN nodes of an ONNX model.

    The layers run on the ops of this package and compute the outputs of the nodes, with the batch first:
    [B, T, I] to [B, T, D*H], with zeros in masked steps. The nodes may be of different kinds. This
    function converts all nodes that params.from_onnx converts, and more: a GRU may have
    linear_before_reset=0, an LSTM may have peepholes, and the activations may be Tanh, Sigmoid, Relu,
    Affine with alpha=1 and beta=0, and HardSigmoid with beta=0.5 and alpha=0.2 (as in Keras 1 and 2) or
    1/6 (as in Keras 3).

    Args:
        source: A model that onnx.load returned, a list of params.OnnxNode, or a single params.OnnxNode. A model
            needs the package onnxscript, which computes its constants.
        node: Name of the node of the model, or a list of names. None for all recurrent nodes in the order
            of the graph. Initial states must be absent, 0, or inputs of the graph. Lengths must be absent,
            T, or inputs of the graph. Inputs of the graph are then arguments of each call.
        return_sequences: Whether a layer returns the outputs of all steps, or only of the last one.
        zero_output_for_mask: Whether the output is 0 in masked steps, as in ONNX, instead of the previous
            output. Layers without return_sequences ignore it.
        dtype: The type or policy of every layer. None for the type of the weights of its node.
        return_state, unroll, dropout, recurrent_dropout, seed, name, trainable: Arguments of every
            layer, as in keras.layers.LSTM.
        kernel_regularizer, recurrent_regularizer, bias_regularizer, activity_regularizer: The same.
        kernel_constraint, recurrent_constraint, bias_constraint: The same. The nodes determine all other
            arguments.

    Returns:
        A list of layers, one for each node: LSTM, ProjectedLSTM (with peepholes), GRU or SimpleRNN. A node
        of both directions becomes a keras.layers.Bidirectional. A node with direction 'reverse' becomes a
        layer with go_backwards=True, in a layer that reverses its output. The layers have the weights of the
        nodes.

    Raises:
        ImportError: `source` is a model, and onnxscript is missing.
        ValueError: A tensor has the wrong shape. A node has other activations, clip or input_forget,
            which no layer of this package has. A weight is not constant. Initial states or lengths
            are computed, or are the output of another node.

    Example:
        >>> import numpy as np
        >>> import tf_rnn_ops.keras
        >>> from tf_rnn_ops import params
        >>> node = params.OnnxNode("GRU", W=np.ones([1, 9, 2]), R=np.ones([1, 9, 3]))
        >>> (layer,) = tf_rnn_ops.keras.from_onnx(node)
        >>> type(layer).__name__, layer.reset_after, layer.count_params()
        ('GRU', False, 54)
    """
    options = {
        "return_sequences": return_sequences,
        "return_state": return_state,
        # In ONNX the outputs beyond the length of a sequence are 0.
        "zero_output_for_mask": zero_output_for_mask and return_sequences,
        "unroll": unroll,
        "dropout": dropout,
        "recurrent_dropout": recurrent_dropout,
        "seed": seed,
        "kernel_regularizer": kernel_regularizer,
        "recurrent_regularizer": recurrent_regularizer,
        "bias_regularizer": bias_regularizer,
        "activity_regularizer": activity_regularizer,
        "kernel_constraint": kernel_constraint,
        "recurrent_constraint": recurrent_constraint,
        "bias_constraint": bias_constraint,
        "name": name,
        "dtype": dtype,
        "trainable": trainable,
    }
    nodes = onnx_nodes.nodes_of(source, node, stack=False)
    return [_layer(f"node {k}", onnx_node, options) for k, onnx_node in enumerate(nodes)]


def _layer(where: str, node: onnx_nodes.OnnxNode, options: dict[str, Any]) -> keras.layers.Layer:
    onnx_nodes.check_function(where, node)
    num_dirs = onnx_nodes.directions_of(where, node)
    reverse = onnx_nodes.attribute(node, "direction", "forward") == "reverse"
    units = as_array(f"R of {where}", node.R, rank=3).shape[2]
    width = as_array(f"W of {where}", node.W, rank=3).shape[2]
    cells = onnx_nodes.cells_of(where, node, num_dirs, width, units)
    arguments = {**options, "dtype": options["dtype"] or cells[0].w.dtype.name}
    reset_after = bool(onnx_nodes.attribute(node, "linear_before_reset", 0))
    if node.op_type == "GRU":
        arguments["reset_after"] = reset_after
    peepholes = _peepholes(where, node, num_dirs, units)
    if peepholes is not None:
        arguments["use_peepholes"] = True
    kind = ProjectedLSTM if peepholes is not None else _KINDS[node.op_type]
    layers: list[Any] = []
    weights: list[np.ndarray] = []
    for d, functions in enumerate(_functions(where, node, num_dirs)):
        backwards = reverse or d == 1
        layers.append(kind(units, **arguments, **functions, go_backwards=backwards))
        weights += _weights(node.op_type, cells[d], reset_after)
        if peepholes is not None:
            weights.append(peepholes[d])
    layer = layers[0]
    if num_dirs == 2:
        layer = keras.layers.Bidirectional(
            layer, backward_layer=layers[1], dtype=layer.dtype_policy
        )
    elif reverse:
        layer = Reversed(layer, dtype=layer.dtype_policy)
    layer.build((None, None, width))
    layer.set_weights(weights)
    return layer


def _weights(op_type: str, cell: Cell, reset_after: bool) -> list[np.ndarray]:
    """kernel, recurrent_kernel and bias in Keras's format."""
    w, r, *biases = (reorder(array, "buffer", "keras") for array in cell[:4])
    matrices = [np.ascontiguousarray(array.reshape(-1, array.shape[2]).T) for array in (w, r)]
    biases = [bias.ravel() for bias in biases]
    both = op_type == "GRU" and reset_after
    return [*matrices, np.stack(biases) if both else add_exactly(*biases)]


def _peepholes(
    where: str, node: onnx_nodes.OnnxNode, num_dirs: int, units: int
) -> np.ndarray | None:
    """The peepholes of i, f and o, [D, 3, H], or None."""
    if node.op_type != "LSTM" or node.P is None or not np.any(node.P):
        return None
    weights = as_array(f"P of {where}", node.P, rank=2)
    check_shape(f"P of {where}", weights, (num_dirs, 3 * units))
    i, o, f = np.moveaxis(weights.reshape(num_dirs, 3, units), 1, 0)
    return np.stack([i, f, o], axis=1)


def _functions(where: str, node: onnx_nodes.OnnxNode, num_dirs: int) -> list[dict[str, Any]]:
    """The activations of each direction, as arguments of a layer."""
    names = onnx_nodes.activations(where, node)
    count = len(onnx_nodes.USUAL_ACTIVATIONS[node.op_type])
    if len(names) != count * num_dirs:
        raise ValueError(
            f"activations of {where} must be {count} for each of {num_dirs} directions, but they are "
            f"{list(names)}."
        )
    # Each list has values only for functions with that parameter.
    alphas, betas = (
        _numbers(where, node, f"activation_{parameter}") for parameter in ("alpha", "beta")
    )
    functions = [_function(where, name, alphas, betas) for name in names]
    arguments: list[dict[str, Any]] = []
    for d in range(num_dirs):
        of_direction = functions[count * d : count * (d + 1)]
        if node.op_type == "LSTM" and of_direction[1] != of_direction[2]:
            raise ValueError(
                f"activations of {where} must be the same for the candidate and for the cell state, "
                f"but they are {list(names)}."
            )
        if node.op_type == "RNN":
            arguments.append({"activation": of_direction[0]})
        else:
            arguments.append(
                {"recurrent_activation": of_direction[0], "activation": of_direction[1]}
            )
    return arguments


def _numbers(where: str, node: onnx_nodes.OnnxNode, name: str) -> list:
    """A copy of a list attribute of a node."""
    value = onnx_nodes.attribute(node, name, [])
    if isinstance(value, (list, tuple)) and all(
        isinstance(number, (int, float, np.number)) for number in value
    ):
        return list(value)
    raise ValueError(f"{name} of {where} must be a list of numbers, but it is {value!r}.")


def _function(where: str, name: str, alphas: list, betas: list) -> Any:
    """A Keras activation. Removes its parameters from the lists."""
    if name in _PLAIN:
        return name
    alpha, beta = _PARAMETERS.get(name, (None, None))
    if name in _PARAMETERS:
        alpha = alphas.pop(0) if alphas else alpha
        beta = betas.pop(0) if betas else beta
        for known, wanted, function in (
            ("hardsigmoid", (0.2, 0.5), hard_sigmoid_keras2),
            ("hardsigmoid", (1 / 6, 0.5), "hard_sigmoid"),
            ("affine", (1.0, 0.0), "linear"),
        ):
            # Attributes in ONNX are float32.
            if name == known and alpha is not None:
                if np.array_equal(
                    np.array([alpha, beta], np.float32), np.array(wanted, np.float32)
                ):
                    return function
    raise ValueError(
        f"activations of {where} must be Tanh, Sigmoid, Relu, Affine with alpha=1 and beta=0, or "
        f"HardSigmoid with beta=0.5 and alpha=0.2 or 1/6, but there is {name!r} with alpha={alpha} "
        f"and beta={beta}."
    )
