"""Finds the outputs of nodes that the results of a graph depend on."""


class Reads:
    """The tensors that are read in one graph or function.

    Args:
        nodes: Its NodeDefs.
        host: Its FunctionDef; None for a graph, in which all nodes count as results.
    """

    def __init__(self, nodes, host):
        self._nodes = {node.name: node for node in nodes}
        returned = [] if host is None else [*host.ret.values(), *host.control_ret.values()]
        live = self._nodes if host is None else self._reachable(returned)
        self._read = {ref for name in live for ref in self._nodes[name].input} | set(returned)

    def outputs(self, node, names):
        """The outputs of a node that are read. `names`: the names of the outputs of the node's op."""
        refs = {f"{node.name}:{name}:0": name for name in names}
        refs |= {f"{node.name}:{k}": name for k, name in enumerate(names)}
        refs[node.name] = names[0]
        return frozenset(name for ref, name in refs.items() if ref in self._read)

    def _reachable(self, refs):
        found, waiting = set(), list(refs)
        while waiting:
            name = waiting.pop().removeprefix("^").split(":")[0]
            if name in self._nodes and name not in found:
                found.add(name)
                waiting += self._nodes[name].input
        return found
