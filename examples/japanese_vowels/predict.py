"""Loads a classifier that demo.py saved and writes its logits for the test utterances."""

import argparse
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def main(arguments=None):
    """Predicts; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=pathlib.Path, help="a .keras file")
    parser.add_argument("output", type=pathlib.Path, help="the .npy file to write")
    parser.add_argument("--data", type=pathlib.Path, help="another place of japanese_vowels.npz")
    options = parser.parse_args(arguments)

    import keras
    import numpy as np
    import tensorflow as tf

    import models  # It also registers CudnnLSTM with Keras, as loading needs.
    import vowels

    # As in demo.py, the model runs on the CPU, also on a machine with a GPU.
    tf.config.set_visible_devices([], "GPU")
    try:
        _, test = vowels.load(options.data or vowels.DEFAULT_PATH)
        model = keras.models.load_model(options.model)
    except (OSError, ValueError, vowels.DataError) as error:
        print(f"predict.py: {error}", file=sys.stderr)
        return 1
    np.save(options.output, models.predict(model, test))
    return 0


if __name__ == "__main__":
    sys.exit(main())
