"""Cases and helper functions of the tests of the stacks."""

import keras
import numpy as np
import stock_stack

MODES = tuple(stock_stack.LAYERS)
DIRECTIONS = ("unidirectional", "bidirectional")
BATCH, TIME, INPUTS, UNITS = 5, 7, 3, 4
LENGTHS = np.array([7, 5, 1, 6, 3], np.int32)
MASK = np.arange(TIME) < LENGTHS[:, None]


def random_inputs(rng, dtype=np.float64):
    return rng.standard_normal((BATCH, TIME, INPUTS)).astype(dtype)


def stack_pair(mode, direction, layers, rng, return_sequences=True):
    """Our layer and the stock stack with the same random weights, in float64."""
    stock, stack = stock_stack.build(mode, UNITS, layers, direction, return_sequences)
    stock(np.zeros((1, 1, INPUTS)))
    stock_stack.randomize(stack, rng)
    ours = stock_stack.LAYERS[mode](
        UNITS,
        num_layers=layers,
        direction=direction,
        return_sequences=return_sequences,
        dtype="float64",
    )
    ours.build((None, None, INPUTS))
    ours.set_weights([stock_stack.opaque_params(mode, stack, UNITS, INPUTS, direction)])
    return ours, stock


def model_of(cls, **options):
    frames = keras.Input((None, INPUTS), name="frames")
    lengths = keras.Input((), dtype="int32", name="lengths")
    x = cls(UNITS, num_layers=2, direction="bidirectional", dropout=0.1, **options)(
        frames, sequence_lengths=lengths
    )
    return keras.Model({"frames": frames, "lengths": lengths}, keras.layers.Dense(1)(x))
