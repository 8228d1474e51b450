"""An encoder-decoder with attention that reverses sequences of digits of different lengths.

The encoder reads the digits. The decoder writes them in reverse, and attends to all states of the encoder.
0 is padding, which masks leave out; the decoder begins with START.
"""

import comparison
import keras
import numpy as np

LONGEST = 10
START, VOCABULARY = 11, 12  # digits are 1 to 10


def digits(rng, count):
    """Returns the digits [count, LONGEST], the same reversed, and the inputs of the decoder."""
    x = rng.integers(1, START, size=(count, LONGEST))
    lengths = rng.integers(4, LONGEST + 1, size=count)
    steps = np.arange(LONGEST)
    valid = steps < lengths[:, None]
    x = np.where(valid, x, 0)
    backwards = np.where(valid, lengths[:, None] - 1 - steps, steps)
    y = np.take_along_axis(x, backwards, axis=1)
    return x, y, after_start(y)


def after_start(y):
    """The inputs of a decoder that is to write y: START, then y without its last digit."""
    shifted = np.concatenate([np.full((len(y), 1), START), y[:, :-1]], axis=1)
    return np.where((y > 0) | (np.arange(y.shape[1]) == 0), shifted, 0)


def make_model(layers, units):
    """A model whose recurrent layers come from the module `layers`."""
    source = keras.Input((None,), dtype="int32", name="source")
    before = keras.Input((None,), dtype="int32", name="before")
    x = keras.layers.Embedding(VOCABULARY, 32, mask_zero=True)(source)
    encoded = keras.layers.Bidirectional(layers.LSTM(units, return_sequences=True))(x)
    encoded, *states = layers.LSTM(units, return_sequences=True, return_state=True)(encoded)
    y = keras.layers.Embedding(VOCABULARY, 32, mask_zero=True)(before)
    y = layers.LSTM(units, return_sequences=True)(y, initial_state=states)
    context = keras.layers.AdditiveAttention()([y, encoded])
    y = keras.layers.Concatenate()([y, context])
    model = keras.Model([source, before], keras.layers.Dense(VOCABULARY)(y))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    return model


def write(model, x):
    """Lets the decoder read what it wrote itself, digit by digit."""
    y = np.zeros_like(x)
    for step in range(x.shape[1]):
        before = np.concatenate([np.full((len(x), 1), START), y[:, :-1]], axis=1)
        scores = model.predict_on_batch([x, before])[:, step, 1:START]
        y[:, step] = np.where(x[:, step] > 0, 1 + scores.argmax(axis=-1), 0)
    return y


def main(argv=None):
    """Trains and prints the comparison; returns the runs."""
    options = comparison.parse(
        __doc__,
        argv,
        count=(4096, "training sequences"),
        units=(64, "units of each layer"),
        epochs=(6, "epochs of each training"),
    )
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x, y, before = digits(rng, options.count)
    test_x, test_y, _ = digits(rng, 256)

    def fit(model, callbacks):
        model.fit([x, before], y, batch_size=64, shuffle=False, verbose=0, callbacks=callbacks)

    runs = comparison.train(lambda layers: make_model(layers, options.units), fit, options.epochs)
    shares = [f"{(write(run.model, test_x) == test_y).all(axis=1).mean():.0%}" for run in runs]
    comparison.show(runs, "right test sequences", shares)
    return runs


if __name__ == "__main__":
    main()
