"""Initializers for several weights of one layer."""

from typing import Any


def nth_use(initializer: Any, index: int) -> Any:
    """Returns the initializer for the index-th of several weights.

    An initializer of Keras returns the same values at each call, so each weight gets its own copy with its
    own seed. An initializer with a SeedGenerator returns new values at each call and is not copied.
    Neither is an initializer that cannot be copied.

    Args:
        initializer: An initializer of Keras 3 or tf_keras, or any function.
        index: From 0.

    Returns:
        An initializer.
    """
    get_config = getattr(initializer, "get_config", None)
    if get_config is None or hasattr(getattr(initializer, "seed", None), "next"):
        return initializer
    try:
        config = dict(get_config())
        if not config:  # it has no seed, or its config lacks the seed
            return initializer
        if isinstance(config.get("seed"), int):
            config["seed"] += index
        return type(initializer).from_config(config)
    except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError):
        return initializer
