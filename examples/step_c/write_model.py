"""Writes a model for step.c: a keyword spotter with a causal convolution and a GRU, with random weights."""

import sys

import keras

import tf_rnn_ops.keras


def main(path: str) -> None:
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((None, 8), name="frames"),
            keras.layers.Conv1D(16, 3, padding="causal", activation="relu"),
            keras.layers.GRU(16, return_sequences=True),
            keras.layers.Dense(4, activation="softmax"),
        ]
    )
    tf_rnn_ops.keras.export(model, path, streaming=True)


if __name__ == "__main__":
    main(sys.argv[1])
