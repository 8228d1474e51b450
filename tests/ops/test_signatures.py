"""Public functions have the signatures of tf.raw_ops, op types those of the registry."""

import inspect
import sys

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

import tf_rnn_ops

NAMES = (
    "CudnnRNNV3",
    "CudnnRNNBackpropV3",
    "CudnnRNNParamsSize",
    "CudnnRNNCanonicalToParamsV2",
    "CudnnRNNParamsToCanonicalV2",
    "BlockLSTMV2",
    "BlockLSTMGradV2",
)
OWN_NAMES = (
    "LayerRNN",
    "LayerRNNBackprop",
    "CudnnRNNV3Packed",
    "LayerRNNPacked",
    "QuantizedLayerRNN",
    "StatelessCudnnRNNV3",
)
# The ops with one result.
PACKING_NAMES = ("PackCudnnRNNParams", "PackLayerRNN", "PackQuantizedLayerRNN")
EXTRA_DTYPES = {"BlockLSTMV2", "BlockLSTMGradV2"}


@pytest.mark.parametrize("name", NAMES)
def test_signature(name):
    ours = inspect.signature(getattr(tf_rnn_ops.raw_ops, name))
    theirs = inspect.signature(getattr(tf.raw_ops, name))
    assert [(p.name, p.default) for p in ours.parameters.values()] == [
        (p.name, p.default) for p in theirs.parameters.values()
    ]


@pytest.mark.parametrize("name", NAMES)
def test_op_definition(name):
    ours = op_def_registry.get(f"TfRnnOps>{name}")
    theirs = op_def_registry.get(name)

    def args(definitions):
        return [(a.name, a.type, a.type_attr, a.number_attr) for a in definitions]

    assert args(ours.input_arg) == args(theirs.input_arg)
    assert args(ours.output_arg) == args(theirs.output_arg)
    their_attrs = {a.name: a for a in theirs.attr}
    assert {a.name for a in ours.attr} == set(their_attrs)
    for attr in ours.attr:
        assert attr.type == their_attrs[attr.name].type
        assert attr.default_value == their_attrs[attr.name].default_value, attr.name
        allowed = {tf.as_dtype(t).name for t in attr.allowed_values.list.type}
        if attr.name == "T":
            assert allowed == {"bfloat16", "float16", "float32", "float64"}
        else:
            assert attr.allowed_values == their_attrs[attr.name].allowed_values, attr.name
    # Only the op that draws dropout masks has state; TensorFlow marks its backward op as well.
    assert ours.is_stateful == (name == "CudnnRNNV3")


@pytest.mark.parametrize("name", (*OWN_NAMES, *PACKING_NAMES))
def test_own_op(name):
    """The ops that TensorFlow does not have: the function has what the registered op has."""
    op = op_def_registry.get(f"TfRnnOps>{name}")
    function = getattr(tf_rnn_ops.raw_ops, name)
    signature = inspect.signature(function).parameters
    inputs = [a.name for a in op.input_arg]
    attrs = {a.name: a for a in op.attr if a.name != "T"}
    assert sorted(signature) == sorted([*inputs, *attrs, "name"])
    for attr in attrs.values():
        if not attr.HasField("default_value"):
            assert signature[attr.name].default is inspect.Parameter.empty
            continue
        kind = attr.default_value.WhichOneof("value")
        default = getattr(attr.default_value, kind)
        default = default.decode() if kind == "s" else default
        found = signature[attr.name].default
        # An attribute is a float32.
        assert (np.float32(found) if kind == "f" else found) == default, attr.name
    (dtype,) = [a for a in op.attr if a.name == "T"]
    allowed = {tf.as_dtype(t).name for t in dtype.allowed_values.list.type}
    float64 = set() if "Quantized" in name else {"float64"}
    assert allowed == {"bfloat16", "float16", "float32"} | float64
    assert not op.is_stateful
    outputs = tuple(a.name for a in op.output_arg)
    if name in PACKING_NAMES:
        assert outputs == ("packed",)
    else:
        results = inspect.signature(function).return_annotation  # a name in the module
        assert outputs == getattr(sys.modules[function.__module__], results)._fields


def test_every_op_of_the_library_is_tested():
    # Another name is one that these tests would leave out.
    registered = {n for n in dir(tf_rnn_ops.raw_ops) if n[0].isupper()}
    assert registered == {*NAMES, *OWN_NAMES, *PACKING_NAMES}


def test_results_are_named_and_ordered_as_in_tensorflow():
    zeros = np.zeros
    result = tf_rnn_ops.raw_ops.CudnnRNNV3(
        input=zeros([2, 1, 1], np.float32),
        input_h=zeros([1, 1, 1], np.float32),
        input_c=zeros([1, 1, 1], np.float32),
        params=zeros([16], np.float32),
        sequence_lengths=[2],
    )
    assert result._fields == ("output", "output_h", "output_c", "reserve_space", "host_reserved")
    block = tf_rnn_ops.raw_ops.BlockLSTMV2(
        seq_len_max=2,
        x=zeros([2, 1, 1], np.float32),
        cs_prev=zeros([1, 1], np.float32),
        h_prev=zeros([1, 1], np.float32),
        w=zeros([2, 4], np.float32),
        wci=zeros([1], np.float32),
        wcf=zeros([1], np.float32),
        wco=zeros([1], np.float32),
        b=tf.Variable(zeros([4], np.float32)),
    )
    assert block._fields == ("i", "cs", "f", "o", "ci", "co", "h")


def test_cpu_isa_is_one_of_the_levels():
    assert tf_rnn_ops.cpu_isa() in ("avx512", "avx2", "baseline")


def test_eager_calls_take_the_fast_path(monkeypatch):
    """TensorFlow tries it first and falls back silently where an attribute has another type."""
    generated = tf_rnn_ops.native.loader.load()

    def slow(*args, **kwargs):
        raise AssertionError("the eager call fell back")

    names = ("cudnn_rnnv3", "block_lstmv2", "layer_rnn", "pack_layer_rnn", "layer_rnn_packed")
    for name in names:
        monkeypatch.setitem(
            getattr(generated, f"tf_rnn_ops_{name}_eager_fallback").__globals__,
            f"tf_rnn_ops_{name}_eager_fallback",
            slow,
        )
    x, state, vector = tf.zeros([1, 1, 1]), tf.zeros([1, 1, 1]), tf.zeros([1])
    lengths = tf.ones([1], tf.int32)
    tf_rnn_ops.raw_ops.CudnnRNNV3(
        input=x, input_h=state, input_c=state, params=tf.zeros([16]), sequence_lengths=lengths
    )
    tf_rnn_ops.raw_ops.BlockLSTMV2(
        seq_len_max=tf.constant(1, tf.int64), x=x, cs_prev=state[0], h_prev=state[0],
        w=tf.zeros([2, 4]), wci=vector, wcf=vector, wco=vector, b=tf.zeros([4]),
    )  # fmt: skip
    # Without what is optional.
    weights = {"kernel": tf.zeros([1, 4]), "recurrent_kernel": tf.zeros([1, 4])}
    inputs = {"input": x, "input_h": state[0], "input_c": state[0], **weights}
    packed = tf_rnn_ops.raw_ops.PackLayerRNN(**weights)
    tf_rnn_ops.raw_ops.LayerRNNPacked(**inputs, packed=packed)
    tf_rnn_ops.raw_ops.LayerRNN(**inputs)
