"""Initializers for several weights of one layer."""


def nth_use(initializer, index):
    """Returns the initializer for the index-th of several weights.

    An initializer of Keras repeats itself, so each weight gets one of its own, with a seed of its
    own. One that draws from a SeedGenerator goes on by itself, and one that cannot be copied is
    returned as it is.

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
        if not config:  # it has no seed, or hides it
            return initializer
        if isinstance(config.get("seed"), int):
            config["seed"] += index
        return type(initializer).from_config(config)
    except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError):
        return initializer
