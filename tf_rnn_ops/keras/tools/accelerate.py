"""accelerate and restore: stock Keras layers take our path without a change of code."""

import functools

import keras

from tf_rnn_ops.keras._internals import overridden
from tf_rnn_ops.keras.layers.drop_in import jit_property
from tf_rnn_ops.keras.path import environment, fused, switch

_LAYERS = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)

# {(class of Keras, name of an attribute): (the attribute of Keras or None, our attribute)}.
_replaced: dict = {}


class Acceleration:
    """The result of accelerate(); it ends with restore(), or with the block as a context manager.

    Example:
        >>> import tf_rnn_ops.keras
        >>> with tf_rnn_ops.keras.accelerate() as acceleration:
        ...     type(acceleration).__name__
        'Acceleration'
    """

    def __enter__(self):
        with switch.lock:
            switch.enter(self)
            _patch()
        return self

    def __exit__(self, *exception):
        with switch.lock:
            switch.leave(self)
            _unpatch_if_unused()

    def restore(self) -> None:
        """Ends this acceleration, also inside of its block; others stay. A second call does nothing."""
        with switch.lock:
            switch.remove(self)
            _unpatch_if_unused()


def accelerate() -> Acceleration:
    """Makes stock keras.layers.LSTM, GRU, SimpleRNN and RNN run as one op, also inside Bidirectional.

    In force until the restore() of the result or of this module, or, as a context manager, until the
    end of the block. Concerns layers
    that exist already as well as new ones, in all threads of the process, and subclasses of these
    layers except those of RNN, which all recurrent layers are. Call it before `model.compile`:
    functions that Keras has traced stay as they are. Calling it twice does no harm.

    Returns:
        An Acceleration, which may be ignored: a context manager with the method restore().

    Raises:
        RuntimeError: This Keras has no method by which the layers can be made to run the op.

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
        raise RuntimeError(f"accelerate() cannot replace the loop of Keras's layers: {reason}")
    token = Acceleration()
    with switch.lock:
        switch.add(token)
        _patch()
    return token


def restore() -> None:
    """Ends all that accelerate() began, however often it was called; `with` blocks run to their end.

    Example:
        >>> import tf_rnn_ops.keras
        >>> acceleration = tf_rnn_ops.keras.accelerate()
        >>> tf_rnn_ops.keras.restore()
    """
    with switch.lock:
        switch.clear()
        _unpatch_if_unused()


def _patch():
    if _replaced:
        return
    for cls in (*_LAYERS, keras.layers.RNN):
        concerns = _is_plain_rnn if cls is keras.layers.RNN else _is_any
        for name, value in (
            ("inner_loop", _inner_loop(cls.inner_loop, concerns)),
            ("supports_jit", jit_property(concerns)),
        ):
            _replaced[cls, name] = cls.__dict__.get(name), value
            setattr(cls, name, value)


def _is_plain_rnn(layer):
    """Not a subclass, whose loop in the end is that of RNN too."""
    return type(layer) is keras.layers.RNN


def _is_any(layer):
    return True


def _unpatch_if_unused():
    if switch.active():
        return
    for (cls, name), (original, ours) in _replaced.items():
        if cls.__dict__.get(name) is not ours:
            continue  # Another patch wraps this one, which has no effect when inactive.
        if original is None:
            delattr(cls, name)
        else:
            setattr(cls, name, original)
    _replaced.clear()


def _inner_loop(original, concerns):
    @functools.wraps(original)
    def inner_loop(self, sequences, initial_state, mask, training=False):
        loop = functools.partial(original, self)
        if not switch.active() or not concerns(self):
            return loop(sequences, initial_state, mask, training=training)
        return fused.inner_loop(self, loop, sequences, initial_state, mask, training)

    return inner_loop
