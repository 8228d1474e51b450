"""Calls of functions that XLA must compile, which converters do not replace by the ops of the function.

Keras calls such a function for a convolution in groups.
"""

from typing import Any

_MARK = "_XlaMustCompile"


def release(graph_def: Any) -> bool:
    """Removes the marks, which change no result, so that the calls become ordinary calls.

    Args:
        graph_def: A GraphDef with its library. It changes.

    Returns:
        Whether there was a mark.
    """
    functions = graph_def.library.function
    nodes = [*graph_def.node, *(node for function in functions for node in function.node_def)]
    found = [thing.attr for thing in [*nodes, *functions] if _MARK in thing.attr]
    for attributes in found:
        del attributes[_MARK]
    return bool(found)
