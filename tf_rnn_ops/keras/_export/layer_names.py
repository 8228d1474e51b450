"""The names of the layers whose nodes a graph has."""

import re
from typing import Any, Callable

import keras
import tensorflow as tf

from tf_rnn_ops.raw_ops.table import PREFIX


class LayerNames:
    """Finds the layer of a node. TensorFlow adds numbers to the names of layers, which also end in numbers.

    Example: in a graph of the layer 'lstm_1' of the layer 'pair', a node may be 'functional_1/pair_2/lstm_1_1/Op'.
    """

    def __init__(self, model: keras.Model) -> None:
        """Begins without calls.

        Args:
            model: The model, whose own name the names do not have.
        """
        self._model = model
        self._around: list[str] = []
        self._names: dict[str, str] = {}

    def run(self, original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        """Calls a layer, for layer_calls.replaced."""
        if layer is self._model:
            return original(layer, *args, **kwargs)
        graph, scope = tf.compat.v1.get_default_graph(), tf.get_current_name_scope()
        before = len(graph.get_operations())
        self._around.append(layer.name)
        try:
            result = original(layer, *args, **kwargs)
        finally:
            name = "/".join(self._around)
            self._around.pop()
        path = re.compile(
            re.escape(f"{scope}/" if scope else "") + re.escape(layer.name) + r"(_\d+)*(?=/)"
        )
        for op in graph.get_operations()[before:]:
            if found := path.match(op.name):
                self._names[found[0]] = name
        return result

    def of(self, node: str) -> str:
        """The names of the layers around a node and of its layer, such as 'pair/lstm_1'."""
        parts = node.split("/")
        for k in range(len(parts), 0, -1):
            if name := self._names.get("/".join(parts[:k])):
                # Keras calls some layers, such as that of TimeDistributed, without a scope of their own.
                inside = [part for part in parts[k:] if not part.startswith(PREFIX)]
                return "/".join([name, *inside])
        return node
