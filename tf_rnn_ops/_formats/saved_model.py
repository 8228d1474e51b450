"""Reads SavedModels: the recurrent layers for a report, and the function."""

import pathlib
from typing import Callable

import tensorflow as tf

from tf_rnn_ops._formats.exported_layer import Arrays, ExportedLayer, layer_of
from tf_rnn_ops.portable import per_node
from tf_rnn_ops.raw_ops.table import PREFIX

# Our forward ops and TensorFlow's, without the prefix.
RECURRENT = (
    *("LayerRNN", "LayerRNNPacked", "QuantizedLayerRNN"),
    *("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3", "CudnnRNNV3Packed", "StatelessCudnnRNNV3"),
    *("BlockLSTM", "BlockLSTMV2"),
)


def write(
    saved_model: str,
    filepath: str,
    *,
    signature: str = "serving_default",
    loops: bool = True,
    weight_format: str | None = None,
) -> list[ExportedLayer]:
    """Lists the layers of a SavedModel, which is the file already."""
    # There is an op for every layer, all signatures stay, and formats.options accepts no `weight_format`.
    del filepath, signature, loops, weight_format
    return [ExportedLayer(name, op, op) for name, op in recurrent_nodes(saved_model)]


def load(filepath: str) -> Callable[[Arrays], Arrays]:
    """The function of a SavedModel."""
    model = tf.saved_model.load(str(filepath))

    def call(inputs: Arrays) -> Arrays:
        function = model.signatures["serving_default"]
        results = function(**{name: tf.constant(array) for name, array in inputs.items()})
        return {name: result.numpy() for name, result in results.items()}

    return call


def recurrent_nodes(saved_model: str) -> list[tuple[str, str]]:
    """Lists (name, op) of the recurrent nodes of a SavedModel, each op without its prefix."""
    meta_graphs = per_node.read(pathlib.Path(saved_model)).meta_graphs
    nodes = [node for graph in meta_graphs for node in per_node.all_nodes(graph.graph_def)]
    # WHY a dict: a SavedModel may have a function of a signature more than once.
    recurrent = [node for node in nodes if node.op.removeprefix(PREFIX) in RECURRENT]
    return list(
        {layer_of(node.name, node.op): node.op.removeprefix(PREFIX) for node in recurrent}.items()
    )
