"""Writes a text classifier as version N of a model: python write_model.py FOLDER N [--keras]

The input is sequences of token numbers of any length, padded with 0 on the right. The output is three
probabilities. The weights are random, with the seed N. With --keras the layers are from keras.layers.
"""

import argparse
import pathlib

import keras

import tf_rnn_ops.keras

TOKENS, CLASSES = 1000, 3


def make_model(layers, seed):
    """Returns the model. Its weights depend on `seed` only, not on `layers`.

    Args:
        layers: keras.layers or tf_rnn_ops.keras.layers.
        seed: An integer.
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
    """Writes the SavedModel FOLDER/VERSION in one step, so that no server reads an incomplete model."""
    target = pathlib.Path(folder) / str(version)
    draft = target.with_name(f".{version}")
    make_model(layers, version).export(draft, verbose=False)
    draft.rename(target)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="folder of the versions of the model")
    parser.add_argument(
        "version", type=int, help="number of the version, which is the name of its folder"
    )
    parser.add_argument("--keras", action="store_true", help="use the layers of keras.layers")
    options = parser.parse_args()
    layers = keras.layers if options.keras else tf_rnn_ops.keras.layers
    print(f"wrote {write(options.folder, options.version, layers)}")


if __name__ == "__main__":
    main()
