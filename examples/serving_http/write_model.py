"""Writes a text classifier as version N of a model: python write_model.py FOLDER N [--keras]

Token numbers of any length in, padded with 0 on the right, and three probabilities out. The weights
are random: N is their seed. With --keras the layers are those of keras.layers.
"""

import argparse
import pathlib

import keras

import tf_rnn_ops.keras

TOKENS, CLASSES = 1000, 3


def make_model(layers, seed):
    """Returns the model, whose weights depend on `seed` alone and not on `layers`.

    Args:
        layers: keras.layers or tf_rnn_ops.keras.layers.
        seed: A whole number.
    """
    keras.utils.set_random_seed(seed)
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32", name="tokens"),
            keras.layers.Embedding(TOKENS, 32, mask_zero=True),
            keras.layers.Bidirectional(layers.LSTM(32, return_sequences=True)),
            layers.GRU(32),
            keras.layers.Dense(CLASSES, activation="softmax"),
        ]
    )


def write(folder, version, layers=tf_rnn_ops.keras.layers):
    """Writes the SavedModel FOLDER/VERSION in one step, so that no server sees half of it."""
    target = pathlib.Path(folder) / str(version)
    draft = target.with_name(f".{version}")
    make_model(layers, version).export(draft, verbose=False)
    draft.rename(target)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("version", type=int)
    parser.add_argument("--keras", action="store_true", help="use the layers of keras.layers")
    options = parser.parse_args()
    layers = keras.layers if options.keras else tf_rnn_ops.keras.layers
    print(f"wrote {write(options.folder, options.version, layers)}")


if __name__ == "__main__":
    main()
