"""The activations of LayerRNN. Keras 3 no longer has one of them."""

from typing import Any, Callable, Iterable

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
def hard_sigmoid_keras2(x: Any) -> Any:
    """The hard_sigmoid of Keras 1 and 2: x / 5 + 1/2 between 0 and 1.

    Keras 3's hard_sigmoid is x / 6 + 1/2. So a model that was trained with Keras 1 or 2 needs this
    function for the same predictions.

    Args:
        x: A tensor.

    Returns:
        A tensor of the same shape and type.

    Example:
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.LSTM(
        ...     4, recurrent_activation=tf_rnn_ops.keras.hard_sigmoid_keras2)
        >>> tf_rnn_ops.keras.explain(layer, print_fn=None)[0].path
        'fused'
    """
    return keras.ops.clip(x * 0.2 + 0.5, 0.0, 1.0)


# {LayerRNN's name of an activation: functions of Keras and TensorFlow that compute it}.
COMPUTED = {
    "tanh": (keras.activations.tanh, keras.ops.tanh, tf.tanh),
    "sigmoid": (keras.activations.sigmoid, keras.ops.sigmoid, tf.sigmoid),
    "relu": (keras.activations.relu, keras.ops.relu, tf.nn.relu),
    "hard_sigmoid": (keras.activations.hard_sigmoid, keras.ops.hard_sigmoid),
    "hard_sigmoid_keras2": (hard_sigmoid_keras2,),
    "linear": (keras.activations.linear,),
}


def name_of(function: Callable[..., Any]) -> str | None:
    """Returns LayerRNN's name of an activation, or None."""
    return next((name for name, same in COMPUTED.items() if function in same), None)


def reason(cell: keras.layers.Layer, argument: str, computed: Iterable[str]) -> str | None:
    """Tells why an op cannot compute an activation of a cell.

    Args:
        cell: The cell.
        argument: 'activation' or 'recurrent_activation'.
        computed: LayerRNN's names of the activations that the op computes.

    Returns:
        A sentence, or None if the op can compute it.
    """
    function = getattr(cell, argument)
    if name_of(function) in tuple(computed):
        return None
    shown = getattr(function, "__name__", type(function).__name__)
    return f"{argument}={shown}; the op computes {', '.join(computed)}"
