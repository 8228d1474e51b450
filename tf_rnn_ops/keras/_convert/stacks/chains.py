"""Chains of recurrent layers of Keras in functional and sequential models."""

import collections

import keras

from tf_rnn_ops.keras._convert.stacks.graph import Graph, given, has_graph, maskable
from tf_rnn_ops.keras._convert.stacks.keras_to_stack import (
    Chain,
    fits,
    is_recurrent,
    reason_against,
)
from tf_rnn_ops.keras._internals.layers import inner_layers
from tf_rnn_ops.params.keras.internals import flatten_layers

_CALL_ARGUMENTS = {"mask", "training", "initial_state"}


def find(model, is_rebuilt):
    """The chains in a model, each as long as possible.

    Args:
        model: A Keras 3 model.
        is_rebuilt: A function that tells whether a copy of a model can have other layers.

    Returns:
        A list of Chain.

    Raises:
        ValueError: There is no chain. The message tells why the first recurrent layer is not in a chain.
    """
    finder = _Finder(model, is_rebuilt)
    finder.visit(model)
    if not finder.chains:
        raise ValueError(
            f"convert: no stack computes what a recurrent layer of {model.name!r} does: "
            + next(iter(finder.reasons), "no functional or sequential model has such a layer")
            + "."
        )
    return finder.chains


class _Finder:
    """Looks for chains in a model and in the models inside of it.

    Attributes:
        chains: A list of Chain.
        reasons: The reason for each recurrent layer that is not in a chain.
    """

    def __init__(self, model, is_rebuilt):
        self.chains, self.reasons = [], []
        self._holders = collections.Counter(
            id(inner) for layer in flatten_layers(model) for inner in inner_layers(layer)
        )
        self._is_rebuilt, self._seen = is_rebuilt, set()
        self._maskable = maskable(model, is_rebuilt)

    def visit(self, model):
        """Looks for chains in a model and in the models inside of it."""
        if id(model) in self._seen or not self._is_rebuilt(model):
            return
        self._seen.add(id(model))
        if has_graph(model):
            self._find_in(Graph(model))
        for inner in model.layers:
            self.visit(inner)

    def _find_in(self, graph):
        taken = set()
        for node in graph.nodes:
            if not is_recurrent(node.operation) or id(node) in taken:
                continue
            nodes, dropouts = [node], []
            reason = self._reason(node, graph)
            while reason is None:
                after, between = _next_recurrent(graph, nodes[-1])
                if after is None or not self._continues(nodes, dropouts, after, between, graph):
                    break
                nodes.append(after)
                dropouts += [one.operation for one in between]
            last = nodes[-1]
            zeros = getattr(last.operation, "zero_output_for_mask", True)
            masked = given(last, "mask") is not None or id(last.operation) in self._maskable
            if last.operation.return_sequences and masked and not zeros:
                reason = reason or (
                    "repeats its last output in masked steps, but a stack returns 0 there; give it "
                    "zero_output_for_mask=True"
                )
            gives_zeros = getattr(last.operation, "zero_output_for_mask", False)
            if not last.operation.return_sequences and masked and gives_zeros:
                reason = reason or (
                    "returns 0 for sequences whose last step is masked, but a stack returns the output of "
                    "the last valid step; give it zero_output_for_mask=False"
                )
            if reason is not None:
                self.reasons.append(f"{node.operation.name!r} {reason}")
                continue
            taken.update(map(id, nodes))
            self.chains.append(Chain([one.operation for one in nodes], dropouts))

    def _reason(self, node, graph):
        layer = node.operation
        if self._holders[id(layer)] > 1 or graph.calls[id(layer)] > 1:
            return "is used at several places of the model"
        if len(node.arguments.args) != 1 or not set(node.arguments.kwargs) <= _CALL_ARGUMENTS:
            return "is called with more than one tensor"
        if given(node, "initial_state") is not None:
            return "is called with an initial_state"
        return reason_against(layer)

    def _continues(self, nodes, dropouts, after, between, graph):
        """Whether a node continues the chain of `nodes`.

        Between any two layers there is one Dropout, or none.
        """
        first, last = nodes[0], nodes[-1]
        if not last.operation.return_sequences or self._reason(after, graph) is not None:
            return False
        layers = [one.operation for one in between]
        rates = {layer.rate for layer in (*dropouts, *layers)}
        if len(layers) > 1 or len(dropouts) + len(layers) not in (0, len(nodes)) or len(rates) > 1:
            return False
        if any(self._holders[id(layer)] > 1 or graph.calls[id(layer)] > 1 for layer in layers):
            return False
        if any(_training(one) is not _training(first) for one in between):
            return False
        same = all(given(first, name) is given(after, name) for name in ("mask", "training"))
        return same and fits(first.operation, after.operation)


def _next_recurrent(graph, node):
    """The only node that uses the output of a node, directly or behind Dropout, and the nodes of Dropout."""
    between = []
    while True:
        users = graph.users[id(node.outputs[0])]
        if len(users) != 1 or users[0] is None:
            return None, []
        (node,) = users
        layer = node.operation
        if is_recurrent(layer):
            return node, between
        if type(layer) is not keras.layers.Dropout or layer.noise_shape is not None:
            return None, []
        between.append(node)


def _training(node):
    """The argument `training` of a call. Its default is False for some layers and None for others."""
    value = given(node, "training")
    return None if value is False else value
