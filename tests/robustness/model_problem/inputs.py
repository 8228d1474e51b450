"""The calls of an exported model: sizes, kinds of masks, and the numbers of the inputs."""

import zlib
from typing import NamedTuple

import numpy as np

from robustness.model_problem.build import WORDS

# By the number of a call. The third call has the inputs of the first.
_KINDS = ("right", "holes", "right", "left", "empty")
_SEEDS = (0, 1, 0, 2, 3)
MORE_STEPS = 4
MORE_ROWS = 2


class Call(NamedTuple):
    """A call.

    Attributes:
        rows: B.
        steps: T.
        kind: The kind of the mask.
        seed: The seed of the numbers.
    """

    rows: int
    steps: int
    kind: str
    seed: int


def calls_of(network, open_batch, open_time):
    """The calls of a network of which some sizes are open."""
    more_rows = MORE_ROWS if open_batch else 0
    more_steps = MORE_STEPS if open_time else 0
    rows = [network.B + more * more_rows for more in (0, 1, 0, 0, 1)]
    steps = [network.T + more * more_steps for more in (0, 1, 0, 1, 0)]
    kinds = _KINDS
    if network.has_stack:  # a stack has lengths only
        kinds = ["empty" if kind == "empty" else "right" for kind in kinds]
    if "mean" in network.outputs:  # Keras divides by the number of valid steps
        kinds = ["right" if kind == "empty" else kind for kind in kinds]
    return [Call(*one) for one in zip(rows, steps, kinds, _SEEDS)]


def mask_of(call, rng):
    """The mask [B, T] of a call."""
    steps = np.arange(call.steps)
    lengths = rng.integers(1, call.steps + 1, call.rows)[:, None]
    lengths[0] = call.steps
    if call.kind == "empty":
        lengths[-1] = 0
    if call.kind == "left":
        return steps >= call.steps - lengths
    if call.kind == "holes":
        mask = rng.random((call.rows, call.steps)) < 0.6
        mask[:, call.steps // 2] = True
        return mask
    return steps < lengths


def arrays_of(network, specs, call):
    """The inputs of a call.

    Args:
        network: The Network.
        specs: {name of an input in the builder: its KerasTensor}.
        call: A Call.

    Returns:
        {name: array}.
    """
    arrays = {}
    for name, spec in specs.items():
        group = name.rpartition("_")[2] if name.endswith("_2") else ""
        mask = mask_of(call, _rng(network, call, f"mask{group}"))
        rng = _rng(network, call, name)
        sizes = [call.rows, call.steps][: len(spec.shape)] + list(spec.shape[2:])
        if name.startswith("mask"):
            arrays[name] = mask
        elif name.startswith("state"):
            arrays[name] = 0.5 * rng.standard_normal((call.rows, spec.shape[1]))
        elif network.input == "words":
            low = 1 if network.mask == "layer" else 0
            words = rng.integers(low, WORDS, sizes)
            arrays[name] = np.where(mask, words, 0) if network.mask == "layer" else words
        else:
            floats = rng.standard_normal(sizes)
            arrays[name] = floats * mask[..., None] if network.mask == "layer" else floats
        arrays[name] = arrays[name].astype(spec.dtype)
    return arrays


def _rng(network, call, name):
    return np.random.default_rng([network.seed, call.seed, zlib.crc32(name.encode())])
