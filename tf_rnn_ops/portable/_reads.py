"""Finds the nodes and the outputs of nodes that the results of a graph depend on."""

from typing import Any, Iterable, Mapping, Sequence


class Reads:
    """The tensors that are read in one graph or function.

    Args:
        nodes: Its NodeDefs.
        host: Its FunctionDef; None for a graph, in which all nodes count as results.
    """

    def __init__(self, nodes: Iterable[Any], host: Any) -> None:
        self._nodes = {node.name: node for node in nodes}
        returned = [] if host is None else [*host.ret.values(), *host.control_ret.values()]
        live = self._nodes if host is None else reachable(self._nodes, returned)
        self._read = {ref for name in live for ref in self._nodes[name].input} | set(returned)

    def outputs(self, node: Any, names: Sequence[str]) -> frozenset[str]:
        """The outputs of a node that are read. `names`: the names of the outputs of the node's op."""
        refs = {f"{node.name}:{name}:0": name for name in names}
        refs |= {f"{node.name}:{k}": name for k, name in enumerate(names)}
        refs[node.name] = names[0]
        return frozenset(name for ref, name in refs.items() if ref in self._read)


def reachable(
    nodes: Mapping[str, Any], refs: Iterable[str], with_control: bool = True
) -> dict[str, Any]:
    """The nodes that some tensors depend on, as {name: node}.

    Args:
        nodes: {name: NodeDef} of a graph or function.
        refs: The input strings of the tensors.
        with_control: Whether to follow control inputs.
    """
    reached: dict[str, Any] = {}
    waiting = list(refs)
    while waiting:
        ref = waiting.pop()
        name = ref.removeprefix("^").split(":")[0]
        if name in nodes and name not in reached and (with_control or not ref.startswith("^")):
            reached[name] = nodes[name]
            waiting += nodes[name].input
    return reached
