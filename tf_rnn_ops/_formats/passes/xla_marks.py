"""Calls of functions that XLA must compile, which converters do not replace by the ops of the function.

Keras calls such a function for a convolution in groups.
"""

from typing import Any

from tf_rnn_ops.portable import per_node

_MARK = "_XlaMustCompile"


def release(graph_def: Any) -> bool:
    """Removes the marks, which change no result, so that the calls become ordinary calls.

    Args:
        graph_def: A GraphDef with its library. It changes.

    Returns:
        Whether there was a mark.
    """
    owners = [*per_node.all_nodes(graph_def), *graph_def.library.function]
    marked = [owner for owner in owners if _MARK in owner.attr]
    for owner in marked:
        del owner.attr[_MARK]
    return bool(marked)
