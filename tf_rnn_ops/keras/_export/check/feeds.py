"""The data to compare a model with the file that was made of it."""

from typing import Any, Callable

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops._comparison import random_batch
from tf_rnn_ops.keras._export import signatures
from tf_rnn_ops.keras._export.streaming.stream import NEXT, Stream

# The number of calls of a file for streaming.
_CALLS = 4
# Another batch for a file with whole sequences, if its sizes are open.
_OTHER_SIZES = {"batch_size": 1, "time": 4, "seed": 1}


class Batch:
    """Calls of a file with whole sequences.

    Attributes:
        calls: A list with the arguments of the model for each call.
        first_arguments: The arguments of the first call.
        first_feed: The inputs of the file by name for the first call.
        note: Empty.
    """

    note = ""

    def __init__(self, model: keras.Model, signature: list, given: Any) -> None:
        """Checks the given batch, or makes up batches.

        Args:
            model: The model.
            signature: A list with a structure of tf.TensorSpec for each argument.
            given: The argument verify_inputs of export(), or its arrays.
        """
        self._signature = signature
        # The first call again, since a runtime may keep something of the calls before.
        if given is None:
            first = _random(model, signature)
            self.calls = [first, _random(model, signature, **_OTHER_SIZES), first]
        else:
            batches = _cut(signature, given)
            self.calls = [_given(signature, batch) for batch in batches]
            self.calls += [self.calls[0]] * max(1, 3 - len(self.calls))
        self.first_arguments = self.calls[0]
        self.first_feed = _by_name(signature, self.first_arguments)

    def results(
        self, call: Callable, arguments: Any, want: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """The results of the file.

        Args:
            call: A function that runs the file.
            arguments: An element of `calls`.
            want: The results of the model.
        """
        del want
        return call(_by_name(self._signature, arguments))


class Steps:
    """A sequence for the model, and the calls of a file for parts of this sequence.

    Attributes:
        calls: A list with the arguments of the model, for all steps and with states of 0.
        first_arguments: The arguments of the model for the first call.
        first_feed: The inputs of the file by name for the first call.
        note: A sentence on a sequence that was repeated; otherwise empty.
    """

    def __init__(self, model: keras.Model, stream: Stream, given: Any) -> None:
        """Checks the given sequence, or makes up a sequence.

        Args:
            model: The model that was given to export().
            stream: The streaming.Stream of the copy of the model.
            given: The argument verify_inputs of export(), or its arrays.
        """
        self._stream = stream
        count = len(stream.signature) - stream.has_own_states
        self._signature = stream.signature[:count]
        calls = _CALLS if given is None else None
        longer = keras.tree.map_structure(lambda spec: self._longer(spec, calls), self._signature)
        arguments = _random(model, longer) if given is None else _given(longer, given)
        arguments = keras.tree.map_structure(self._begun, self._signature, arguments)
        self._calls, self.note = self._count_calls(arguments), ""
        if self._calls == 1 and stream.sequences:
            # WHY: one call shows nothing of the states that later calls get.
            self._calls = _CALLS
            arguments = keras.tree.map_structure(self._repeated, self._signature, arguments)
            self.note = (
                f"verify_inputs has the steps of one call, so they were repeated in {_CALLS} calls."
            )
        # Twice, since a runtime may keep something of the calls before.
        self.calls = [arguments, arguments]
        self._arrays = _by_name(self._signature, arguments)
        self.first_arguments = keras.tree.map_structure(self._piece, self._signature, arguments)
        self.first_feed = self._feed(0, self._initial_states())

    def _longer(self, spec: tf.TensorSpec, calls: int | None) -> tf.TensorSpec:
        """The spec of a sequence for `calls` calls; with None, for any number of calls."""
        if spec.name not in self._stream.sequences:
            return spec
        steps = calls and calls * spec.shape[1]
        return tf.TensorSpec([spec.shape[0], steps, *spec.shape[2:]], spec.dtype, spec.name)

    def _begun(self, spec: tf.TensorSpec, array: np.ndarray) -> np.ndarray:
        return np.zeros_like(array) if spec.name in self._stream.states else array

    def _repeated(self, spec: tf.TensorSpec, array: np.ndarray) -> np.ndarray:
        return np.concatenate([array] * _CALLS, 1) if spec.name in self._stream.sequences else array

    def _count_calls(self, arguments: Any) -> int:
        arrays, counts = _by_name(self._signature, arguments), set()
        for spec in keras.tree.flatten(self._signature):
            if spec.name in self._stream.sequences:
                steps = arrays[spec.name].shape[1]
                if steps % spec.shape[1] or not steps:
                    raise ValueError(
                        f"verify_inputs must have a multiple of the {spec.shape[1]} steps of a call, but "
                        f"{spec.name!r} has {steps} steps."
                    )
                counts.add(steps // spec.shape[1])
        if len(counts) > 1:
            raise ValueError(
                "All sequences in verify_inputs must have the same number of steps, but they have steps for "
                f"{' and for '.join(map(str, sorted(counts)))} calls."
            )
        return counts.pop() if counts else 1

    def _piece(self, spec: tf.TensorSpec, array: np.ndarray, k: int = 0) -> np.ndarray:
        return np.split(array, self._calls, 1)[k] if spec.name in self._stream.sequences else array

    def results(
        self, call: Callable, arguments: Any, want: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """The results of all calls of the file, joined.

        Args:
            call: A function that runs the file once.
            arguments: An element of `calls`, which are equal.
            want: The results of the model. Their shapes tell which results have one value for each step.
        """
        del arguments
        states, found = self._initial_states(), []
        for k in range(self._calls):
            found.append(call(self._feed(k, states)))
            states = {name: found[-1][f"{name}{NEXT}"] for name in states}
        names = {output: f"{name}{NEXT}" for name, output in self._stream.states.items()}
        return {
            output: _joined([r[names.get(output, output)] for r in found], want[output])
            for output in want
        }

    def _initial_states(self) -> dict[str, np.ndarray]:
        states = {name: a for name, a in self._arrays.items() if name in self._stream.states}
        rows = next(iter(self._arrays.values())).shape[0]
        for spec in self._stream.signature[-1].values() if self._stream.has_own_states else ():
            states[spec.name] = np.zeros([rows, *spec.shape[1:]], spec.dtype.as_numpy_dtype)
        return states

    def _feed(self, k: int, states: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        specs = keras.tree.flatten(self._signature)
        return {spec.name: self._piece(spec, self._arrays[spec.name], k) for spec in specs} | states


def _random(model: keras.Model, signature: list, **sizes: Any) -> Any:
    return _refuse_empty(signature, random_batch.batch_for(model, signature, **sizes))


def _given(signature: list, batch: Any) -> Any:
    return _refuse_empty(signature, signatures.arguments(signature, batch))


def _refuse_empty(signature: list, arguments: Any) -> Any:
    for name, array in _by_name(signature, arguments).items():
        # WHY: there is nothing to compare, and ONNX Runtime ends the process at a batch without rows.
        if not array.size:
            raise ValueError(
                f"verify_inputs must not be empty, but {name!r} has the shape {array.shape}."
            )
    return arguments


def _cut(signature: list, batch: Any) -> list:
    """A list of batches of the known batch size of a signature that together are the batch."""
    wanted = {spec.shape[0] for spec in keras.tree.flatten(signature) if spec.shape.rank}
    given = {np.shape(array)[0] for array in keras.tree.flatten(batch) if np.ndim(array)}
    if len(wanted) == len(given) == 1:
        (size,), (rows,) = wanted, given
        if size and rows > size and rows % size == 0:
            cuts = range(0, rows, size)
            return [
                keras.tree.map_structure(lambda a: a[k : k + size] if np.ndim(a) else a, batch)
                for k in cuts
            ]
    return [batch]


def _by_name(signature: list, arguments: Any) -> dict[str, Any]:
    return {spec.name: a for spec, a in zip(*map(keras.tree.flatten, (signature, arguments)))}


def _joined(pieces: list[np.ndarray], want: np.ndarray) -> np.ndarray:
    """Joins the pieces of a result with one value for each step.

    For other results it returns the last piece.
    """
    of_steps = want.ndim > 1 and sum(piece.shape[1] for piece in pieces) == want.shape[1]
    return np.concatenate(pieces, 1) if of_steps else pieces[-1]
