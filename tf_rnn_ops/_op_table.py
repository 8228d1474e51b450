"""The signatures of the recurrent ops: the names of their tensors and attributes.

What the op registry says, for where it lacks our ops because no library fits. tests/ops/test_op_table.py compares
the two.
"""

from typing import Any, NamedTuple

PREFIX = "TfRnnOps>"
"""What the names of our ops begin with in the registry."""


class Op(NamedTuple):
    """The signature of an op.

    Attributes:
        inputs: The names of the inputs, in order.
        outputs: The names of the outputs, in order.
        attrs: {name of an attribute: its default, or its type without one}. The types of tensors are not here.
        optional: The names of inputs of which a vector without elements stands for an absent tensor.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: dict[str, Any]
    optional: tuple[str, ...] = ()


RESULTS = ("output", "output_h", "output_c")
"""The outputs that say what a network computes."""
UPSTREAM = tuple(f"{name}_backprop" for name in RESULTS)
"""The gradients of RESULTS."""
RESERVES = ("reserve_space", "host_reserved")
"""The outputs that only gradient ops read."""
LAYER_WEIGHTS = (
    *("kernel", "recurrent_kernel", "bias"),
    *("projection", "peepholes", "layer_norm"),
)
"""The inputs of LayerRNN that have no batch and no time."""
STACK_ATTRS = {
    "rnn_mode": "lstm",
    "input_mode": "linear_input",
    "direction": "unidirectional",
    "num_proj": 0,
}
"""The attributes of CudnnRNNV3 that say what it computes."""
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
"""The attributes of LayerRNN that say what it computes."""

_STATES = ("input", "input_h", "input_c")
_PARAMS = (*_STATES, "params")
_STACK = (*_PARAMS, "sequence_lengths")
_LAYER = (*_STATES, *LAYER_WEIGHTS, "sequence_lengths")
_DRAWN = ("input_mask", "recurrent_mask", "seed")
_BLOCK = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
_GATES = ("i", "cs", "f", "o", "ci", "co", "h")
_NETWORK = ("num_layers", "num_units", "input_size")
_SLOPES = ("h_by_gates", "c_by_gates", "h_by_h", "h_by_c", "c_by_h", "c_by_c")

_MAJOR = {"time_major": True}
_TRAINING = {"is_training": True}
_RANDOM = {"dropout": 0.0, "seed": 0, "seed2": 0}
# The first versions have no projection.
_FIRST = {name: value for name, value in STACK_ATTRS.items() if name != "num_proj"} | _RANDOM
_COUNTS = {"num_params_weights": int, "num_params_biases": int}
_OPTIONAL = (*LAYER_WEIGHTS[2:], "sequence_lengths")


def _backprop(inputs, suffix="_backprop"):
    return tuple(f"{name}{suffix}" for name in inputs)


OPS = {
    "CudnnRNN": Op(_PARAMS, (*RESULTS, RESERVES[0]), _FIRST | _TRAINING),
    "CudnnRNNV2": Op(_PARAMS, (*RESULTS, *RESERVES), _FIRST | _TRAINING),
    "CudnnRNNV3": Op(_STACK, (*RESULTS, *RESERVES), STACK_ATTRS | _RANDOM | _TRAINING | _MAJOR),
    "StatelessCudnnRNNV3": Op(
        (*_STACK, "seed"), (*RESULTS, *RESERVES), STACK_ATTRS | {"dropout": 0.0} | _MAJOR
    ),
    "CudnnRNNV3Packed": Op((*_STACK, "packed"), RESULTS, STACK_ATTRS | _MAJOR),
    "CudnnRNNBackprop": Op(
        (*_PARAMS, *RESULTS, *UPSTREAM, RESERVES[0]), _backprop(_PARAMS), _FIRST
    ),
    "CudnnRNNBackpropV2": Op(
        (*_PARAMS, *RESULTS, *UPSTREAM, *RESERVES), _backprop(_PARAMS), _FIRST
    ),
    "CudnnRNNBackpropV3": Op(
        (*_STACK, *RESULTS, *UPSTREAM, *RESERVES),
        _backprop(_PARAMS),
        STACK_ATTRS | _RANDOM | _MAJOR,
    ),
    "CudnnRNNParamsSize": Op(_NETWORK, ("params_size",), STACK_ATTRS | _RANDOM),
    "CudnnRNNCanonicalToParams": Op(
        (*_NETWORK, "weights", "biases"), ("params",), _FIRST | {"num_params": int}
    ),
    "CudnnRNNCanonicalToParamsV2": Op(
        (*_NETWORK, "weights", "biases"), ("params",), STACK_ATTRS | _RANDOM | _COUNTS
    ),
    "CudnnRNNParamsToCanonical": Op(
        (*_NETWORK, "params"), ("weights", "biases"), _FIRST | {"num_params": int}
    ),
    "CudnnRNNParamsToCanonicalV2": Op(
        (*_NETWORK, "params"), ("weights", "biases"), STACK_ATTRS | _RANDOM | _COUNTS
    ),
    "PackCudnnRNNParams": Op(
        ("params",), ("packed",), dict.fromkeys(_NETWORK, int) | STACK_ATTRS | {"keep": False}
    ),
    "LayerRNN": Op(
        (*_LAYER, *_DRAWN),
        (*RESULTS, RESERVES[0]),
        LAYER_ATTRS | _TRAINING | _MAJOR,
        (*_OPTIONAL, *_DRAWN),
    ),
    "LayerRNNPacked": Op((*_LAYER, "packed"), RESULTS, LAYER_ATTRS | _MAJOR, _OPTIONAL),
    "LayerRNNBackprop": Op(
        (*_LAYER, *_DRAWN, *RESULTS, *UPSTREAM, RESERVES[0]),
        _backprop((*_STATES, *LAYER_WEIGHTS)),
        LAYER_ATTRS | _MAJOR,
        (*_OPTIONAL, *_DRAWN),
    ),
    "PackLayerRNN": Op(
        LAYER_WEIGHTS[:4], ("packed",), {"rnn_mode": "lstm", "keep": False}, LAYER_WEIGHTS[2:4]
    ),
    "BlockLSTMV2": Op(("seq_len_max", *_BLOCK), _GATES, {"cell_clip": 0.0, "use_peephole": False}),
    "BlockLSTMGradV2": Op(
        ("seq_len_max", *_BLOCK, *_GATES, "cs_grad", "h_grad"),
        _backprop(_BLOCK, "_grad"),
        {"use_peephole": bool},
    ),
    "LinearRecurrence": Op(
        ("input", "cell_input", "recurrent_kernel", *_SLOPES),
        ("output", "cell_output"),
        {"rnn_mode": "lstm", "transposed": False},
        _SLOPES,
    ),
}


def signature(op_type: str) -> Op:
    """The Op of a name in the registry or without our PREFIX.

    Raises:
        KeyError: It is not one of the recurrent ops.
    """
    return OPS[op_type.removeprefix(PREFIX)]
