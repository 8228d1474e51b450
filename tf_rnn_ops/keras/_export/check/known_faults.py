"""Raises errors for models that Keras itself computes wrongly in a graph, so that no file of them is written."""

import functools

import keras
import tensorflow as tf

from tf_rnn_ops.keras._internals.layers import flatten_layers


def refuse(model: keras.Model, signature: list) -> None:
    """Raises ValueError for a TimeDistributed layer over an open number of steps, if Keras counts them wrongly.

    Args:
        model: The model.
        signature: A structure of tf.TensorSpec, the arguments of the model in the file.
    """
    if not any(_has_open_steps(spec.shape) for spec in keras.tree.flatten(signature)):
        return
    for layer in flatten_layers(model):
        if isinstance(layer, keras.layers.TimeDistributed) and _may_be_open(layer):
            if _counts_rows_as_steps():
                raise ValueError(
                    f"The layer {layer.name!r} (TimeDistributed) has an open number of steps, of which Keras "
                    f"{keras.__version__} computes as many as there are sequences in a graph: give time."
                )


def _has_open_steps(shape: tf.TensorShape) -> bool:
    return shape.rank is not None and shape.rank > 1 and shape[1] is None


def _may_be_open(layer: keras.layers.Layer) -> bool:
    """Whether the number of steps of a layer is open, or not known because it has several inputs or none."""
    try:
        return layer.input.shape[1] is None
    except (AttributeError, ValueError, IndexError):
        return True


@functools.lru_cache(maxsize=1)
def _counts_rows_as_steps() -> bool:
    layer = keras.layers.TimeDistributed(keras.layers.Identity())
    function = tf.function(layer.call, autograph=False)
    function = function.get_concrete_function(tf.TensorSpec([None, None, 1]))
    return function(tf.zeros([1, 2, 1])).shape != (1, 2, 1)
