"""Makes the line of a failing model shorter."""

import dataclasses

from robustness.model_problem import grammar


def shrink(network, fails):
    """A network that fails and of which no part can be left out.

    Args:
        network: A Network that fails.
        fails: A function of a Network.
    """
    again = True
    while again:
        again = False
        for smaller in _smaller(network):
            if smaller != network and fails(smaller):
                network, again = smaller, True
                break
    return network


def _smaller(network):
    """The networks with one layer or output less, or the default of one key."""
    count = len(network.layers)
    for k in range(count if count > 1 else 0):
        parts = {
            key: _without(getattr(network, key), k) for key in ("layers", "direction", "units")
        }
        yield grammar.fitting(dataclasses.replace(network, **parts))
    for k in range(len(network.outputs) if len(network.outputs) > 1 else 0):
        yield dataclasses.replace(network, outputs=_without(network.outputs, k))
    default = grammar.fitting(grammar.Network(layers=network.layers))
    for field in dataclasses.fields(network):
        if field.name not in ("layers", "format"):
            yield dataclasses.replace(network, **{field.name: getattr(default, field.name)})
    for k, layer in enumerate(network.layers):
        if layer not in ("lstm", "gru"):
            for simple in ("lstm", "gru"):
                layers = (*network.layers[:k], simple, *network.layers[k + 1 :])
                yield dataclasses.replace(network, layers=layers)


def _without(values, k):
    return values[:k] + values[k + 1 :]
