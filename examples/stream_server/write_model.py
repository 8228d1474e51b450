"""Trains a model of streams for one more epoch: python write_model.py FOLDER

It goes on with FOLDER/model.keras, or begins a new model, and replaces FOLDER/model.rnn, which server.py takes.
"""

import pathlib
import sys

import keras
import numpy as np

import tf_rnn_ops.keras

SIZE = 4


def new_model():
    layers = [
        keras.Input((None, SIZE), name="frame"),
        keras.layers.GRU(32, return_sequences=True, name="gru"),
        keras.layers.Dense(SIZE, name="next"),
    ]
    model = keras.Sequential(layers)
    model.compile("adam", "mse")
    return model


def waves(count=256, steps=50):
    """Waves of any speed, and their next steps."""
    draw = np.random.default_rng()
    speed, begin = draw.uniform(0.05, 0.5, (2, count, 1, SIZE))
    x = np.sin(speed * np.arange(steps + 1)[:, None] + 10 * begin).astype("float32")
    return x[:, :-1], x[:, 1:]


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    kept, served = folder / "model.keras", folder / "model.rnn"
    model = keras.saving.load_model(kept) if kept.exists() else new_model()
    loss = model.fit(*waves(), epochs=1, verbose=0).history["loss"][0]
    model.save(kept)
    stepper = tf_rnn_ops.keras.stepper(model)
    # The server reads the old or the new file.
    stepper.save(served, metadata={"loss": f"{loss:.3f}"}, overwrite=True)
    print(f"{served}: loss {loss:.3f}, fingerprint {stepper.fingerprint[:12]}")


if __name__ == "__main__":
    main(sys.argv[1])
