"""The seeds of dropout, drawn from Keras's generators."""

from typing import Any, Callable, Sequence

import keras
import numpy as np
import tensorflow as tf


def checked(seed: Any) -> int | keras.random.SeedGenerator | None:
    """Returns the argument `seed` of a layer: None, an int or a keras.random.SeedGenerator.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(seed, dict):  # from a config
        seed = keras.saving.deserialize_keras_object(seed)
    if isinstance(seed, np.integer):
        return int(seed)
    if seed is None or isinstance(seed, (int, keras.random.SeedGenerator)):
        return seed
    raise ValueError(
        f"seed must be an integer, a keras.random.SeedGenerator or None, but it is {seed!r}."
    )


def to_config(seed: int | keras.random.SeedGenerator | None) -> Any:
    """The inverse of `checked` for get_config."""
    if isinstance(seed, keras.random.SeedGenerator):
        return keras.saving.serialize_keras_object(seed)
    return seed


def generator(seed: int | keras.random.SeedGenerator | None) -> keras.random.SeedGenerator:
    """The generator of a layer's random numbers. Its state is a variable of the layer that holds it."""
    if isinstance(seed, keras.random.SeedGenerator):
        return seed
    return keras.random.SeedGenerator(seed)


def replayed(
    fn: Callable[..., Any], generators: Sequence[keras.random.SeedGenerator]
) -> Callable[..., Any]:
    """Wraps fn so that recomputation reuses the random state of the first call.

    A later call does not change the generators.
    """
    starts = None

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal starts
        states = [tf.identity(seeds.state.value) for seeds in generators]
        if starts is None:
            starts = states
            return fn(*args, **kwargs)
        for seeds, start in zip(generators, starts, strict=True):
            seeds.state.assign(start)
        try:
            return fn(*args, **kwargs)
        finally:
            for seeds, state in zip(generators, states, strict=True):
                seeds.state.assign(state)

    return call


def draw(seeds: keras.random.SeedGenerator) -> tf.Tensor:
    """Draws the seed of one call of StatelessCudnnRNNV3, int64 [2].

    The replicas of a tf.distribute strategy have equal states; each replica gets its own seed.
    """
    seed = tf.cast(seeds.next(), tf.int64)
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return seed
    # The second element counts the calls. There are fewer than 2^32 calls.
    replica = tf.cast(context.replica_id_in_sync_group, tf.int64)
    return seed + tf.stack([tf.zeros_like(replica), replica * 2**32])
