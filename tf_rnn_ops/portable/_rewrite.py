"""Rewrites the CudnnRNN and LayerRNN nodes of a GraphDef and of its functions."""

from typing import Any, Callable, Iterable, NamedTuple

import tensorflow as tf

from tf_rnn_ops.plain.sizes import UnknownSize
from tf_rnn_ops.portable import _functions, _nodes, _sizes, _to_plain
from tf_rnn_ops.portable._decision import Decision, Loop, NodeInfo
from tf_rnn_ops.portable._dequantize import FORMER_OP
from tf_rnn_ops.portable._reads import Reads
from tf_rnn_ops.portable._report import Change, Kept, Report
from tf_rnn_ops.raw_ops.table import OPS, PREFIX, RESERVES


class Place(NamedTuple):
    """A graph or function whose nodes are rewritten.

    Attributes:
        host: The function, or None for the graph itself.
        nodes: Its nodes.
        shapes: The Shapes of its tensors.
        reads: Its Reads.
        stand_ins: The StandIns of the whole graph.
        read_by_gradients: Names of the nodes whose reserve space a gradient op reads.
        inference: Whether every node is treated as inference.
        decide: A function that decides on the replacement of a forward node.
    """

    host: Any
    nodes: Any
    shapes: _sizes.Shapes
    reads: Reads
    stand_ins: _functions.StandIns
    read_by_gradients: set[str]
    inference: bool
    decide: Callable[[NodeInfo], Decision]

    @property
    def name(self) -> str:
        """The name of the function, or ''; see Report."""
        return "" if self.host is None else self.host.signature.name


def rewrite_graph_def(
    graph_def: Any, *, inference: bool = False, clear_devices: bool = False
) -> tuple[Any, Report]:
    """Replaces the forward ops of TensorFlow's CudnnRNN and of this package by ordinary ops.

    The graph then needs no plug-in. Gradient and parameter ops are kept.

    Args:
        graph_def: A GraphDef; it is not changed.
        inference: Whether to treat every node as inference, also a node with is_training=True and dropout. If
            False, such a node is kept.
        clear_devices: Whether to remove the devices of all nodes, so that a session needs no soft
            placement.

    Returns:
        A pair (GraphDef, Report).

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import portable
        >>> graph_def, report = portable.rewrite_graph_def(tf.Graph().as_graph_def())
        >>> print(report)
        nodes changed: 0, kept: 0
    """
    return rewrite(graph_def, inference, clear_devices)


def rewrite(
    graph_def: Any,
    inference: bool = False,
    clear_devices: bool = False,
    decide: Callable[[NodeInfo], Decision] = lambda info: Loop(""),
) -> tuple[Any, Report]:
    """rewrite_graph_def() with a decision on each node.

    Args:
        graph_def: See rewrite_graph_def().
        inference: See rewrite_graph_def().
        clear_devices: See rewrite_graph_def().
        decide: A function that decides on each forward node that ordinary ops could replace.

    Returns:
        See rewrite_graph_def().
    """
    result = type(graph_def)()
    result.CopyFrom(graph_def)
    report = Report()
    stand_ins = _functions.StandIns(graph_def.library)
    places = []
    for host, original in zip(
        [None, *result.library.function], [None, *graph_def.library.function]
    ):
        nodes = result.node if host is None else host.node_def
        trained = set() if inference else _read_by_gradients(nodes)
        shapes = _sizes.Shapes(graph_def, original)
        reads = Reads(graph_def.node if original is None else original.node_def, original)
        places.append(Place(host, nodes, shapes, reads, stand_ins, trained, inference, decide))
    for place in places:
        for node in place.nodes:
            if clear_devices:
                node.device = ""
            if _to_plain.concerns(node):
                _rewrite(node, place, report)
    _drop_packing(places, report)
    if stand_ins.functions:  # extend([]) would add an empty library to a graph without functions
        result.library.function.extend(stand_ins.functions)
    return result, report


def _rewrite(node: Any, place: Place, report: Report) -> None:
    """Replaces a node or keeps it, and adds this to the report."""
    former = _nodes.attribute(node, FORMER_OP, None)
    op = f"{PREFIX}{former}" if former else node.op
    try:
        replacement = _to_plain.to_plain(node, place)
    except (_nodes.CannotRewrite, UnknownSize) as reason:
        report.kept.append(Kept(place.name, node.name, op, str(reason)))
    else:
        if replacement is not None:
            report.changed.append(Change(place.name, node.name, op, replacement))


def _read_by_gradients(nodes: Iterable[Any]) -> set[str]:
    """Names of the nodes whose reserve space a gradient op among the nodes reads."""
    sources: set[str] = set()
    for node in nodes:
        op = OPS.get(node.op.removeprefix(PREFIX))
        if op is not None and RESERVES[0] in op.inputs:
            # NODE:3 in a graph, NODE:reserve_space:0 in a function.
            parts = [ref.split(":") for ref in _nodes.data_inputs(node)]
            sources |= {
                name for name, *output in parts if output and output[0] in ("3", "4", *RESERVES)
            }
    return sources


def _drop_packing(places: list[Place], report: Report) -> None:
    """Removes the nodes that pack weights only for nodes that became ordinary ops."""
    needed = any(node.op in _to_plain.PACKED for place in places for node in place.nodes)
    for place in places:
        nodes = place.nodes
        used = {ref.removeprefix("^").split(":")[0] for node in nodes for ref in node.input}
        if place.host is not None:
            used |= {ref.split(":")[0] for ref in place.host.ret.values()}
        for node in [node for node in nodes if node.op in _to_plain.PACKING]:
            op, name = node.op, node.name
            if name not in used:
                replacement = "nothing, since it is not read"
                nodes.remove(node)
            elif needed:
                if report.kept:  # otherwise an exporter chose to keep the op
                    report.kept.append(
                        Kept(place.name, name, op, "an op that was kept may read it")
                    )
                continue
            else:
                replacement = "an empty vector, since no op needs the packed weights"
                _make_empty(node, place.host)
            report.changed.append(Change(place.name, name, op, replacement))


def _make_empty(node: Any, host: Any) -> None:
    """Replaces packed weights by an empty vector.

    They are only passed to a function that no longer reads them.
    """
    node.op = "Const"
    control = [ref for ref in node.input if ref.startswith("^")]
    node.attr.clear()
    node.attr["dtype"].type = tf.uint8.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([], tf.uint8, [0]))
    del node.input[:]
    node.input.extend(control)
    if host is not None:
        _nodes.rename_outputs(host, node.name, ("packed",))
