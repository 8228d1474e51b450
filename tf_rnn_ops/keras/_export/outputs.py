"""The outputs of a model, by their names in a file."""

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops.export import formats

# The formats in which an input and an output cannot have one name.
_ONE_NAMESPACE = ("onnx", "openvino")


class Outputs:
    """The outputs of a model in a file of a format.

    Attributes:
        notes: Sentences on outputs that have another name in the file.
    """

    def __init__(self, model, format):
        """Stores what the names depend on.

        Args:
            model: The model.
            format: The format of the file.
        """
        self._apart = format in _ONE_NAMESPACE
        # WHY not always: the endpoint of a SavedModel returns the structure of the model.
        self._flat = format != formats.SAVED_MODEL
        self._known = getattr(model, "output", None)
        self._renamed = {}
        self.notes = []

    def of(self, function, signature):
        """The function to export for a function of the arguments of a signature."""
        if not self._flat and self._known is not None and not _is_nested(self._known):
            return function
        inputs = {spec.name for spec in keras.tree.flatten(signature)}

        def flat(*arguments):
            results = function(*arguments)
            if not self._flat and not _is_nested(results):
                return results
            results = named(results)
            for name in sorted(inputs & results.keys()) if self._apart else ():
                self._rename(name, inputs | results.keys())
            # An output that is an input would be one tensor with two names.
            return {self._renamed.get(n, n): tf.identity(one) for n, one in results.items()}

        return flat

    def _rename(self, name, taken):
        if name in self._renamed:
            return
        new, taken = f"{name}_out", {*taken, *self._renamed.values()}
        while new in taken:
            new = f"{new}_out"
        self._renamed[name] = new
        self.notes.append(
            f"The output {name!r} is named {new!r} in the file, because an input has its name."
        )

    def results(self, outputs):
        """{name in the file: output of the model, as an array}."""
        return {self._renamed.get(n, n): np.asarray(one) for n, one in named(outputs).items()}


def named(outputs):
    """{name in a signature: output of the model}."""
    if isinstance(outputs, dict) and not any(map(keras.tree.is_nested, outputs.values())):
        return dict(outputs)
    return {f"output_{k}": one for k, one in enumerate(keras.tree.flatten(outputs))}


def _is_nested(outputs):
    """Whether outputs are not a tensor, a list or a dict of tensors."""
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    return isinstance(outputs, (list, tuple)) and any(map(keras.tree.is_nested, outputs))
