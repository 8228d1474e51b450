"""Runs an exported file and its model on the same calls, and compares the results."""

import contextlib
import time
from typing import Any, Callable, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops._one_line import one_line
from tf_rnn_ops.keras._export import agreement, feeds, time_axes
from tf_rnn_ops.keras._export.agreement import Limits
from tf_rnn_ops.keras._export.int8_error import Int8Error, is_quantized
from tf_rnn_ops.keras._export.streaming import Stream
from tf_rnn_ops.keras._report.timing import take_turns
from tf_rnn_ops.params.keras.internals import flatten_layers

# By the narrowest type of a model.
_LIMITS = {
    "float64": Limits(1e-10, 1e-15),
    "float32": Limits(1e-4, 5e-7),
    "float16": Limits(1e-2, 5e-7),
    "bfloat16": Limits(5e-2, 5e-7),
}
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


def verify(model, file, outputs, given, tolerance, progress):
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
    int8 = Int8Error(model) if file.in_int8 or is_quantized(model) else None
    limits = _limits(model, int8, file.in_float32)
    function = time_axes.without_states(model) if streams else model.__call__
    reference = tf.function(function, autograph=False)
    found, note = [], ""
    with _states_kept(model) as states:
        call = _loaded(file.load)
        for k, arguments in enumerate(feed.calls):
            before = states.values()
            progress.show(f"checking the file: call {k + 1} of {len(feed.calls)}")
            try:
                want = outputs.results(reference(*arguments))
            except Exception as error:  # the layers of a model raise errors of any kind
                if k == 0 or given is not None:
                    raise _not_run(f"model {model.name!r}", arguments, error) from error
                note = f"The model does not run on other sizes, such as {_shapes(arguments)}."
                continue
            try:
                got = feed.results(call, arguments, want)
            except Exception as error:  # the runtimes raise errors of any kind
                raise _not_run("file", arguments, error) from error
            rounding = _rounding(int8, arguments, want, outputs)
            one = agreement.worst(got, want, limits, tolerance, rounding)
            if not one.agrees:
                # TensorFlow's optimizer may have changed the order of sums in the graph.
                states.set(before)
                with contextlib.suppress(Exception):  # a model may run in graphs only
                    want = outputs.results(function(*arguments, training=False))
                    eager = agreement.worst(got, want, limits, tolerance, rounding)
                    one = min(one, eager, key=lambda one: one.excess)
            if not one.agrees:
                raise ValueError(
                    f"The file and the model have different results: {one} It is call {k + 1} of the file, "
                    f"with {_shapes(arguments)}.{_advice(one, streams)}"
                )
            found.append(one)
        both = [lambda: call(feed.first_feed), lambda: reference(*feed.first_arguments)]
        progress.show("timing the file and the model")
        timing = _timed(both)
    notes = [note, feed.note]
    if streams and not file.called.sequences:
        notes.append("The model has one number of steps, so no state was passed from call to call.")
    worst = max(found, key=lambda one: one.excess)
    return _measured(worst, timing, notes) | {"inputs": _shapes(feed.first_arguments)}


def _loaded(load):
    try:
        return load()
    except Exception as error:  # the runtimes raise errors of any kind
        raise ValueError(f"The file cannot be loaded: {one_line(error)}") from error


def _measured(one, timing, notes):
    """The attributes of Exported."""
    if one.difference and one.tolerance >= one.largest:
        notes.append(
            f"The tolerance is larger than all numbers of {one.output!r}: give a smaller one."
        )
    return {
        "output": one.output,
        "difference": one.difference,
        "tolerance": one.tolerance,
        "largest": one.largest,
        "file_ms": timing.keras_ms,
        "model_ms": timing.ours_ms,
        "note": " ".join(filter(None, notes)),
    }


def _advice(one, streams):
    """Sentences on what may help against a difference."""
    advice = ""
    if streams:
        advice += " A layer or an operation that combines steps sees only those of one call."
    if not one.fault:
        advice += " Give a batch of your data as verify_inputs, or the tolerance that it needs."
    return advice


def _timed(both):
    """The Timing of two functions that have run before, in fewer turns if they are slow."""
    begin = time.perf_counter()
    for one in both:
        one()
    repeats = int(np.clip(_SECONDS / (time.perf_counter() - begin), 1, _REPEATS))
    return take_turns("", both, lambda one: one(), repeats, lambda turn: None, warm_up=1)


def _rounding(int8, arguments, want, outputs):
    errors = {} if int8 is None else int8.of(arguments, want, outputs.results)
    return {name: _INT8_ERRORS * one for name, one in errors.items()}


def _not_run(what, arguments, error):
    return ValueError(
        f"The {what} does not run on {_shapes(arguments)}: {one_line(error)} Give a suitable batch as verify_inputs "
        "(--verify-inputs FILE.npz in the command)."
    )


def _shapes(arguments):
    shapes = [list(np.shape(array)) for array in keras.tree.flatten(arguments)]
    return f"inputs of the shape{'s' if len(shapes) > 1 else ''} {', '.join(map(str, shapes))}"


class _States:
    """The variables with the states of a model."""

    def __init__(self, model):
        layers = [layer for layer in flatten_layers(model) if getattr(layer, "stateful", False)]
        self._variables = keras.tree.flatten([getattr(one, "states", None) or [] for one in layers])

    def values(self):
        return [keras.ops.convert_to_numpy(state) for state in self._variables]

    def set(self, values):
        for state, value in zip(self._variables, values, strict=True):
            state.assign(value)


@contextlib.contextmanager
def _states_kept(model):
    """Yields the _States of a model, and restores their values at the end."""
    states = _States(model)
    before = states.values()
    try:
        yield states
    finally:
        states.set(before)


def _limits(model, int8, in_float32):
    types = {layer.compute_dtype for layer in flatten_layers(model)} & set(_LIMITS)
    if in_float32:
        types.discard("float64")
    limits = max((_LIMITS[t] for t in types), default=_LIMITS["float32"])
    if int8 is None:
        return limits
    limits = limits._replace(integers=_OF_INT8)
    least = _OF_KNOWN_INT8 if int8.is_known else _OF_INT8
    return limits._replace(relative=max(limits.relative, least))
