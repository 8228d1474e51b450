"""Keras models with random weights."""

import numpy as np


def drawn(model, seed=4):
    """The model with random weights. Those that are 0 would hide what multiplies them."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        if "int" not in weight.dtype:  # not int8 weights, nor the states of seeds
            low = 0.2 if "variance" in weight.path else -0.7
            weight.assign(rng.uniform(low, 0.7, weight.shape))
    return model
