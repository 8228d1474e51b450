"""Runs, trains and rewrites the model of write_model.py on a CPU: python run_on_cpu.py FOLDER [--steps N]"""

import argparse
import pathlib

import numpy as np
import tensorflow as tf

import tf_rnn_ops
from tf_rnn_ops import portable


def train(model, steps):
    """Trains the loaded model on sine waves; returns the losses."""
    phase = np.random.default_rng(1).uniform(0, 2 * np.pi, 32)
    wave = np.sin(0.3 * np.arange(41)[:, None] + phase)[..., None].astype(np.float32)
    optimizer = tf.keras.optimizers.Adam(0.01)
    variables = [model.params, model.dense]
    losses = []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            guess = model.predict(wave[:-1])["next"]
            loss = tf.reduce_mean(tf.square(guess - wave[1:]))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        losses.append(float(loss))
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", type=pathlib.Path, help="folder of the SavedModel that write_model.py wrote"
    )
    parser.add_argument(
        "--steps", type=int, default=200, help="training steps (default: %(default)s)"
    )
    options = parser.parse_args()

    # A machine without cuDNN needs only this call, before the model is loaded.
    tf_rnn_ops.enable_stock_ops()
    model = tf.saved_model.load(str(options.folder))
    losses = train(model, options.steps)
    print(f"mean squared error {losses[0]:.4f} -> {losses[-1]:.4f} in {options.steps} steps")

    # Alternative: a rewritten model that any TensorFlow runs without tf_rnn_ops.
    target = options.folder.with_name(options.folder.name + "_portable")
    report = portable.rewrite_saved_model(options.folder, target)
    print(report)
    if not report.ok:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
