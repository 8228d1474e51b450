"""Graphs and their saved forms."""

from typing import Any

from tf_rnn_ops.native.tf_internals.lookup import need, want

_FUNCTIONS = "tensorflow.python.framework.function_def_to_graph:function_def_to_graph_def"
_OPS = "tensorflow.python.framework.ops:"
_META_GRAPHS = "a table or an iterator beside a tf_rnn_ops.contrib layer cannot go into a MetaGraph"


def graph_of_function(function_def: Any) -> tuple[Any, dict[str, str]]:
    """The body of a function as a graph.

    Needs function_def_to_graph_def() of framework.function_def_to_graph. Without it tf_rnn_ops.portable
    raises RuntimeError if a model does not record the shapes in functions.

    Returns:
        A GraphDef, and {name of a tensor in the function: its name in the graph}.
    """
    return need(_FUNCTIONS, "tf_rnn_ops.portable cannot find shapes in functions")(function_def)


def without_scope(name: str, scope: str) -> str:
    """A name in a graph without the scope that is exported.

    Needs strip_name_scope() of framework.ops. Without it the export of a table of SAVEABLE_OBJECTS raises RuntimeError.
    """
    return need(f"{_OPS}strip_name_scope", _META_GRAPHS)(name, scope)


def with_scope(name: str, scope: str) -> str:
    """A name in a graph with the scope into which it is imported.

    Needs prepend_name_scope() of framework.ops. Without it the import of a table of SAVEABLE_OBJECTS raises RuntimeError.
    """
    return need(f"{_OPS}prepend_name_scope", _META_GRAPHS)(name, scope)


def register_collection(key: Any, proto_type: Any, to_proto: Any, from_proto: Any) -> None:
    """Registers the functions that write and read a collection in a MetaGraph, unless they are registered.

    Needs get_to_proto_function() and register_proto_function() of framework.ops. Without them this warns.
    """
    known = want(f"{_OPS}get_to_proto_function", _META_GRAPHS)
    register = want(f"{_OPS}register_proto_function", _META_GRAPHS)
    if known is not None and register is not None and known(key) is None:
        register(key, proto_type, to_proto, from_proto)
