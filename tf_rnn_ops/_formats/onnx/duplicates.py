"""Merges equal nodes of a GraphDef, such as the computations on one mask for two directions."""

import tensorflow as tf

from tf_rnn_ops.native.tf_internals import registries


def merged(graph_def, kept):
    """A graph in which nodes with the same op, attributes and inputs are one.

    The graph has no control inputs, since tf2onnx ignores them, and nodes that only differ in them are
    equal.

    Args:
        graph_def: A GraphDef; it is not changed.
        kept: Names of nodes that keep their names.

    Returns:
        A GraphDef.
    """
    if any(node.op == "NextIteration" for node in graph_def.node):
        return graph_def  # in loops of TensorFlow 1, equal nodes may belong to different steps
    functions = _equal_functions(graph_def.library.function)
    result = type(graph_def)()
    result.CopyFrom(graph_def)
    del result.node[:]
    stands_for, seen, kept = {}, {}, set(kept)
    for node in in_order(graph_def.node):
        copy = result.node.add()
        copy.CopyFrom(node)
        copy.input[:] = _renamed(node.input, stands_for)
        if node.name in kept or not _is_pure(node):
            continue
        key = _key(copy, functions)
        if key in seen:
            stands_for[node.name] = seen[key]
            del result.node[-1]
        else:
            seen[key] = node.name
    return result


def _renamed(refs, names):
    """The inputs of a node with renamed nodes, and without control inputs."""
    parts = [ref.split(":") for ref in refs if not ref.startswith("^")]
    return [":".join([names.get(name, name), *output]) for name, *output in parts]


def _key(node, functions):
    """A key that equal nodes have in common. `functions`: {name of a function: name of an equal function}."""
    attrs = []
    for name, value in sorted(node.attr.items()):
        if name.startswith("_"):
            continue
        if value.WhichOneof("value") == "func":
            attrs.append((name, functions.get(value.func.name, value.func.name)))
        else:
            attrs.append((name, value.SerializeToString(deterministic=True)))
    return node.op, node.device, tuple(node.input), tuple(attrs)


def _is_pure(node):
    op_def = registries.op_def(node.op)
    # WHY not lists: tf2onnx assumes that each list is filled by its own loop.
    if op_def is None or node.op.startswith(("Placeholder", "TensorList")):
        return False
    return not op_def.is_stateful


def in_order(nodes):
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


def _equal_functions(functions):
    """{name of a function: name of the first equal function}."""
    seen = {}
    return {
        function.signature.name: seen.setdefault(_body(function), function.signature.name)
        for function in functions
    }


def _body(function):
    """A key that functions have in common if they only differ in names."""
    names = {arg.name: f"a{k}" for k, arg in enumerate(function.signature.input_arg)}
    names |= {node.name: f"n{k}" for k, node in enumerate(function.node_def)}
    nodes = []
    for node in function.node_def:
        copy = tf.compat.v1.NodeDef()
        copy.CopyFrom(node)
        copy.input[:] = _renamed(node.input, names)
        nodes.append(_key(copy, {}))
    types = [arg.type for arg in function.signature.input_arg]
    outputs = _renamed([function.ret[arg.name] for arg in function.signature.output_arg], names)
    return tuple(types), tuple(nodes), tuple(outputs)
