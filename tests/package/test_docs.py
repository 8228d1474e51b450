"""Checks the docstrings of the ops: their shapes are the shapes of real calls."""

import re

import pytest
import tensorflow as tf

from tf_rnn_ops import raw_ops
from tf_rnn_ops.native import loader

# S is num_proj here, so that a shape that means H is not taken for one that means S.
SIZES = {"T": 7, "B": 5, "I": 3, "H": 4, "S": 2, "P": 2, "L": 2, "D": 2, "num_proj": 2, "G": 4}


def _cudnn_rnn_tensors():
    s = SIZES
    count = s["L"] * s["D"]
    attrs = {"direction": "bidirectional", "num_proj": s["S"]}
    size = raw_ops.CudnnRNNParamsSize(
        num_layers=s["L"], num_units=s["H"], input_size=s["I"], T=tf.float32, S=tf.int32, **attrs
    )
    inputs = {
        "input": tf.zeros([s["T"], s["B"], s["I"]]),
        "input_h": tf.zeros([count, s["B"], s["S"]]),
        "input_c": tf.zeros([count, s["B"], s["H"]]),
        "params": tf.zeros(size),
        "sequence_lengths": tf.fill([s["B"]], s["T"]),
    }
    outputs = raw_ops.CudnnRNNV3(**inputs, **attrs)._asdict()
    gradients = {f"{k}_backprop": outputs[k] for k in ("output", "output_h", "output_c")}
    back_inputs = {**inputs, **outputs, **gradients}
    back_outputs = raw_ops.CudnnRNNBackpropV3(**back_inputs, **attrs)._asdict()
    packed = {"packed": tf.zeros([0], tf.uint8)}
    packed_outputs = raw_ops.CudnnRNNV3Packed(**inputs, **packed, **attrs)._asdict()
    seed = {"seed": tf.constant([3, 1], tf.int64)}
    return {
        "StatelessCudnnRNNV3": ({**inputs, **seed}, outputs),
        "CudnnRNNV3Packed": ({**inputs, **packed}, packed_outputs),
        "CudnnRNNV3": (inputs, outputs),
        "CudnnRNNBackpropV3": (back_inputs, back_outputs),
    }


def _block_lstm_tensors():
    t, b, i, h = (SIZES[letter] for letter in "TBIH")
    inputs = {
        "seq_len_max": tf.constant(t, tf.int64),
        "x": tf.zeros([t, b, i]),
        "cs_prev": tf.zeros([b, h]),
        "h_prev": tf.zeros([b, h]),
        "w": tf.zeros([i + h, 4 * h]),
        "wci": tf.zeros([h]),
        "wcf": tf.zeros([h]),
        "wco": tf.zeros([h]),
        "b": tf.zeros([4 * h]),
    }
    outputs = raw_ops.BlockLSTMV2(**inputs)._asdict()
    back_inputs = {**inputs, **outputs, "cs_grad": outputs["cs"], "h_grad": outputs["h"]}
    back_outputs = raw_ops.BlockLSTMGradV2(**back_inputs, use_peephole=False)._asdict()
    return {
        "BlockLSTMV2": (inputs, outputs),
        "BlockLSTMGradV2": (back_inputs, back_outputs),
    }


def _layer_rnn_tensors():
    t, b, i, h, g, s = (SIZES[letter] for letter in "TBIHGS")
    inputs = {
        "input": tf.zeros([t, b, i]),
        "input_h": tf.zeros([b, s]),
        "input_c": tf.zeros([b, h]),
        "kernel": tf.zeros([i, g * h]),
        "recurrent_kernel": tf.zeros([s, g * h]),
        "bias": tf.zeros([g * h]),
        "projection": tf.zeros([h, s]),
        "peepholes": tf.zeros([3, h]),
        "sequence_lengths": tf.fill([b], t),
        "input_mask": tf.zeros([g, b, i]),
        "recurrent_mask": tf.zeros([g, b, s]),
    }
    outputs = raw_ops.LayerRNN(**inputs)._asdict()
    gradients = {f"{k}_backprop": outputs[k] for k in ("output", "output_h", "output_c")}
    back_inputs = {**inputs, **outputs, **gradients}
    back_outputs = raw_ops.LayerRNNBackprop(**back_inputs)._asdict()
    packed_inputs = {n: t for n, t in inputs.items() if not n.endswith("_mask")}
    packed_inputs["packed"] = tf.zeros([0], tf.uint8)
    packed_outputs = raw_ops.LayerRNNPacked(**packed_inputs)._asdict()
    return {
        "LayerRNNPacked": (packed_inputs, packed_outputs),
        "LayerRNN": (inputs, outputs),
        "LayerRNNBackprop": (back_inputs, back_outputs),
    }


@pytest.fixture(scope="module")
def tensors():
    return {**_cudnn_rnn_tensors(), **_block_lstm_tensors(), **_layer_rnn_tensors()}


def _stated_shape(doc, name):
    """The first shape in what `doc`, or the op that it refers to, says of `name`.

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


OPS = {
    "CudnnRNNV3": "tf_rnn_ops_cudnn_rnnv3",
    "CudnnRNNBackpropV3": "tf_rnn_ops_cudnn_rnn_backprop_v3",
    "BlockLSTMV2": "tf_rnn_ops_block_lstmv2",
    "BlockLSTMGradV2": "tf_rnn_ops_block_lstm_grad_v2",
    "LayerRNN": "tf_rnn_ops_layer_rnn",
    "LayerRNNBackprop": "tf_rnn_ops_layer_rnn_backprop",
    "CudnnRNNV3Packed": "tf_rnn_ops_cudnn_rnnv3_packed",
    "LayerRNNPacked": "tf_rnn_ops_layer_rnn_packed",
    "StatelessCudnnRNNV3": "tf_rnn_ops_stateless_cudnn_rnnv3",
}


@pytest.mark.parametrize("op", OPS)
def test_shapes_in_the_docs_of_ops(op, tensors):
    """In the description of the op, and in the docstring of its function."""
    inputs, outputs = tensors[op]
    assert _check(getattr(loader.load(), OPS[op]).__doc__, {**inputs, **outputs}) >= 7
    doc = getattr(raw_ops, op).__doc__
    assert _check(doc, inputs) >= 4
    returns = doc[doc.index("Returns:") :]
    for name, shape in re.findall(r"(\w+) \[([^\]]+)\]", returns):
        if name in outputs and name not in IN_WORDS:
            want = tuple(eval(dim, {}, SIZES) for dim in shape.split(","))
            assert want == tuple(outputs[name].shape), name
