"""States that a model keeps in variables, which the file of a runtime would forget."""

from typing import Any, Iterable


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


def _read_for_results(function):
    """The inputs of all nodes that the results are computed from."""
    nodes = {node.name: node for node in function.node_def}
    waiting, seen, read = list(function.ret.values()), set(), set()
    while waiting:
        ref = waiting.pop()
        read.add(ref)
        node = nodes.get(ref.split(":")[0])
        if node is not None and node.name not in seen:
            seen.add(node.name)
            waiting += [name for name in node.input if not name.startswith("^")]
    return read
