"""The signatures of the recurrent ops: the names of their tensors and attributes.

The op registry has the same signatures, but lacks our ops if no library fits. tests/ops/test_op_table.py
compares the two.
"""

from typing import Any, Iterable, Mapping, NamedTuple

PREFIX = "TfRnnOps>"
"""The prefix of the names of our ops in the registry."""


class Op(NamedTuple):
    """The signature of an op.

    Attributes:
        inputs: The names of the inputs, in order.
        outputs: The names of the outputs, in order.
        attrs: {name of an attribute: its default, or its type without one}. The types of tensors are not here.
        optional: The names of optional inputs. A vector without elements stands for an absent tensor.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: dict[str, Any]
    optional: tuple[str, ...] = ()


# Outputs: the results of a network, and the outputs that only gradient ops read.
RESULTS = ("output", "output_h", "output_c")
RESERVES = ("reserve_space", "host_reserved")
# The gradients of RESULTS.
UPSTREAM = tuple(f"{name}_backprop" for name in RESULTS)
# The inputs of LayerRNN that have no batch and no time; the first two are never absent.
LAYER_WEIGHTS = (
    "kernel",
    "recurrent_kernel",
    "bias",
    "projection",
    "peepholes",
    "layer_norm",
)
# The attributes that determine the function of CudnnRNNV3 and LayerRNN.
_FIRST = {"rnn_mode": "lstm", "input_mode": "linear_input", "direction": "unidirectional"}
STACK_ATTRS = {**_FIRST, "num_proj": 0}
LAYER_ATTRS = {
    "rnn_mode": "lstm",
    "activation": "tanh",
    "recurrent_activation": "sigmoid",
    "cell_clip": 0.0,
    "proj_clip": 0.0,
    "zoneout_h": 0.0,
    "zoneout_c": 0.0,
    "layer_norm_epsilon": 1e-3,
}
# The attributes of dropout and of the order of dimensions.
RANDOM_ATTRS = {"dropout": 0.0, "seed": 0, "seed2": 0}
MAJOR_ATTR = {"time_major": True}

_STATES = ("input", "input_h", "input_c")
_PARAMS = (*_STATES, "params")
_STACK = (*_PARAMS, "sequence_lengths")
_LAYER = (*_STATES, *LAYER_WEIGHTS, "sequence_lengths")
# The weights of a layer in int8, each with its scales; the first four are never absent.
QUANTIZED_WEIGHTS = (
    "kernel",
    "kernel_scale",
    "recurrent_kernel",
    "recurrent_kernel_scale",
    "bias",
    "projection",
    "projection_scale",
)
_FUNCTIONS = ("rnn_mode", "activation", "recurrent_activation")
_DRAWN = ("input_mask", "recurrent_mask", "seed")
_OPTIONAL = (*LAYER_WEIGHTS[2:], "sequence_lengths")
_BLOCK = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
_GATES = ("i", "cs", "f", "o", "ci", "co", "h")
_NETWORK = ("num_layers", "num_units", "input_size")
_CANONICAL = ("weights", "biases")
_SLOPES = ("h_by_gates", "c_by_gates", "h_by_h", "h_by_c", "c_by_h", "c_by_c")

_TRAINING = {"is_training": True}
_COUNTS = {"num_params_weights": int, "num_params_biases": int}
_OF_FIRST, _OF_V2, _OF_V3 = (
    _FIRST | RANDOM_ATTRS,
    STACK_ATTRS | RANDOM_ATTRS,
    STACK_ATTRS | RANDOM_ATTRS | MAJOR_ATTR,
)


def _op(
    inputs: Iterable[str],
    outputs: Iterable[str],
    *attrs: Mapping[str, Any],
    optional: tuple[str, ...] = (),
) -> Op:
    return Op(
        tuple(inputs),
        tuple(outputs),
        {k: v for attributes in attrs for k, v in attributes.items()},
        optional,
    )


def _gradient(
    forward: Iterable[str],
    of: Iterable[str],
    reserves: Iterable[str],
    *attrs: Mapping[str, Any],
    optional: tuple[str, ...] = (),
) -> Op:
    """A gradient op, from the inputs of the forward op and the names of the inputs with gradients."""
    backprop = [f"{name}_backprop" for name in of]
    return _op([*forward, *RESULTS, *UPSTREAM, *reserves], backprop, *attrs, optional=optional)


OPS = {
    "CudnnRNN": _op(_PARAMS, (*RESULTS, RESERVES[0]), _OF_FIRST, _TRAINING),
    "CudnnRNNV2": _op(_PARAMS, (*RESULTS, *RESERVES), _OF_FIRST, _TRAINING),
    "CudnnRNNV3": _op(_STACK, (*RESULTS, *RESERVES), _OF_V3, _TRAINING),
    "StatelessCudnnRNNV3": _op(
        (*_STACK, "seed"), (*RESULTS, *RESERVES), STACK_ATTRS, {"dropout": 0.0}, MAJOR_ATTR
    ),
    "CudnnRNNV3Packed": _op((*_STACK, "packed"), RESULTS, STACK_ATTRS, MAJOR_ATTR),
    "CudnnRNNBackprop": _gradient(_PARAMS, _PARAMS, RESERVES[:1], _OF_FIRST),
    "CudnnRNNBackpropV2": _gradient(_PARAMS, _PARAMS, RESERVES, _OF_FIRST),
    "CudnnRNNBackpropV3": _gradient(_STACK, _PARAMS, RESERVES, _OF_V3),
    "CudnnRNNParamsSize": _op(_NETWORK, ("params_size",), _OF_V2),
    "CudnnRNNCanonicalToParams": _op(
        (*_NETWORK, *_CANONICAL), ("params",), _OF_FIRST, {"num_params": int}
    ),
    "CudnnRNNCanonicalToParamsV2": _op((*_NETWORK, *_CANONICAL), ("params",), _OF_V2, _COUNTS),
    "CudnnRNNParamsToCanonical": _op(
        (*_NETWORK, "params"), _CANONICAL, _OF_FIRST, {"num_params": int}
    ),
    "CudnnRNNParamsToCanonicalV2": _op((*_NETWORK, "params"), _CANONICAL, _OF_V2, _COUNTS),
    "PackCudnnRNNParams": _op(
        ("params",), ("packed",), dict.fromkeys(_NETWORK, int), STACK_ATTRS, {"keep": False}
    ),
    "LayerRNN": _op(
        (*_LAYER, *_DRAWN),
        (*RESULTS, RESERVES[0]),
        LAYER_ATTRS,
        {**_TRAINING, **MAJOR_ATTR},
        optional=(*_OPTIONAL, *_DRAWN),
    ),
    "LayerRNNPacked": _op(
        (*_LAYER, "packed"), RESULTS, LAYER_ATTRS, MAJOR_ATTR, optional=_OPTIONAL
    ),
    "LayerRNNBackprop": _gradient(
        (*_LAYER, *_DRAWN),
        (*_STATES, *LAYER_WEIGHTS),
        RESERVES[:1],
        {**LAYER_ATTRS, **MAJOR_ATTR},
        optional=(*_OPTIONAL, *_DRAWN),
    ),
    "PackLayerRNN": _op(
        LAYER_WEIGHTS[:4], ("packed",), {"rnn_mode": "lstm", "keep": False}, optional=_OPTIONAL[:2]
    ),
    "QuantizedLayerRNN": _op(
        (*_STATES, *QUANTIZED_WEIGHTS, "sequence_lengths", "packed"),
        RESULTS,
        {name: LAYER_ATTRS[name] for name in _FUNCTIONS},
        MAJOR_ATTR,
        optional=(*QUANTIZED_WEIGHTS[4:], "sequence_lengths"),
    ),
    "PackQuantizedLayerRNN": _op(
        QUANTIZED_WEIGHTS,
        ("packed",),
        {"rnn_mode": "lstm", "keep": False},
        optional=QUANTIZED_WEIGHTS[4:],
    ),
    "BlockLSTMV2": _op(("seq_len_max", *_BLOCK), _GATES, {"cell_clip": 0.0, "use_peephole": False}),
    "BlockLSTMGradV2": _op(
        ("seq_len_max", *_BLOCK, *_GATES, "cs_grad", "h_grad"),
        [f"{name}_grad" for name in _BLOCK],
        {"use_peephole": bool},
    ),
    "LinearRecurrence": _op(
        ("input", "cell_input", "recurrent_kernel", *_SLOPES),
        ("output", "cell_output"),
        {"rnn_mode": "lstm", "transposed": False},
        optional=_SLOPES,
    ),
}


def signature(op_type: str) -> Op:
    """The Op of a name, which may lack our PREFIX.

    Raises:
        KeyError: No recurrent op has the name.
    """
    return OPS[op_type.removeprefix(PREFIX)]
