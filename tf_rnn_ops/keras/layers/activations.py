"""Activations that Keras 3 no longer has, for models of Keras 1 and 2."""

from typing import Any

import keras


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
def hard_sigmoid_keras2(x: Any) -> Any:
    """Keras 1 and 2's hard_sigmoid: x / 5 + 1/2 between 0 and 1.

    Keras 3's function of that name is x / 6 + 1/2, so a model that was trained with Keras 1 or 2
    needs this one to predict what it did there.

    Args:
        x: A tensor.

    Returns:
        A tensor of the same shape and type.

    Example:
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.LSTM(
        ...     4, recurrent_activation=tf_rnn_ops.keras.hard_sigmoid_keras2)
        >>> tf_rnn_ops.keras.explain(layer, print_fn=None)[0].path
        'op'
    """
    return keras.ops.clip(x * 0.2 + 0.5, 0.0, 1.0)
