"""stepper: a Keras model as a tf_rnn_ops.stepper.Stepper, and the content of its file."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Callable, Sequence

import keras
import tensorflow as tf

from tf_rnn_ops._python import checks
from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.keras._convert.on_ops import on_ops
from tf_rnn_ops.keras._export import signatures
from tf_rnn_ops.keras._export.stepper.layers import ADVICE
from tf_rnn_ops.keras._export.stepper.tracer import Traced, trace
from tf_rnn_ops.keras._export.stepper.window import signature_of, window_of
from tf_rnn_ops.keras._export.streaming.stream import Stream, stream_of
from tf_rnn_ops.keras.dispatch import environment

if TYPE_CHECKING:  # its library is missing on some machines, where files are only written
    from tf_rnn_ops.stepper import Stepper, Tensor


def stepper(
    model: keras.Model,
    batch_size: int | None = None,
    time: int | None = None,
    threads: int = 1,
    input_signature: Any = None,
    streaming: bool = True,
) -> Stepper:
    """Makes a stepper: the model, called step by step or window by window with numpy arrays, without TensorFlow's time for a call.

    The layers of Keras are converted first, as in convert(). The model does not change. The stepper has a copy of its
    weights; Stepper.update(model) takes over others.

    Args:
        model: A Keras 3 model that is built. Its recurrent layers and causal convolutions keep their states from
            call to call, as in export(streaming=True). It may have LSTM, GRU, SimpleRNN, the layers and stacks of
            this package, Dense, Conv1D, Embedding, activations, normalization over features, and layers that
            combine or reshape features, in any graph.
        batch_size: B, the number of streams. None is that of the model's Input, or 1 if it is open.
        time: T, the number of steps of a call. None is that of the model's Input, or 1 if it is open. The sizes of
            the first batch of a model without an Input are open, with a warning if `time` is None.
        threads: The most threads of a call, including the caller's.
        input_signature: A list with a structure of specs (keras.InputSpec, tf.TensorSpec) for each argument of the
            model. None uses the inputs of the model.
        streaming: Whether the states stay from call to call. With False each call gets whole windows of T steps and
            begins with zeros, as in `predict`: then the model may also read its input backwards, combine steps and have
            masks, as Bidirectional, poolings, RepeatVector, Flatten, any Conv1D, Masking and mask_zero do. T is
            that of the model's Input or of its first batch, or `time`.

    Returns:
        A tf_rnn_ops.stepper.Stepper, whose states are zeros.

    Raises:
        TypeError: model is not a Keras 3 model.
        ValueError: A layer cannot stream, or is none of these; or the model does not accept a number or
            input_signature.

    Example:
        >>> import keras
        >>> import numpy as np
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential(
        ...     [keras.Input((None, 3)), keras.layers.GRU(4, return_sequences=True), keras.layers.Dense(2)]
        ... )
        >>> stepper = tf_rnn_ops.keras.stepper(model)
        >>> x = np.random.default_rng(0).normal(size=(1, 5, 3)).astype("float32")
        >>> y = np.concatenate([stepper(x[:, t : t + 1]) for t in range(5)], axis=1)
        >>> bool(np.allclose(y, model(x), atol=1e-5))
        True
    """
    from tf_rnn_ops.stepper import Stepper

    environment.check_model(model)
    checks.check_open_sizes(batch_size=batch_size, time=time)
    checks.check_size("threads", threads)
    if not isinstance(streaming, bool):
        raise ValueError(f"streaming must be True or False, but it is {streaming!r}.")
    if not streaming:
        signature = signature_of(model, input_signature, time)
        return Stepper(_of_windows(model, signature, batch_size), batch_size, None, threads)
    signature = signatures.named_for_users(signatures.of(model, input_signature))
    opens = signatures.are_of_a_batch(model, input_signature)
    found = _content(model, signature, batch_size, time, opens)
    made = Stepper(found, batch_size, time, threads)
    steps = next((spec.shape[1] for spec in keras.tree.flatten(signature) if _has_steps(spec)), 1)
    if opens and time is None and steps not in (None, made.time):
        warnings.warn(
            f"The model {model.name!r} has no keras.Input, so T of the stepper is {made.time} instead of the {steps} steps "
            "of the model's first batch. `time` gives another T.",
            stacklevel=2,
        )
    return made


def content(
    model: keras.Model,
    batch_size: int,
    time: int,
    inputs: Sequence[Tensor] | None = None,
    streaming: bool = True,
) -> bytes:
    """The content of a file for a stepper of B and T, with any B and T that the model accepts.

    Args:
        model: A Keras model.
        batch_size: B.
        time: T.
        inputs: The inputs of a stepper that the content is for, or None.
        streaming: Whether it is for a stream, or for windows.

    Raises:
        TypeError: model is not a Keras 3 model.
        ValueError: A layer cannot stream, or a stepper has no such layer.
    """
    environment.check_model(model)
    signature = _signature_for(model, inputs or ())
    if not streaming:
        return _of_windows(model, signature, batch_size)
    return _content(model, signature, batch_size, time, opens=True)


def _signature_for(model: keras.Model, inputs: Sequence[Tensor]) -> list:
    """The signature of a model for a stepper with some inputs."""
    # Keras records the first argument only of a model of a class, and not every structure of it.
    arguments = [tf.TensorSpec(None, tensor.dtype, tensor.name) for tensor in inputs]
    signature = signatures.recorded_or(model, arguments)
    specs = keras.tree.flatten(signature)
    if len(specs) != len(inputs):  # with states as inputs
        return signatures.named_for_users(signatures.of(model, None))
    # The stepper may have been made with another signature.
    known = iter(inputs)

    def of_stepper(spec: tf.TensorSpec) -> tf.TensorSpec:
        tensor = next(known)
        shape = [None, *tensor.shape[1:]]
        if tensor.has_time:
            shape[1] = None
        # A model of a class has recorded words as floats. An Input of int64 is int32 in a stepper.
        is_recorded = tensor.dtype == "int32" and spec.dtype.is_floating
        return tf.TensorSpec(shape, tensor.dtype if is_recorded else spec.dtype, spec.name)

    return keras.tree.map_structure(of_stepper, signature)


def _content(
    model: keras.Model, signature: list, batch_size: int | None, time: int | None, opens: bool
) -> bytes:
    """The content of a file with the sizes of a signature, where those that are not B and T are open.

    Args:
        model: The model.
        signature: The signature of its arguments.
        batch_size: B, or None.
        time: T, or None.
        opens: Whether the number of steps of the signature is open.
    """
    signature = _with_batch(signature, batch_size)
    with on_ops(model) as ours:
        stream = stream_of(ours, signature, time, opens)
        return traced(stream, signature, time, opens or time is not None).content


def _with_batch(signature: list, batch_size: int | None) -> list:
    """The signature with an open B, if it has another one."""
    specs = keras.tree.flatten(signature)
    if batch_size is None or signatures.has_open_batch(specs):
        return signature
    names = [spec.name for spec in specs if spec.shape.rank and spec.shape[0] != batch_size]
    return signatures.with_size(signature, 0, None, names)


def _of_windows(model: keras.Model, signature: list, batch_size: int | None) -> bytes:
    """The content of a file of windows with the sizes of a signature."""
    with on_ops(model) as ours:
        return traced_window(ours, _with_batch(signature, batch_size)).content


def traced_window(model: keras.Model, signature: list) -> Traced:
    """The content of a file of windows, and its recurrent layers.

    Args:
        model: A model on the layers of this package.
        signature: The signature of its arguments.

    Raises:
        ValueError: A stepper has no such layer, or a size is open.
    """
    window = window_of(model, signature)
    return _in_one_line(lambda: trace(window, window.time))


def _in_one_line(function: Callable[[], Traced], advice: str = "") -> Traced:
    """Runs a function that traces. `advice`: a sentence for errors of layers."""
    try:
        return function()
    except Exception as error:  # Keras adds lines to the errors of its layers
        text = one_line(error)
        raise ValueError(text + advice if ADVICE in text else text) from error


def _has_steps(spec: tf.TensorSpec) -> bool:
    return (spec.shape.rank or 0) > 1


def traced(stream: Stream, signature: list, time: int | None, opens: bool) -> Traced:
    """The content of a file for a stream, and its recurrent layers.

    Args:
        stream: The stream of a model on the layers of this package.
        signature: The signature of the model's arguments.
        time: T. None is that of the signature, or any if it is open.
        opens: Whether the file has any T, if the model accepts any.

    Raises:
        ValueError: A stepper has no such layer.
    """
    is_open = opens and stream.sequences
    steps = None if is_open else time or _steps_of(signature, stream)
    specs = keras.tree.flatten(stream.signature)
    has_one = any(spec.shape[1] == 1 for spec in specs if spec.name in stream.all_sequences)
    # WHY two: one step looks like a dimension of one number.
    is_open_one = has_one and stream.sequences >= stream.all_sequences
    return _in_one_line(
        lambda: trace(stream.of_steps(2) if is_open_one else stream, steps),
        " A stepper of windows (streaming=False) has more layers.",
    )


def _steps_of(signature: list, stream: Stream) -> int | None:
    """The steps of a call that a signature has; None if they are open."""
    specs = [spec for spec in keras.tree.flatten(signature) if spec.name in stream.all_sequences]
    known = {spec.shape[1]: spec.name for spec in specs if spec.shape[1] is not None}
    if len(known) > 1:
        raise ValueError(
            f"The sequences of a stepper must have one number of steps in a call, but {list(known.values())} have "
            f"{list(known)}. `time` gives all of them another number, if the model accepts it."
        )
    return next(iter(known), None)
