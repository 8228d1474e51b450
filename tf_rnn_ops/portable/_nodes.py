"""Nodes of a graph: their inputs, attributes and replacements."""

from typing import Any, Mapping, Sequence

import tensorflow as tf

from tf_rnn_ops.raw_ops.table import signature

# {type of an attribute: (field of AttrValue, name of the type in the op registry)}.
_KINDS = {bool: ("b", "bool"), int: ("i", "int"), float: ("f", "float"), str: ("s", "string")}


class CannotRewrite(ValueError):
    """The error for a node that cannot be replaced. The message has no full stop."""


def all_nodes(graph_def: Any) -> list[Any]:
    """The nodes of a graph and of its functions."""
    functions = graph_def.library.function
    return [*graph_def.node, *(node for function in functions for node in function.node_def)]


def data_inputs(node: Any) -> list[str]:
    """The inputs of a node without control inputs."""
    return [ref for ref in node.input if not ref.startswith("^")]


def attribute(node: Any, name: str, default: Any) -> Any:
    """An attribute of a node as a Python object, or the default for an attribute that an older model lacks."""
    if name not in node.attr:
        return default
    value = node.attr[name]
    kind = value.WhichOneof("value")
    content = getattr(value, kind)
    return content.decode() if kind == "s" else content


def attributes(node: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that `defaults` names."""
    return {name: attribute(node, name, value) for name, value in defaults.items()}


def constant(nodes: Mapping[str, Any], ref: str) -> Any:
    """The Const node of a tensor, behind Identity and StopGradient nodes; None for another tensor.

    `nodes`: {name: node} of the graph or function.
    """
    node = nodes.get(ref.split(":")[0])
    while node is not None and node.op in ("Identity", "StopGradient"):
        node = nodes.get(node.input[0].split(":")[0])
    return node if node is not None and node.op == "Const" else None


def dtype_of(node: Any) -> tf.DType:
    """The type of a node's tensors."""
    if "T" not in node.attr or not node.attr["T"].type:
        raise CannotRewrite("its attribute T is missing")
    return tf.as_dtype(node.attr["T"].type)


def check(node: Any) -> None:
    """Raises CannotRewrite if the inputs and attributes of a node do not fit its op."""
    op = signature(node.op)
    count, wanted = len(data_inputs(node)), len(op.inputs)
    if count != wanted and "weights" not in op.inputs:  # `weights` is a list
        raise CannotRewrite(f"it has {count} inputs, but the op has {wanted}")
    kinds = {"T": ("type", "type"), "S": ("type", "type")}
    for name, value in op.attrs.items():
        kinds[name] = _KINDS[value if isinstance(value, type) else type(value)]
    for name, (field, kind) in kinds.items():
        if name in node.attr and node.attr[name].WhichOneof("value") != field:
            raise CannotRewrite(f"its attribute {name} is not of type {kind}")


def replace_by_call(node: Any, stand_in: Any, outputs: Sequence[str], host: Any) -> None:
    """Replaces a node by a call of a StandIn.

    `outputs`: the names of the op's outputs. `host`: the function around the node, or None.
    """
    # Attributes that begin with an underscore belong to the node, not to its op.
    kept = {name: value for name, value in node.attr.items() if name.startswith("_")}
    kept_values = [
        (name, type(value).FromString(value.SerializeToString())) for name, value in kept.items()
    ]
    node.op = stand_in.op
    node.attr.clear()
    for name, value in [*kept_values, *stand_in.attrs.items()]:
        node.attr[name].CopyFrom(value)
    if host is not None:
        rename_outputs(host, node.name, outputs)


def rename_outputs(host: Any, node: str, outputs: Sequence[str]) -> None:
    """Renames the outputs of a node in a function, where a tensor has the name of the op's output.

    A call has one list of outputs.
    """
    new = {f"{node}:{output}:0": f"{node}:output:{k}" for k, output in enumerate(outputs)}
    for user in host.node_def:
        for k, ref in enumerate(user.input):
            user.input[k] = new.get(ref, ref)
    for name, ref in host.ret.items():
        host.ret[name] = new.get(ref, ref)
