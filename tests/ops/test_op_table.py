"""tf_rnn_ops/raw_ops/table.py says of each op what TensorFlow's registry says."""

import inspect

import numpy as np
import pytest
from tensorflow.python.framework import op_def_registry

import tf_rnn_ops
from tf_rnn_ops import raw_ops
from tf_rnn_ops.raw_ops import table

TYPES = ("T", "S")
REGISTERED = [
    *(f"{table.PREFIX}{name}" for name in table.OPS),
    *table.OPS,
]


def _default(attr):
    """The default of an attribute as Python has it, or the type of one without."""
    if not attr.HasField("default_value"):
        return {"int": int, "bool": bool}[attr.type]
    kind = attr.default_value.WhichOneof("value")
    value = getattr(attr.default_value, kind)
    return value.decode() if kind == "s" else value


@pytest.mark.parametrize("name", [n for n in REGISTERED if op_def_registry.get(n)])
def test_an_op(name):
    definition, op = op_def_registry.get(name), table.signature(name)
    assert op.inputs == tuple(one.name for one in definition.input_arg)
    assert op.outputs == tuple(one.name for one in definition.output_arg)
    attrs = {one.name: _default(one) for one in definition.attr if one.name not in TYPES}
    # An attribute is a float32.
    found = {n: np.float32(v) if isinstance(v, float) else v for n, v in op.attrs.items()}
    assert found == attrs
    assert all(type(found[n]) is type(v) or isinstance(v, float) for n, v in attrs.items())
    assert set(op.optional) <= set(op.inputs)


def test_every_op_of_the_library_is_in_the_table():
    prefix = "TfRnnOps_"
    library = dir(tf_rnn_ops.native.loader.load())
    names = {name.removeprefix(prefix) for name in library if name.startswith(prefix)}
    assert len(names) > 10
    assert names <= set(table.OPS)
    # The others are versions of TensorFlow's own.
    assert all(op_def_registry.get(name) for name in set(table.OPS) - names)


@pytest.mark.parametrize("name", ["LayerRNN", "LayerRNNPacked", "LayerRNNBackprop", "PackLayerRNN"])
def test_optional_inputs_have_defaults(name):
    parameters = inspect.signature(getattr(raw_ops, name)).parameters
    op = table.signature(name)
    optional = [n for n in op.inputs if parameters[n].default is not inspect.Parameter.empty]
    assert sorted(op.optional) == sorted(optional)


def test_another_op():
    with pytest.raises(KeyError):
        table.signature("MatMul")
