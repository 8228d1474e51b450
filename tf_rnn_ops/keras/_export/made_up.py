"""Makes up inputs for a model from the shapes of its arguments."""

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops.params.keras.internals import flatten_layers

# The sizes of open dimensions: of the first dimension, and of other dimensions.
_BATCH, _TIME = 3, 7
# The number of values of integers in a model without an Embedding.
_WORDS = 2


def batch_for(model, signature, batch_size=_BATCH, time=_TIME, seed=0):
    """Makes up a batch.

    If the model makes masks, sequences have different lengths. Beyond its length a sequence has the value
    that Masking masks, or 0 for an Embedding, or False in a mask that is itself an input.

    Args:
        model: The model, for its Embedding and Masking layers.
        signature: A structure of tf.TensorSpec.
        batch_size: The size of open first dimensions.
        time: The size of other open dimensions.
        seed: Seed of the numbers.

    Returns:
        Arrays in the same structure.
    """
    layers = flatten_layers(model)
    words = [layer.input_dim for layer in layers if isinstance(layer, keras.layers.Embedding)]
    masked = [layer.mask_value for layer in layers if isinstance(layer, keras.layers.Masking)]
    rng = np.random.default_rng(seed)
    known = [spec.shape[1] for spec in keras.tree.flatten(signature) if (spec.shape.rank or 0) > 1]
    steps = min([time if size is None else size for size in known], default=time)
    sizes = {"batch_size": batch_size, "time": time, "steps": steps}
    how = sizes | {"words": min(words, default=_WORDS), "masked": masked[0] if masked else None}
    return keras.tree.map_structure(lambda spec: _array(rng, spec, **how), signature)


def _array(rng, spec, batch_size, time, steps, words, masked):
    sizes = [batch_size, *[time] * (len(spec.shape) - 1)]
    shape = [size if known is None else known for known, size in zip(spec.shape, sizes)]
    if spec.dtype == tf.string:
        return np.full(shape, "", object)
    dtype = spec.dtype.as_numpy_dtype
    if len(shape) == 1:  # probably lengths, of any type
        return (1 + np.arange(shape[0]) % steps).astype(dtype)
    if spec.dtype.is_floating:
        array = rng.standard_normal(shape)
    else:
        array = rng.integers(1, max(words, 2), shape)
    if len(shape) > 1:
        # The first sequence has all steps. The lengths of the next sequences decrease to 1.
        lengths = np.maximum(shape[1] - 2 * np.arange(shape[0]), 1)
        padding = np.arange(shape[1]) >= lengths[:, None]
        if len(shape) == 2 and not spec.dtype.is_floating:
            array[padding] = 0
        elif len(shape) == 3 and spec.dtype.is_floating and masked is not None:
            array[padding] = masked
    return array.astype(dtype)
