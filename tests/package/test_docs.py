"""Checks the docstrings of the ops: their shapes are the shapes of real calls."""

import re

import numpy as np
import pytest

from support import calls, layer_ops, packed_calls
from support.layer_cases import layer_case
from support.reference.spec import RnnSpec
from tf_rnn_ops import raw_ops

# S is num_proj here, so that a shape that means H is not taken for one that means S.
SIZES = {"T": 7, "B": 5, "I": 3, "H": 4, "S": 2, "P": 2, "L": 2, "D": 2, "num_proj": 2, "G": 4}


@pytest.fixture(scope="module")
def tensors():
    """{op: (its inputs, its outputs)} of one call of each op."""
    t, b, i, h = (SIZES[letter] for letter in "TBIH")
    rng = np.random.default_rng(0)
    network = RnnSpec(
        "lstm", layers=2, units=h, input_size=i, direction="bidirectional", num_proj=SIZES["S"]
    )
    stack = calls.rnn_calls(raw_ops, network, t, b, rng)
    options = {"num_proj": SIZES["S"], "peepholes": True}
    layer_rnn = layer_ops.calls(
        raw_ops, layer_case("lstm", (t, b, i, h), rng, "float32", **options)
    )
    packed = [packed_calls.of_rnn(raw_ops, network, stack[1])]
    packed += [packed_calls.of_layer(raw_ops, layer_rnn[0])]
    packed = [call.with_tensor("packed", np.zeros(0, np.uint8)) for call in packed]
    found = {}
    for call in (*stack, *calls.block_calls(raw_ops, (t, b, i, h), rng), *layer_rnn, *packed):
        # [0] stands for an absent tensor.
        absent = {n for n, array in call.tensors.items() if np.shape(array) == (0,)} - {"packed"}
        given = {n: array for n, array in call.tensors.items() if n not in absent}
        found[call.op] = given, calls.run_eagerly(raw_ops, call)._asdict()
    return found


def _stated_shape(doc, name):
    """The first shape in what `doc`, or the docstring that it refers to, says of `name`.

    A tuple, or None where it states none.
    """
    doc = re.sub(r"(?<=\w),\n +(?=\w+[,:])", ", ", doc)  # names in two lines
    names = rf"(?:\w+, )*{name}(?:, \w+)*"
    entry = re.search(rf"^( +){names}: (.*(?:\n\1 +.*)*)", doc, flags=re.MULTILINE)
    assert entry, f"{name} is not documented"
    stated = re.search(r"\[([A-Z0-9][^\]]*)\]", entry.group(2).replace("in [0, T]", ""))
    if stated is None:
        other = re.match(r"As given to (\w+)\.", entry.group(2))
        return _stated_shape(getattr(raw_ops, other[1]).__doc__, name) if other else None
    return tuple(eval(dim, {}, SIZES) for dim in stated.group(1).split(","))


# Tensors whose shape the documentation gives in words.
IN_WORDS = {"params", "params_backprop", "reserve_space", "host_reserved", "seq_len_max"}
IN_WORDS |= {"bias_backprop", "projection_backprop", "peepholes_backprop", "packed"}
IN_WORDS |= {"layer_norm_backprop"}


def _check(doc, tensors_by_name):
    stated = 0
    for name, tensor in tensors_by_name.items():
        shape = _stated_shape(doc, name)
        if shape is None:
            assert name in IN_WORDS, name
            continue
        assert shape == tuple(tensor.shape), name
        stated += 1
    return stated


OPS = (
    "CudnnRNNV3",
    "CudnnRNNBackpropV3",
    "BlockLSTMV2",
    "BlockLSTMGradV2",
    "LayerRNN",
    "LayerRNNBackprop",
    "CudnnRNNV3Packed",
    "LayerRNNPacked",
    "StatelessCudnnRNNV3",
)


@pytest.mark.parametrize("op", OPS)
def test_shapes_in_the_docstrings_of_ops(op, tensors):
    inputs, outputs = tensors[op]
    doc = getattr(raw_ops, op).__doc__
    assert _check(doc, inputs) >= 4
    returns = doc[doc.index("Returns:") :]
    for name, shape in re.findall(r"(\w+) \[([^\]]+)\]", returns):
        if name in outputs and name not in IN_WORDS:
            want = tuple(eval(dim, {}, SIZES) for dim in shape.split(","))
            assert want == tuple(outputs[name].shape), name
