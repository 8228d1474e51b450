"""Random batches for a Keras model, of words that its layers know."""

import itertools
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops._comparison import random_arrays
from tf_rnn_ops.params.keras.internals import flatten_layers, inputs_of_calls

# The sizes of open dimensions: of the first dimension, and of other dimensions.
_BATCH, _TIME = 3, 7
# The number of words of the longest text, and of all texts.
_WORDS, _MOST_WORDS = 4, 100


def batch_for(
    model: keras.Model,
    signature: Any,
    batch_size: int = _BATCH,
    time: int = _TIME,
    seed: int = 0,
    padded: bool = True,
) -> Any:
    """Makes up a batch.

    Integers and strings are words that the layers of the model know.

    Args:
        model: The model, for its layers.
        signature: A structure of specs with shape and dtype.
        batch_size: The size of open first dimensions.
        time: The size of other open dimensions.
        seed: Seed of the numbers.
        padded: Whether sequences have different lengths. Beyond its length a sequence has the value that Masking
            masks, or 0 for an Embedding, or False in a mask that is itself an input.

    Returns:
        Arrays in the same structure.
    """
    layers = flatten_layers(model)
    masked = [layer.mask_value for layer in layers if isinstance(layer, keras.layers.Masking)]
    specs = keras.tree.flatten(signature)
    steps = random_arrays.least_steps((tuple(spec.shape) for spec in specs), time)
    integers, texts = _integers(layers, specs), _texts(layers, specs)
    rng = np.random.default_rng(seed)
    # An Input has float32 if nothing else is asked for, also for an Embedding.
    floats_are_words = integers is not None and not any(
        tf.as_dtype(spec.dtype).is_integer for spec in specs
    )
    embedded = _embedded(model, layers)
    numbers = itertools.count()

    def array_for(spec: Any) -> np.ndarray:
        dtype, is_embedded = tf.as_dtype(spec.dtype), next(numbers) in embedded
        may_be_words = is_embedded or (floats_are_words and len(spec.shape) <= 2)
        are_words = may_be_words and dtype.is_floating
        drawn = np.int32 if are_words else dtype.as_numpy_dtype
        array = random_arrays.array(
            tuple(spec.shape), drawn, rng, batch_size, time, steps, integers, texts
        )
        array = _padded(array, masked) if padded else array
        return array.astype(dtype.as_numpy_dtype) if are_words else array

    return keras.tree.map_structure(array_for, signature)


def _embedded(model: keras.Model, layers: list[keras.layers.Layer]) -> set[int]:
    """The numbers of the inputs of a model that it gives to an Embedding."""
    fed = {
        id(tensor)
        for layer in layers
        if isinstance(layer, keras.layers.Embedding)
        for tensor in inputs_of_calls(layer)
    }
    return {k for k, tensor in enumerate(getattr(model, "inputs", None) or ()) if id(tensor) in fed}


def _padded(array: np.ndarray, masked: list[float]) -> np.ndarray:
    """The array with sequences of decreasing lengths: all steps, two less and so on, at least one."""
    if array.ndim < 2:
        return array
    lengths = np.maximum(array.shape[1] - 2 * np.arange(array.shape[0]), 1)
    padding = np.arange(array.shape[1]) >= lengths[:, None]
    if array.ndim == 2 and array.dtype.kind in "biu":
        array[padding] = 0
    elif array.ndim == 3 and masked and "float" in array.dtype.name:
        array[padding] = masked[0]
    return array


def _integers(layers: list[keras.layers.Layer], specs: list) -> Any:
    """The integers that the layers of a model know, or None."""
    words = [layer for layer in layers if isinstance(layer, keras.layers.Embedding)]
    counts = [layer.input_dim for layer in words]
    categories = [layer for layer in layers if isinstance(layer, keras.layers.CategoryEncoding)]
    counts += [layer.num_tokens for layer in categories if layer.num_tokens]
    known = _vocabulary(layers, keras.layers.IntegerLookup)
    integers = [spec for spec in specs if tf.as_dtype(spec.dtype).is_integer]
    # WHY not with other integers: an Embedding may not have the words of the lookup.
    if known and (not counts or len(integers) == 1):
        return known
    if not counts:
        return None
    may_be_zero = words and not any(layer.mask_zero for layer in words)
    return range(min(0 if may_be_zero else 1, min(counts) - 1), min(counts))


def _texts(layers: list[keras.layers.Layer], specs: list) -> Any:
    """Strings of words that the layers of a model know."""
    if not any(tf.as_dtype(spec.dtype) == tf.string for spec in specs):
        return random_arrays.TEXTS
    words = _vocabulary(layers, keras.layers.TextVectorization)[:_MOST_WORDS]
    if words:
        return [" ".join(np.roll(words, -k)[: _WORDS - k % _WORDS]) for k in range(len(words))]
    return _vocabulary(layers, keras.layers.StringLookup) or random_arrays.TEXTS


def _vocabulary(layers: list[keras.layers.Layer], cls: type[keras.layers.Layer]) -> list:
    """The words of the lookup layers of a class, without that of an unknown word."""
    lookups = [layer for layer in layers if isinstance(layer, cls)]
    return [
        word for lookup in lookups for word in lookup.get_vocabulary(include_special_tokens=False)
    ]
