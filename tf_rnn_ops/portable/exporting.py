"""Rewriting for converters of graphs: which nodes become ordinary ops, which stay, and which become what."""

import os
from typing import Any

from tf_rnn_ops.portable import _rewrite
from tf_rnn_ops.portable._choice import KEEP, Choice, Facts, Instead
from tf_rnn_ops.portable._functions import lengths_of_rows
from tf_rnn_ops.portable._nodes import attribute
from tf_rnn_ops.portable._report import Report
from tf_rnn_ops.portable._saved_model import read, rewritten, write

__all__ = [
    "KEEP",
    "Choice",
    "Facts",
    "Instead",
    "attribute",
    "lengths_of_rows",
    "read",
    "rewrite_graph_def",
    "rewrite_saved_model",
    "write",
]


def rewrite_graph_def(graph_def: Any, choose: Choice) -> tuple[Any, Report]:
    """portable.rewrite_graph_def(inference=True) with a choice for each node.

    Args:
        graph_def: As there.
        choose: Called with the Facts of each forward node whose sizes the graph says.

    Returns:
        As there; nodes that `choose` keeps are not in the report.
    """
    return _rewrite.rewrite(graph_def, inference=True, choose=choose)


def rewrite_saved_model(
    source: str | os.PathLike, target: str | os.PathLike, choose: Choice
) -> Report:
    """portable.rewrite_saved_model(inference=True) without a check, and with a choice for each node.

    Args:
        source: As there.
        target: As there.
        choose: Called with the Facts of each forward node whose sizes the graph says.

    Returns:
        As there; nodes that `choose` keeps are not in the report.

    Raises:
        FileNotFoundError: As there.
        FileExistsError: As there.
        ValueError: As there.
    """

    with rewritten(source, target, lambda graph: rewrite_graph_def(graph, choose)) as (_, report):
        return report
