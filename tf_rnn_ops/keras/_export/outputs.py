"""The outputs of a model, by their names in a file."""

from typing import Any, Callable

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops._comparison.differences import array_of
from tf_rnn_ops._formats import formats


class Outputs:
    """The outputs of a model in a file of a format."""

    def __init__(self, model: keras.Model, format: str) -> None:
        """Stores what the names depend on.

        Args:
            model: The model.
            format: The format of the file.
        """
        self._apart = format in formats.ONE_NAMESPACE
        # WHY not always: the endpoint of a SavedModel returns the structure of the model.
        self._flat = format != formats.SAVED_MODEL
        self._known = getattr(model, "output", None)
        self._renamed: dict[str, str] = {}

    def notes(self) -> list[str]:
        """Sentences on outputs that have another name in the file."""
        return formats.notes_on(self._renamed)

    def of(self, function: Callable, signature: list) -> Callable:
        """The function to export for a function of the arguments of a signature."""
        if not self._flat and self._known is not None and not _is_nested(self._known):
            return function
        inputs = {spec.name for spec in keras.tree.flatten(signature)}

        def flat(*arguments: Any) -> Any:
            results = function(*arguments)
            if not self._flat and not _is_nested(results):
                return results
            results = named(results)
            if self._apart:
                self._renamed = formats.names_apart(inputs, results)
            # An output that is an input would be one tensor with two names.
            return {self._renamed.get(n, n): tf.identity(one) for n, one in results.items()}

        return flat

    def results(self, outputs: Any) -> dict[str, np.ndarray]:
        """{name in the file: output of the model, as an array}."""
        return {self._renamed.get(n, n): array_of(one) for n, one in named(outputs).items()}


def named(outputs: Any) -> dict[str, Any]:
    """{name in a signature: output of the model}."""
    if isinstance(outputs, dict) and not any(map(keras.tree.is_nested, outputs.values())):
        return dict(outputs)
    return {f"output_{k}": one for k, one in enumerate(keras.tree.flatten(outputs))}


def _is_nested(outputs: Any) -> bool:
    """Whether outputs are not a tensor, a list or a dict of tensors."""
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    return isinstance(outputs, (list, tuple)) and any(map(keras.tree.is_nested, outputs))
