"""A speech model, from features to letters by CTC, that is called for each frame at 125 Hz."""

import argparse
import os
import pathlib
import tempfile
import time

# One frame is too little work for two threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import tf_rnn_ops.keras  # noqa: E402
from tf_rnn_ops.export import formats  # noqa: E402

RATE = 125  # frames a second
FEATURES = 40
LETTERS = " 'abcdefghijklmnopqrstuvwxyz"
ENDINGS = {"tf_saved_model": "", "onnx": ".onnx", "litert": ".tflite", "openvino": ".xml"}


def make_model(units, layers, stateful=False):
    """A model from features [B, T, 40] to scores [B, T, 29] of the letters and, last, of CTC's blank."""
    shape = (1, None, FEATURES) if stateful else (None, None, FEATURES)
    inputs = x = keras.Input(batch_shape=shape, name="features")
    for _ in range(layers):
        x = keras.layers.LSTM(units, return_sequences=True, stateful=stateful)(x)
    return keras.Model(inputs, keras.layers.Dense(len(LETTERS) + 1)(x))


def decode(scores):
    """The letters of scores [T, 29]: the best symbol of each step, without repetitions and blanks."""
    best = np.argmax(scores, -1)
    changed = np.append(True, best[1:] != best[:-1])
    return "".join(LETTERS[k] for k in best[changed] if k < len(LETTERS))


def file_step(model, name, folder):
    """Writes the model in a format. Returns a function of a frame, which keeps the states."""
    path = pathlib.Path(folder) / f"speech{ENDINGS[name]}"
    signature = [keras.InputSpec(shape=(1, 1, FEATURES), dtype="float32", name="features")]
    tf_rnn_ops.keras.export(
        model, path, name, input_signature=signature, streaming=True, print_fn=None
    )
    call = formats.writer(name).load(str(path))
    states = {}
    for layer in model.layers:
        if isinstance(layer, keras.layers.LSTM):
            for letter in "hc":
                states[f"{layer.name}_{letter}"] = np.zeros((1, layer.units), np.float32)

    def step(frame):
        results = call({"features": frame, **states})
        for state in states:
            states[state] = results[f"{state}_next"]
        return results["output_0"]

    return step


def keras_step(model, units, layers):
    """Returns a function of a frame, with Keras's stateful layers in a tf.function."""
    stateful = make_model(units, layers, stateful=True)
    stateful.set_weights(model.get_weights())
    function = tf.function(lambda frame: stateful(frame, training=False))
    function(np.zeros((1, 1, FEATURES), np.float32))
    for layer in stateful.layers:
        if isinstance(layer, keras.layers.LSTM):
            layer.reset_state()
    return lambda frame: function(frame).numpy()


def listen(step, frames, wait):
    """Calls a function for each frame.

    Args:
        step: A function from a frame [1, 1, 40] to scores [1, 1, 29].
        frames: [T, 40].
        wait: Whether to wait for the time of each frame.

    Returns:
        The scores [T, 29], and the milliseconds of each call.
    """
    scores, times = [], []
    start = time.perf_counter()
    for k, frame in enumerate(frames):
        if wait:
            time.sleep(max(0.0, start + k / RATE - time.perf_counter()))
        begin = time.perf_counter()
        scores.append(step(frame[None, None])[0, 0])
        times.append(1e3 * (time.perf_counter() - begin))
    return np.stack(scores), times


def main(argv=None):
    """Prints the latency of a frame in each installed format and in Keras.

    Args:
        argv: The arguments; those of the process if None.

    Returns:
        {name: the letters}. The first entry is the result for the whole sequence at once.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds",
        type=float,
        default=8,
        help="length of the stream in seconds (default: %(default)s)",
    )
    parser.add_argument(
        "--units", type=int, default=256, help="units of each layer (default: %(default)s)"
    )
    parser.add_argument("--layers", type=int, default=3, help="LSTM layers (default: %(default)s)")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the next frame")
    options = parser.parse_args(argv)
    keras.utils.set_random_seed(1)
    model = make_model(options.units, options.layers)
    frames = np.random.default_rng(1).standard_normal((int(RATE * options.seconds), FEATURES))
    frames = 3 * frames.astype(np.float32)
    letters = {"whole sequence": decode(model(frames[None], training=False)[0])}
    with tempfile.TemporaryDirectory() as folder:
        steps = {"Keras": keras_step(model, options.units, options.layers)}
        for name in formats.FORMATS:
            if why := formats.why_not_run(name):
                print(f"{name}: {why}")
                continue
            steps[name] = file_step(model, name, folder)
        print(f"{len(frames)} frames of {1e3 / RATE:.0f} ms; a call takes, in ms:")
        print(f"{'':16}{'median':>8}{'p99':>8}")
        for name, step in steps.items():
            scores, times = listen(step, frames, not options.no_wait)
            letters[name] = decode(scores)
            print(f"{name:16}{np.median(times):8.3f}{np.percentile(times, 99):8.3f}")
    same = all(text == letters["whole sequence"] for text in letters.values())
    print(f"The letters are{'' if same else ' NOT'} the same as for the whole sequence at once.")
    return letters


if __name__ == "__main__":
    main()
