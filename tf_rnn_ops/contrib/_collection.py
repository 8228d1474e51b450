"""Writes the collection SAVEABLE_OBJECTS into a MetaGraph, and reads it.

TensorFlow's own functions write the names of the items and read them as names of nodes, as is right for
tables and iterators. A saveable of contrib is not a node, so a MetaGraph with its name could not be imported.
These functions leave it out.
"""

import tensorflow as tf
from google.protobuf import struct_pb2

from tf_rnn_ops.contrib import _saveable_base
from tf_rnn_ops.native.tf_internals import graphs

_KEY = tf.compat.v1.GraphKeys.SAVEABLE_OBJECTS


def _to_proto(item, export_scope=None):
    if isinstance(item, _saveable_base.TransformedSaveable):
        return None
    node = struct_pb2.Struct()
    node.update({"node": graphs.without_scope(item.name, export_scope)})
    return node


def _from_proto(proto, import_scope=None):
    name = graphs.with_scope(proto["node"], import_scope)
    return tf.compat.v1.get_default_graph().as_graph_element(name)


def register() -> None:
    """Registers the functions with TensorFlow, once in a process."""
    graphs.register_collection(_KEY, struct_pb2.Struct, _to_proto, _from_proto)
