"""Prepares a frozen graph of TensorFlow for tf2onnx."""

from typing import Any, Iterable

import tensorflow as tf

from tf_rnn_ops._formats.exported_layer import ExportedLayer
from tf_rnn_ops._formats.onnx import widening
from tf_rnn_ops._formats.onnx.fitting import Fitting
from tf_rnn_ops._formats.onnx.nodes import CannotWrite, errors_of_tf2onnx
from tf_rnn_ops._formats.passes import mask_conditions
from tf_rnn_ops.portable import per_node
from tf_rnn_ops.raw_ops.table import PREFIX

_PACKING = f"{PREFIX}Pack"
# Parts of the names of TensorFlow's ops.
_OF_TENSORFLOW = ("CudnnRNN", "BlockLSTM")


def is_needed(graph_def: Any) -> bool:
    """Whether a graph has a recurrent node, or the condition of a mask, which a layer that became a loop has too."""
    return any(
        node.op.startswith(PREFIX)
        or any(part in node.op for part in _OF_TENSORFLOW)
        or mask_conditions.kind(node.op, node.name) is not None
        for node in per_node.all_nodes(graph_def)
    )


def prepare(
    graph_def: Any, inputs: Iterable[str], outputs: Iterable[str]
) -> tuple[Any, list[ExportedLayer]]:
    """Prepares a graph.

    Nodes that ONNX lacks become loops, and bfloat16 becomes float32.

    Args:
        graph_def: A frozen GraphDef; it is not changed.
        inputs: Names of the tensors that are fed.
        outputs: Names of the tensors that are fetched.

    Returns:
        A pair: the GraphDef, and a list of ExportedLayer.

    Raises:
        CannotWrite: A node can become neither a node of ONNX nor a loop.
    """
    graph_def = _ordered(graph_def)
    widening.widen(graph_def)
    graph_def = per_node.dequantized(per_node.as_ours(graph_def))
    fitting = Fitting(graph_def)
    graph_def, report = per_node.rewrite_graph_def(graph_def, fitting)
    for kept in report.kept:
        if kept.op.startswith(_PACKING):
            continue  # the handlers drop the node
        raise CannotWrite(f"The node {kept.node!r} ({kept.op}) cannot be written: {kept.reason}.")
    if any(node.reason for node in fitting.nodes):
        graph_def = _inlined(graph_def, list(inputs), list(outputs))
    return graph_def, fitting.nodes


def _inlined(graph_def: Any, inputs: list[str], outputs: list[str]) -> Any:
    """The graph with calls replaced by the bodies of the called functions."""
    from tf2onnx import tf_loader

    for node in per_node.all_nodes(graph_def):
        # WHY: with this attribute TensorFlow writes loops and conditions of TensorFlow 1, which tf2onnx does not
        # know.
        node.attr.pop("_lower_using_switch_merge", None)
    with tf.Graph().as_default(), errors_of_tf2onnx():
        tf.import_graph_def(graph_def, name="")
        return tf_loader.tf_optimize(inputs, outputs, graph_def)


def _ordered(graph_def: Any) -> Any:
    """The graph with its nodes in the order of the report."""
    result = type(graph_def)()
    result.CopyFrom(graph_def)
    del result.node[:]
    result.node.extend(_in_order(graph_def.node))
    return result


def _in_order(nodes: Iterable[Any]) -> list[Any]:
    """The nodes, each after its inputs, except the back edges of loops of TensorFlow 1."""
    by_name = {node.name: node for node in nodes if node.op != "NextIteration"}
    done, order = set(), []
    for first in nodes:
        stack = [first]
        while stack:
            node = stack[-1]
            names = [ref.removeprefix("^").split(":")[0] for ref in node.input]
            waiting = [by_name[n] for n in names if n in by_name and n not in done]
            if node.name in done or not waiting:
                stack.pop()
                if node.name not in done:
                    done.add(node.name)
                    order.append(node)
            else:
                stack += waiting
    return order
