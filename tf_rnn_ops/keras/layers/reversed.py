"""A layer that runs another layer from the last step to the first."""

from typing import TYPE_CHECKING, Any, Sequence

import keras
import tensorflow as tf

from tf_rnn_ops.keras.layers.arguments import DType, Regularizer

if TYPE_CHECKING:
    from tf_rnn_ops.raw_ops.types import TensorLike


@keras.saving.register_keras_serializable(package="tf_rnn_ops")
class Reversed(keras.layers.Wrapper):
    """Runs a recurrent layer from the last step to the first, with the output in the order of the input.

    Without this wrapper a layer with go_backwards=True returns the output of the last step first.

    Args:
        layer: A recurrent layer with go_backwards=True, batch first.
        activity_regularizer, name, dtype, trainable: As for every Keras layer.

    Raises:
        ValueError: The layer has no go_backwards, go_backwards is False, or the layer returns sequences
            with time first.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops.keras import GRU, Reversed
        >>> layer = Reversed(GRU(4, return_sequences=True, go_backwards=True))
        >>> layer(np.ones([2, 5, 3], "float32")).shape
        TensorShape([2, 5, 4])
    """

    def __init__(
        self,
        layer: keras.layers.Layer,
        *,
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: DType = None,
        trainable: bool = True,
    ) -> None:
        super().__init__(
            layer,
            activity_regularizer=activity_regularizer,
            name=name,
            dtype=dtype,
            trainable=trainable,
        )
        if not hasattr(layer, "go_backwards"):
            raise ValueError(
                "The layer in Reversed must be a recurrent layer with go_backwards=True, but "
                f"{layer.name!r} is a {type(layer).__name__}."
            )
        if not layer.go_backwards:
            raise ValueError(f"go_backwards of layer {layer.name!r} must be True, but it is False.")
        if getattr(layer, "time_major", False) and layer.return_sequences:
            raise ValueError(
                f"time_major of layer {layer.name!r} must be False with return_sequences=True, because the "
                "output is reversed along dimension 1, but it is True."
            )
        self.supports_masking = True

    def call(
        self,
        sequences: tf.Tensor,
        initial_state: "TensorLike | Sequence[TensorLike] | None" = None,
        mask: "TensorLike | None" = None,
        training: bool | None = None,
    ) -> Any:
        """Runs the layer with the arguments of the layer."""
        output = self.layer(sequences, initial_state=initial_state, mask=mask, training=training)
        if not self.layer.return_sequences:
            return output
        if self.layer.return_state:
            return (keras.ops.flip(output[0], axis=1), *output[1:])
        return keras.ops.flip(output, axis=1)

    def compute_output_shape(
        self, sequences_shape: tuple[int | None, ...], initial_state_shape: Any = None
    ) -> Any:
        """The shapes of the layer's outputs."""
        return self.layer.compute_output_shape(sequences_shape, initial_state_shape)

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """The masks of the layer. The mask of a sequence is in the order of the input."""
        return self.layer.compute_mask(inputs, mask)
