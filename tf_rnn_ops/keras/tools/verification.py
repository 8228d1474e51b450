"""Runs an exported file and its model on the same calls, and compares the results."""

import contextlib

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops.keras.tools import agreement, feeds
from tf_rnn_ops.keras.tools.agreement import Limits
from tf_rnn_ops.keras.tools.errors import one_line
from tf_rnn_ops.keras.tools.streaming import Stream
from tf_rnn_ops.keras.tools.timing import take_turns
from tf_rnn_ops.params.keras_internals import flatten_layers

# By the narrowest type of a model.
_LIMITS = {
    "float64": Limits(1e-10, 1e-15),
    "float32": Limits(1e-4, 5e-7),
    "float16": Limits(1e-2, 4e-3),
    "bfloat16": Limits(5e-2, 3e-2),
}
# The allowed relative difference, and the part of integers that may differ, with int8 weights.
_OF_INT8 = 0.1
_REPEATS = 20


def verify(model, called, outputs, verify, load, limits, tolerance):
    """Compares a file with its model.

    Args:
        model: The model.
        called: The Stream of the file, or its signature.
        outputs: The Outputs of the file.
        verify: The argument of export(), but not False.
        load: A function that loads the file; see formats.
        limits: The result of limits().
        tolerance: The argument of export().

    Returns:
        Attributes of Exported.

    Raises:
        ValueError: The file or the model does not run, or the results differ by more than is allowed.
    """
    streams = isinstance(called, Stream)
    feed = (feeds.Steps if streams else feeds.Batch)(model, called, verify)
    reference = tf.function(model.__call__, autograph=False)
    found, note = [], ""
    with _states_kept(model) as states:
        try:
            call = load()
        except Exception as error:  # the runtimes raise errors of any kind
            raise ValueError(f"The file cannot be loaded: {one_line(error)}") from error
        for k, arguments in enumerate(feed.calls):
            if streams:
                states.set_zeros()
            before = states.values()
            try:
                want = outputs.results(reference(*arguments))
            except Exception as error:  # the layers of a model raise errors of any kind
                if k == 0 or verify is not True:
                    raise _not_run(f"model {model.name!r}", arguments, error) from error
                note = f"The model does not run on other sizes, such as {_shapes(arguments)}."
                continue
            try:
                got = feed.results(call, arguments, want)
            except Exception as error:  # the runtimes raise errors of any kind
                raise _not_run("file", arguments, error) from error
            one = agreement.worst(got, want, limits, tolerance)
            if not one.agrees:
                # TensorFlow's optimizer may have changed the order of sums in the graph.
                states.set(before)
                with contextlib.suppress(Exception):  # a model may run in graphs only
                    want = outputs.results(model(*arguments, training=False))
                    eager = agreement.worst(got, want, limits, tolerance)
                    one = min(one, eager, key=lambda one: one.excess)
            if not one.agrees:
                raise ValueError(
                    f"The file and the model have different results: {one} It is call {k + 1} of the file, "
                    f"with {_shapes(arguments)}. Give a batch of your data as verify, or the tolerance that "
                    "it needs."
                )
            found.append(one)
        both = [lambda: call(feed.first_feed), lambda: reference(*feed.first_arguments)]
        timing = take_turns("", both, lambda one: one(), _REPEATS, lambda turn: None)
    one = max(found, key=lambda one: one.excess)
    notes = [note]
    if streams and not called.sequences:
        notes.append("The number of steps is known, so no state was passed from call to call.")
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


def _not_run(what, arguments, error):
    return ValueError(
        f"The {what} does not run on {_shapes(arguments)}: {one_line(error)} Give a suitable batch as verify."
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

    def set_zeros(self):
        self.set([np.zeros(state.shape) for state in self._variables])


@contextlib.contextmanager
def _states_kept(model):
    """Yields the _States of a model, and restores their values at the end."""
    states = _States(model)
    before = states.values()
    try:
        yield states
    finally:
        states.set(before)


def limits(model, in_int8, in_float32):
    """The Limits of the differences of a file.

    Args:
        model: The model.
        in_int8: Whether the file has int8 weights that the model does not have.
        in_float32: Whether the runtime computes float64 in float32.
    """
    layers = flatten_layers(model)
    types = {layer.compute_dtype for layer in layers} & set(_LIMITS)
    if in_float32:
        types.discard("float64")
    limits = max((_LIMITS[t] for t in types), default=_LIMITS["float32"])
    # WHY of the model too: a difference in the last bit can change how a quantized layer rounds.
    if in_int8 or any(getattr(layer, "quantization_mode", None) for layer in layers):
        return limits._replace(relative=_OF_INT8, integers=_OF_INT8)
    return limits
