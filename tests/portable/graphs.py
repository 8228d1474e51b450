"""Graphs with TensorFlow's own CudnnRNN ops, for the tests of portable."""

import tensorflow as tf

import tf_rnn_ops
from support import tf_ops

OUTPUTS = ("output:0", "output_h:0", "output_c:0")


def forward_node(op, case, tensors, **attrs):
    """The op's result on tensors like those of tf_ops.rnn_tensors."""
    attrs = {**case.spec.attrs(), **attrs}
    arguments = {n: tensors[n] for n in ("input", "input_h", "input_c", "params")}
    if op.endswith("V3"):
        arguments["sequence_lengths"] = tensors["sequence_lengths"]
    else:
        del attrs["num_proj"]
    if op.startswith("Stateless"):
        return getattr(tf_rnn_ops.raw_ops, op)(**arguments, **attrs, seed=[3, 1])
    return getattr(tf.raw_ops, op)(**arguments, **attrs)


def graph_of(op, case, time_major=True, known_batch=False, **attrs):
    """(GraphDef with placeholders named as the inputs and outputs OUTPUTS, feeds)."""
    inputs = tf_ops.rnn_tensors(case, time_major).inputs()
    graph = tf.Graph()
    with graph.as_default():
        tensors = {}
        for name, value in inputs.items():
            shape = value.shape.as_list()
            if len(shape) == 3 and not known_batch:
                # Time and batch are open, as in a served model.
                keep = 0 if time_major else 1
                shape = [
                    size if axis == 2 or (axis == keep and name != "input") else None
                    for axis, size in enumerate(shape)
                ]
            tensors[name] = tf.compat.v1.placeholder(value.dtype, shape, name)
        if op.endswith("V3"):
            attrs["time_major"] = time_major
        result = forward_node(op, case, tensors, **attrs)
        for name in ("output", "output_h", "output_c"):
            tf.identity(getattr(result, name), name)
    used = inputs if op.endswith("V3") else {n: v for n, v in inputs.items() if n != LENGTHS}
    return graph.as_graph_def(), {f"{name}:0": value.numpy() for name, value in used.items()}


LENGTHS = "sequence_lengths"


def ops_in(graph_def):
    """The ops of a graph and of its functions."""
    nodes = list(graph_def.node) + [n for f in graph_def.library.function for n in f.node_def]
    return {node.op for node in nodes}


def run(graph_def, feeds, outputs=OUTPUTS, soft_placement=True):
    """Arrays of a graph's tensors."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
        config = tf.compat.v1.ConfigProto(allow_soft_placement=soft_placement)
        with tf.compat.v1.Session(graph=graph, config=config) as session:
            return session.run(list(outputs), feeds)
