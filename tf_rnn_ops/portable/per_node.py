"""Rewriting for converters of graphs, which decide on the replacement of each node."""

import os
from typing import Any, Callable

from tf_rnn_ops.portable import _rewrite
from tf_rnn_ops.portable._adding import Adding, hosts
from tf_rnn_ops.portable._block_versions import as_ours
from tf_rnn_ops.portable._decision import Decision, Keep, Loop, NodeInfo, Replace
from tf_rnn_ops.portable._dequantize import dequantized
from tf_rnn_ops.portable._functions import lengths_of_rows
from tf_rnn_ops.portable._nodes import all_nodes, attribute, constant
from tf_rnn_ops.portable._reads import reachable
from tf_rnn_ops.portable._report import Report
from tf_rnn_ops.portable._saved_model import read, rewritten, write

__all__ = [
    "Adding",
    "Decision",
    "Keep",
    "Loop",
    "NodeInfo",
    "Replace",
    "all_nodes",
    "as_ours",
    "attribute",
    "constant",
    "dequantized",
    "hosts",
    "lengths_of_rows",
    "read",
    "reachable",
    "rewrite_graph_def",
    "rewrite_saved_model",
    "write",
]


def rewrite_graph_def(graph_def: Any, decide: Callable[[NodeInfo], Decision]) -> tuple[Any, Report]:
    """portable.rewrite_graph_def(inference=True) with a decision on each node, also for TensorFlow's BlockLSTM ops.

    Args:
        graph_def: See portable.rewrite_graph_def().
        decide: A function of the NodeInfo of a forward node. It is called for each node whose sizes the graph
            determines.

    Returns:
        See portable.rewrite_graph_def(). Nodes that `decide` keeps are not in the report.
    """
    return _rewrite.rewrite(dequantized(as_ours(graph_def)), inference=True, decide=decide)


def rewrite_saved_model(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    decide: Callable[[NodeInfo], Decision],
) -> Report:
    """portable.rewrite_saved_model(inference=True) without a check, and with a decision on each node.

    Args:
        source: See portable.rewrite_saved_model().
        target: See portable.rewrite_saved_model().
        decide: A function of the NodeInfo of a forward node. It is called for each node whose sizes the graph
            determines.

    Returns:
        See portable.rewrite_saved_model(). Nodes that `decide` keeps are not in the report.

    Raises:
        FileNotFoundError: See portable.rewrite_saved_model().
        FileExistsError: See portable.rewrite_saved_model().
        ValueError: See portable.rewrite_saved_model().
    """

    with rewritten(source, target, lambda graph: rewrite_graph_def(graph, decide)) as (_, report):
        return report
