"""accelerate and restore: stock Keras layers run on our ops without a change of code."""

import functools
import logging
from typing import Any, Callable

import keras
import tensorflow as tf

from tf_rnn_ops._python import patches
from tf_rnn_ops.keras._internals import overridden
from tf_rnn_ops.keras.dispatch import changes, environment, fused, switch
from tf_rnn_ops.keras.layers.op_layer import jit_property

_logger = logging.getLogger("tf_rnn_ops")

_LAYERS = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)


class Acceleration:
    """The result of accelerate(). restore() ends it, or the end of the block if it is a context manager.

    Example:
        >>> import tf_rnn_ops.keras
        >>> with tf_rnn_ops.keras.accelerate() as acceleration:
        ...     acceleration
        <tf_rnn_ops.keras.Acceleration, active>
        >>> acceleration
        <tf_rnn_ops.keras.Acceleration, ended>
    """

    def __repr__(self) -> str:
        state = "active" if switch.holds(self) else "ended"
        return f"<tf_rnn_ops.keras.Acceleration, {state}>"

    def __enter__(self) -> "Acceleration":
        with switch.lock:
            switch.enter(self)
            _patch()
        return self

    def __exit__(self, *exception: object) -> None:
        with switch.lock:
            switch.leave(self)
            _unpatch_if_unused()

    def restore(self) -> None:
        """Ends this acceleration, also inside of its block.

        Other accelerations continue. A second call has no effect.
        """
        with switch.lock:
            switch.remove(self)
            _unpatch_if_unused()


def accelerate() -> Acceleration:
    """Makes stock keras.layers.LSTM, GRU, SimpleRNN and RNN run as one op, also inside Bidirectional.

    It is active until restore() of the result or of this module, or, as a context manager, until the end
    of the block. It affects existing and new layers in all threads of the process, and subclasses of LSTM,
    GRU and SimpleRNN. It does not affect subclasses of RNN, because all recurrent layers are subclasses of
    RNN. Call it before `fit`, `evaluate` and `predict`: a function that one of them has traced does not change
    until `model.compile` is called; explain() tells of it. `logging.getLogger("tf_rnn_ops")` gets one line of the level
    INFO, which Python does not show by default. A second call is harmless.

    Returns:
        An Acceleration, a context manager with the method restore(). It may be ignored.

    Raises:
        RuntimeError: This Keras lacks the method that accelerate() replaces.

    Example:
        >>> import keras
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> with tf_rnn_ops.keras.accelerate():
        ...     y = keras.layers.LSTM(4)(tf.ones([2, 5, 3]))
        >>> tuple(y.shape)
        (2, 4)
        >>> acceleration = tf_rnn_ops.keras.accelerate()
        >>> acceleration.restore()
    """
    environment.warn_of_legacy_flag()
    if reason := overridden.no_inner_loop():
        raise RuntimeError(
            f"accelerate() cannot replace the implementation of Keras's layers: {reason}"
        )
    is_first = not switch.active()
    token = Acceleration()
    with switch.lock:
        switch.add(token)
        _patch()
    if is_first and environment.has_ops():  # the import has warned if there are no ops
        _logger.info(
            "accelerate() is active. Keras's LSTM, GRU, SimpleRNN and RNN run on the ops of tf_rnn_ops; "
            "tf_rnn_ops.keras.explain(model) prints the path of each layer."
        )
    return token


def restore() -> None:
    """Ends every accelerate(), except in `with` blocks, which continue to their end.

    Example:
        >>> import tf_rnn_ops.keras
        >>> acceleration = tf_rnn_ops.keras.accelerate()
        >>> tf_rnn_ops.keras.restore()
    """
    with switch.lock:
        switch.clear()
        _unpatch_if_unused()


def _patch() -> None:
    if not _replacement.in_use:
        _replacement.__enter__()


def _unpatch_if_unused() -> None:
    if _replacement.in_use and not switch.active():
        _replacement.__exit__()


def _attributes() -> dict[tuple[type, str], Any]:
    """{(class of Keras, name of an attribute): our attribute}."""
    found: dict[tuple[type, str], Any] = {}
    for cls in (*_LAYERS, keras.layers.RNN):
        concerns = _is_plain_rnn if cls is keras.layers.RNN else _is_any
        found[cls, "inner_loop"] = _inner_loop(cls.inner_loop, concerns)
        found[cls, "supports_jit"] = jit_property(concerns)
    return found


_replacement = patches.Replacement(_attributes)


def _is_plain_rnn(layer: keras.layers.Layer) -> bool:
    """Whether a layer is an RNN and not a subclass. Subclasses call the method of RNN too."""
    return type(layer) is keras.layers.RNN


def _is_any(layer: keras.layers.Layer) -> bool:
    return True


def _inner_loop(
    original: Callable[..., Any], concerns: Callable[[keras.layers.Layer], bool]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def inner_loop(
        self: Any, sequences: Any, initial_state: Any, mask: Any, training: Any = False
    ) -> Any:
        loop = functools.partial(original, self)
        if not switch.active() or not concerns(self):
            return loop(sequences, initial_state, mask, training=training)
        if not tf.executing_eagerly():
            switch.count_as_traced(self)
        return fused.inner_loop(self, loop, sequences, initial_state, mask, training)

    changes.count_as_known(inner_loop, original)
    return inner_loop
