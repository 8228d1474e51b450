"""Ways to speed up the recurrent layers of a Keras model, and their training times.

The task is to tell which of two words came first in a noisy sequence. The same model, from the same
weights, is trained

1. on keras.layers.LSTM, 2. on tf_rnn_ops.keras.LSTM (one import changed), 3. on keras.layers.LSTM again,
inside tf_rnn_ops.keras.accelerate().

and then the first model is converted and must make the same predictions as before.
"""

import argparse
import sys
import time

import keras
import numpy as np

import tf_rnn_ops.keras

VOCABULARY = 20


def sequences(count, length, seed=0):
    """Sequences of words, some masked by 0, and whether word 1 comes before word 2."""
    rng = np.random.default_rng(seed)
    words = rng.integers(3, VOCABULARY, size=(count, length))
    first, second = np.sort(rng.permuted(np.tile(np.arange(length), (count, 1)), axis=1)[:, :2]).T
    label = rng.integers(0, 2, size=count)
    rows = np.arange(count)
    words[rows, first] = 2 - label
    words[rows, second] = 1 + label
    empty = rng.random((count, length)) < 0.2
    empty[rows, first] = empty[rows, second] = False
    return np.where(empty, 0, words), label


def classifier(layers, units):
    """A model whose recurrent layers come from the module `layers`."""
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(VOCABULARY, 16, mask_zero=True),
            keras.layers.Bidirectional(layers.LSTM(units, return_sequences=True)),
            layers.LSTM(units),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )


def train(model, data, epochs):
    """Trains and returns the last loss and the seconds per epoch after the first."""
    model.compile("adam", "binary_crossentropy")
    times = []
    for _ in range(epochs):
        start = time.perf_counter()
        history = model.fit(*data, batch_size=64, shuffle=False, verbose=0)
        times.append(time.perf_counter() - start)
    return history.history["loss"][-1], min(times[1:] or times)


def main():
    """Runs the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1024, help="number of sequences")
    parser.add_argument("--length", type=int, default=50, help="words of a sequence")
    parser.add_argument("--units", type=int, default=64, help="units of an LSTM")
    parser.add_argument("--epochs", type=int, default=3, help="epochs of every training")
    options = parser.parse_args()

    keras.utils.set_random_seed(0)
    data = sequences(options.count, options.length)
    stock = classifier(keras.layers, options.units)
    start = stock.get_weights()
    print("Keras's own layers:")
    loss, seconds = train(stock, data, options.epochs)
    print(f"  loss {loss:.4f}, {seconds:.2f} s per epoch")

    ours = classifier(tf_rnn_ops.keras, options.units)
    ours.set_weights(start)
    print("With tf_rnn_ops.keras.LSTM:")
    our_loss, our_seconds = train(ours, data, options.epochs)
    print(f"  loss {our_loss:.4f}, {our_seconds:.2f} s per epoch")
    tf_rnn_ops.keras.explain(ours)

    with tf_rnn_ops.keras.accelerate():
        accelerated = classifier(keras.layers, options.units)
        accelerated.set_weights(start)
        print("Keras's own layers, accelerated:")
        fast_loss, fast_seconds = train(accelerated, data, options.epochs)
        print(f"  loss {fast_loss:.4f}, {fast_seconds:.2f} s per epoch")

    converted = tf_rnn_ops.keras.convert(stock)
    before, after = (model.predict(data[0], verbose=0) for model in (stock, converted))
    difference = np.max(np.abs(before - after))
    print(f"Converted after training: predictions differ by at most {difference:.1e}")

    apart = max(abs(our_loss - loss), abs(fast_loss - loss))
    if apart > 1e-3 or difference > 1e-4:
        print("The models do not agree.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
