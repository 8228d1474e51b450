"""States that a model keeps in variables, which the file of a runtime would forget."""

from typing import Any, Iterable

from tf_rnn_ops.portable import per_node


def refuse(functions: Iterable[Any]) -> None:
    """Raises ValueError if a function changes a variable that its results depend on.

    Others may change: Keras draws the masks of dropout, and so a new seed, in inference too.

    Args:
        functions: The FunctionDefs that a signature runs.
    """
    for function in functions:
        read = _read_for_results(function)
        for node in function.node_def:
            if node.op.startswith("Assign") and node.input[0] in read:
                raise ValueError(
                    f"The signature keeps a state in a variable (node {node.name!r}), but the file would keep "
                    "nothing between calls: make states inputs and outputs of the model, as streaming=True of "
                    "tf_rnn_ops.keras.export does."
                )


def drop(graph_def: Any) -> bool:
    """Removes all changes of variables from the functions of a GraphDef, for a signature that `refuse` accepts.

    WHY: TensorFlow cannot freeze them. tf2onnx then warns, removes them and tries again, and TensorFlow prints a
    traceback for each function of the first attempt.

    Args:
        graph_def: A GraphDef; it is changed.

    Returns:
        Whether there are any.
    """
    found = False
    for function in graph_def.library.function:
        gone = {node.name for node in function.node_def if node.op.startswith("Assign")}
        if gone:
            _without(function, gone)
            found = True
    return found


def _without(function: Any, gone: set[str]) -> None:
    """Removes nodes without outputs from a function."""
    nodes = [node for node in function.node_def if node.name not in gone]
    for node in nodes:
        kept = [name for name in node.input if name.removeprefix("^") not in gone]
        del node.input[:]
        node.input.extend(kept)
    del function.node_def[:]
    function.node_def.extend(nodes)
    for name in [name for name, node in function.control_ret.items() if node in gone]:
        del function.control_ret[name]
        function.signature.control_output.remove(name)


def _read_for_results(function: Any) -> set[str]:
    """The inputs of all nodes that the results are computed from."""
    results = function.ret.values()
    nodes = {node.name: node for node in function.node_def}
    live = per_node.reachable(nodes, results, with_control=False).values()
    return {*results, *(ref for node in live for ref in node.input)}
