"""Undocumented methods of Keras that this package overrides or replaces."""

import functools
from typing import Any

import keras

from tf_rnn_ops.params.keras.internals import attribute

_RECURRENT = ("LSTM", "GRU", "SimpleRNN", "RNN")


@functools.cache
def no_inner_loop() -> str | None:
    """The sentence on why no layer runs on an op; None if layers do.

    Needs the method inner_loop() of LSTM, GRU, SimpleRNN and RNN, which runs the loop over time. Without it the
    layers run Keras's implementation.
    """
    for name in _RECURRENT:
        if not callable(getattr(getattr(keras.layers, name), "inner_loop", None)):
            return (
                f"Keras {keras.__version__} has no keras.layers.{name}.inner_loop, which tf_rnn_ops.keras replaces. "
                "Install a release of Keras 3 that has it, such as 3.15."
            )
    return None


def no_rematerialized_call() -> str | None:
    """The sentence on wrong gradients under keras.RematScope; None if they are right.

    Needs the method rematerialized_call() of layers, which Keras has from 3.9 on, as it has
    keras.RematScope. Without it layers with dropout drop other units when their call is computed again.
    """
    if not hasattr(keras, "RematScope") or hasattr(keras.layers.Layer, "rematerialized_call"):
        return None
    return (
        f"Keras {keras.__version__} has no keras.layers.Layer.rematerialized_call, so under keras.RematScope the "
        "gradients of recurrent layers with dropout are wrong."
    )


def fused_bidirectional_methods() -> list[str]:
    """The names of the methods by which Bidirectional decides whether one function runs both of its
    layers.

    Needs _can_attempt_fused_lstm() and _can_attempt_fused_gru(), which Keras has from 3.15 on. Without
    them the result is empty, and no_fused_bidirectional tells whether that matters.
    """
    names = ("_can_attempt_fused_lstm", "_can_attempt_fused_gru")
    return [name for name in names if hasattr(keras.layers.Bidirectional, name)]


def no_fused_bidirectional() -> str | None:
    """The sentence on why Bidirectional may not run our layers; None if it does."""
    version = tuple(map(int, keras.__version__.split(".")[:2]))
    if version < (3, 15) or len(fused_bidirectional_methods()) == 2:
        return None
    return (
        f"Keras {keras.__version__} has no Bidirectional._can_attempt_fused_lstm or _can_attempt_fused_gru, so "
        "keras.layers.Bidirectional may replace the layers of tf_rnn_ops.keras by a function of Keras."
    )


def dropout_mask(cell: keras.layers.Layer, inputs: Any) -> Any:
    """The mask with which a cell drops inputs, or a list with a mask for each gate.

    Needs the method get_dropout_mask(). Without it this raises RuntimeError.
    """
    return attribute(cell, "get_dropout_mask", "Inputs cannot be dropped")(inputs)


def recurrent_dropout_mask(cell: keras.layers.Layer, state: Any) -> Any:
    """The mask with which a cell drops states, or a list with a mask for each gate.

    Needs the method get_recurrent_dropout_mask(). Without it this raises RuntimeError.
    """
    return attribute(cell, "get_recurrent_dropout_mask", "States cannot be dropped")(state)


def counts_dropout_masks() -> bool:
    """Whether a cell of LSTM or GRU sets dropout_mask_count if it has a mask for each gate.

    Needs that the constructors set dropout_mask_count. Without it the result is False, as for a Keras whose cells have
    one mask.
    """
    code = getattr(keras.layers.LSTMCell.__init__, "__code__", None)
    return code is not None and "dropout_mask_count" in code.co_names
