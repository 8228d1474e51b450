"""Runs an exported file and its model on the same calls, and compares the results."""

import contextlib
import statistics
import time
from typing import Any, Callable, Iterator, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops._comparison import differences
from tf_rnn_ops._comparison.differences import LIMITS, Comparison, Limits
from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.keras._export import time_axes
from tf_rnn_ops.keras._export.check import feeds
from tf_rnn_ops.keras._export.check.int8_error import Int8Error, is_quantized
from tf_rnn_ops.keras._export.outputs import Outputs
from tf_rnn_ops.keras._export.streaming.stream import Stream
from tf_rnn_ops.keras._internals.layers import flatten_layers
from tf_rnn_ops.keras._report.progress import Progress
from tf_rnn_ops.keras._report.timing import take_turns

# With int8 weights: the part of integers that may differ, and the allowed relative difference of a model whose
# int8 error is not known.
_OF_INT8 = 0.1
# With a known int8 error of the model: its multiple that a format's int8 may add, and a relative difference. WHY
# both: ONNX Runtime has 7 bits and LiteRT one scale a matrix, and the error of a few numbers may be small by chance.
# On outputs of 2 to 6 numbers the difference was up to 6 times the error, and 0.016 of the scale.
_INT8_ERRORS, _OF_KNOWN_INT8 = 4.0, 0.03
# The largest number of timed calls, and the seconds for them.
_REPEATS, _SECONDS = 20, 2.0


class File(NamedTuple):
    """An exported file.

    Attributes:
        called: Its Stream, or its signature.
        load: A function that loads it; see formats.Writer.
        in_int8: Whether it has int8 weights that the model does not have.
        in_float32: Whether its runtime computes float64 in float32.
    """

    called: Any
    load: Callable[[], Callable]
    in_int8: bool
    in_float32: bool


def verify(
    model: keras.Model,
    file: File,
    outputs: Outputs,
    given: Any,
    tolerance: float | None,
    progress: Progress,
) -> dict[str, Any]:
    """Compares a file with its model.

    Args:
        model: The model.
        file: The File.
        outputs: The Outputs of the file.
        given: The argument verify_inputs of export(), or its arrays.
        tolerance: The argument of export().
        progress: A Progress.

    Returns:
        Attributes of Exported.

    Raises:
        ValueError: The file or the model does not run, or the results differ by more than is allowed.
    """
    streams = isinstance(file.called, Stream)
    feed = (feeds.Steps if streams else feeds.Batch)(model, file.called, given)
    reference = _Reference(model, file, outputs, tolerance)
    compared, notes = [], []
    with _states_kept(model) as states:
        call = _loaded(file.load)
        for k, arguments in enumerate(feed.calls):
            before = states.values()
            progress.show(f"checking the file: call {k + 1} of {len(feed.calls)}")
            try:
                want = reference.results(arguments)
            except Exception as error:  # the layers of a model raise errors of any kind
                if k == 0 or given is not None:
                    raise _not_run(f"The model {model.name!r}", arguments, error) from error
                notes.append(
                    f"The model does not run on other sizes, such as {_shapes(arguments)}."
                )
                continue
            got = _results_of_file(feed, call, arguments, want)
            comparison = reference.compare(got, want, arguments)
            if not comparison.ok:
                states.set(before)
                comparison = reference.compare_eagerly(got, arguments, comparison)
            if not comparison.ok:
                raise ValueError(
                    f"The file and the model have different results: {comparison} It is call {k + 1} of the "
                    f"file, with {_shapes(arguments)}.{_advice(comparison, streams)}"
                )
            compared.append(comparison)
        progress.show("timing the file and the model")
        file_ms, model_ms = _median_ms(
            lambda: call(feed.first_feed), lambda: reference.function(*feed.first_arguments)
        )
    notes.append(feed.note)
    if streams and not file.called.sequences:
        notes.append("The model has one number of steps, so no state was passed from call to call.")
    worst = max(compared, key=lambda comparison: comparison.excess)
    times = {"file_ms": file_ms, "model_ms": model_ms, "inputs": _shapes(feed.first_arguments)}
    return _measured(worst, notes) | times


class _Reference:
    """The results of the model, and how far those of the file may be from them.

    Attributes:
        function: The model as a tf.function.
    """

    def __init__(
        self, model: keras.Model, file: File, outputs: Outputs, tolerance: float | None
    ) -> None:
        """See verify() for the arguments."""
        streams = isinstance(file.called, Stream)
        self._eager = time_axes.without_states(model) if streams else model.__call__
        self.function = tf.function(self._eager, autograph=False)
        self._outputs, self._tolerance = outputs, tolerance
        self._int8 = Int8Error(model) if file.in_int8 or is_quantized(model) else None
        self._limits = _limits(model, self._int8, file.in_float32)
        self._rounding: dict[str, float] = {}

    def results(self, arguments: Any) -> dict[str, np.ndarray]:
        """{name of an output: array}."""
        return self._outputs.results(self.function(*arguments))

    def compare(
        self, got: dict[str, np.ndarray], want: dict[str, np.ndarray], arguments: Any
    ) -> Comparison:
        """The Comparison of the output of a file that agrees least."""
        errors = {}
        if self._int8 is not None:
            errors = self._int8.of(arguments, want, self._outputs.results)
        self._rounding = {name: _INT8_ERRORS * error for name, error in errors.items()}
        return self._worst(got, want)

    def compare_eagerly(
        self, got: dict[str, np.ndarray], arguments: Any, comparison: Comparison
    ) -> Comparison:
        """The better one of a Comparison and that with the results of the model outside of a graph.

        WHY: TensorFlow's optimizer may have changed the order of sums in the graph.
        """
        try:
            want = self._outputs.results(self._eager(*arguments, training=False))
        except (
            Exception
        ):  # a model may run in graphs only: the difference from the graph is the error then
            return comparison
        return min(comparison, self._worst(got, want), key=lambda one: one.excess)

    def _worst(self, got: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> Comparison:
        return differences.worst(got, want, self._limits, self._tolerance, self._rounding)


def _loaded(load: Callable[[], Callable]) -> Callable:
    try:
        return load()
    except Exception as error:  # the runtimes raise errors of any kind
        raise ValueError(f"The file cannot be loaded: {one_line(error)}") from error


def _results_of_file(
    feed: feeds.Batch | feeds.Steps, call: Callable, arguments: Any, want: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    try:
        return feed.results(call, arguments, want)
    except Exception as error:  # the runtimes raise errors of any kind
        raise _not_run("The file", arguments, error) from error


def _measured(worst: Comparison, notes: list[str]) -> dict[str, Any]:
    """The attributes of Exported on the results."""
    if worst.difference and worst.tolerance >= worst.largest:
        notes.append(
            f"The tolerance is larger than all numbers of {worst.name!r}: give a smaller one."
        )
    return {
        "output": worst.name,
        "difference": worst.difference,
        "tolerance": worst.tolerance,
        "largest": worst.largest,
        "note": " ".join(filter(None, notes)),
    }


def _advice(comparison: Comparison, streams: bool) -> str:
    """Sentences on what may help against a difference."""
    advice = ""
    if streams:
        advice += " A layer or an operation that combines steps sees only those of one call."
    if not comparison.fault:
        advice += " Give a batch of your data as verify_inputs, or the tolerance that it needs."
    return advice


def _median_ms(*calls: Callable[[], Any]) -> list[float]:
    """The median times of functions that have run before, with fewer calls if they are slow."""
    begin = time.perf_counter()
    for call in calls:
        call()
    repeats = int(np.clip(_SECONDS / (time.perf_counter() - begin), 1, _REPEATS))
    return [statistics.median(times) for times in take_turns(calls, repeats, warm_up=1)]


def _not_run(what: str, arguments: Any, error: Exception) -> ValueError:
    return differences.not_run(what, f"on {_shapes(arguments)}", error)


def _shapes(arguments: Any) -> str:
    shapes = [list(np.shape(array)) for array in keras.tree.flatten(arguments)]
    return f"inputs of the shape{'s' if len(shapes) > 1 else ''} {', '.join(map(str, shapes))}"


class _States:
    """The variables with the states of a model."""

    def __init__(self, model: keras.Model) -> None:
        layers = [layer for layer in flatten_layers(model) if getattr(layer, "stateful", False)]
        self._variables = keras.tree.flatten([getattr(one, "states", None) or [] for one in layers])

    def values(self) -> list[np.ndarray]:
        return [keras.ops.convert_to_numpy(state) for state in self._variables]

    def set(self, values: list[np.ndarray]) -> None:
        for state, value in zip(self._variables, values, strict=True):
            state.assign(value)


@contextlib.contextmanager
def _states_kept(model: keras.Model) -> Iterator["_States"]:
    """Yields the _States of a model, and restores their values at the end."""
    states = _States(model)
    before = states.values()
    try:
        yield states
    finally:
        states.set(before)


def _limits(model: keras.Model, int8: Int8Error | None, in_float32: bool) -> Limits:
    types = {layer.compute_dtype for layer in flatten_layers(model)} & set(LIMITS)
    if in_float32:
        types.discard("float64")
    limits = max((LIMITS[t] for t in types), default=LIMITS["float32"])
    if int8 is None:
        return limits
    limits = limits._replace(integers=_OF_INT8)
    least = _OF_KNOWN_INT8 if int8.is_known else _OF_INT8
    return limits._replace(relative=max(limits.relative, least))
