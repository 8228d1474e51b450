"""Rewrites SavedModels so that a converter knows all of their recurrent nodes."""

import contextlib
import pathlib
import tempfile
from typing import Any, Callable, Iterator

import tensorflow as tf

from tf_rnn_ops._formats import formats
from tf_rnn_ops._formats.exported_layer import LOOP, ExportedLayer, layer_of
from tf_rnn_ops._formats.passes import (
    bias_additions,
    int8_products,
    mask_conditions,
    sign_bits,
    variable_updates,
)
from tf_rnn_ops.portable import per_node

STEP = "ordinary ops of one step"
DEFAULT = "serving_default"


@contextlib.contextmanager
def rewritten(
    saved_model: str,
    signature: str,
    loops: bool,
    decide: Callable[[per_node.NodeInfo], per_node.Decision],
) -> Iterator[tuple[pathlib.Path, list[ExportedLayer]]]:
    """A SavedModel with the graph of one signature, and a decision on each recurrent node.

    Args:
        saved_model: Folder of a SavedModel.
        signature: The signature to keep.
        loops: Whether nodes may become loops of ordinary ops.
        decide: A function of the per_node.NodeInfo of a node.

    Yields:
        The folder of the new SavedModel, which the end of the context removes, and an ExportedLayer for each
        recurrent node that the signature runs.

    Raises:
        ValueError: There is no such signature, it keeps states, a node cannot be rewritten, or a node
            becomes a loop and `loops` is False.
    """
    places = {"", *functions_of(saved_model, signature)}
    nodes: list[ExportedLayer] = []

    def listed(info: per_node.NodeInfo) -> per_node.Decision:
        decision = decide(info)
        if info.place in places:
            nodes.append(exported(info, decision))
        return decision

    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "model"
        report = per_node.rewrite_saved_model(saved_model, target, listed)
        for kept in report.kept:
            if kept.place in places:
                raise ValueError(
                    f"The node {kept.node!r} ({kept.op}) cannot be written: {kept.reason}."
                )
        check_loops(nodes, loops)
        _finish(target, signature)
        yield target, nodes


def exported(info: per_node.NodeInfo, decision: per_node.Decision) -> ExportedLayer:
    """The ExportedLayer of a node."""
    layer = layer_of(info.name, info.op)
    return ExportedLayer(layer, info.op, decision.name or LOOP, decision.reason)


def check_loops(nodes: list[ExportedLayer], loops: bool) -> None:
    """Raises ValueError if a layer becomes a loop and `loops` is False."""
    looping = [node for node in nodes if node.target_op == LOOP]
    if looping and not loops:
        raise ValueError(
            f"The layer {looping[0].name!r} becomes a loop, because {looping[0].reason}."
        )


def load(folder: pathlib.Path, signature: str) -> tuple[Any, Any]:
    """Loads the SavedModel of rewritten(). Returns the model, which must stay alive, and the function of the signature."""
    loaded = tf.saved_model.load(str(folder))
    return loaded, loaded.signatures[signature]


def loops_of(saved_model: str, signature: str, loops: bool) -> list[ExportedLayer]:
    """An ExportedLayer for each loop that a SavedModel has, such as the loops of Keras's layers.

    Args:
        saved_model: Folder of a SavedModel.
        signature: The signature that runs the loops.
        loops: Whether there may be loops.

    Raises:
        ValueError: There is no such signature, it keeps states, or it has a loop and `loops` is False.
    """
    places = functions_of(saved_model, signature)
    (meta_graph,) = per_node.read(pathlib.Path(saved_model)).meta_graphs
    functions = [f for f in meta_graph.graph_def.library.function if f.signature.name in places]
    found = [
        ExportedLayer(node.name, node.op, LOOP, "it is a loop in the SavedModel")
        for function in functions
        for node in function.node_def
        if node.op in ("While", "StatelessWhile")
    ]
    if found and not loops:
        raise ValueError(f"The node {found[0].name!r} ({found[0].op}) is a loop in the SavedModel.")
    return found


def names_apart(saved_model: str, signature: str) -> dict[str, str]:
    """formats.names_apart() of a signature."""
    (meta_graph,) = per_node.read(pathlib.Path(saved_model)).meta_graphs
    found = meta_graph.signature_def[signature]
    return formats.names_apart(found.inputs, found.outputs)


def functions_of(saved_model: str, signature: str) -> set[str]:
    """The names of the functions that a signature runs.

    Raises:
        ValueError: There is no such signature, or it keeps states in variables.
    """
    (meta_graph, *more) = per_node.read(pathlib.Path(saved_model)).meta_graphs
    if more or signature not in meta_graph.signature_def:
        raise ValueError(
            f"signature must be one of {sorted(meta_graph.signature_def)} of a SavedModel with one graph, but "
            f"it is {signature!r}."
        )
    functions = {f.signature.name: f for f in meta_graph.graph_def.library.function}
    graph = {node.name: node for node in meta_graph.graph_def.node}
    results = meta_graph.signature_def[signature].outputs.values()
    waiting = list(per_node.reachable(graph, [result.name for result in results]).values())
    found: set[str] = set()
    while waiting:
        called = _callees(waiting.pop()) & functions.keys() - found
        found |= called
        waiting += [node for name in called for node in functions[name].node_def]
    variable_updates.refuse(functions[name] for name in sorted(found))
    return found


def _callees(node: Any) -> set[str]:
    """The names of the functions that a node calls."""
    functions = [f for value in node.attr.values() for f in (value.func, *value.list.func)]
    return {function.name for function in functions if function.name}


def _finish(folder: pathlib.Path, signature: str) -> None:
    """Leaves one signature in the graph of a SavedModel, without what the converters do not write well.

    The signature keeps its name, which the objects of a SavedModel of TensorFlow 2 have too.
    """
    model = per_node.read(folder)
    (meta_graph,) = model.meta_graphs
    int8_products.replace(meta_graph.graph_def)
    mask_conditions.replace(meta_graph.graph_def)
    bias_additions.replace(meta_graph.graph_def)
    sign_bits.replace(meta_graph.graph_def)
    for name in meta_graph.signature_def.keys() - {signature}:
        del meta_graph.signature_def[name]
    per_node.write(folder, model)
