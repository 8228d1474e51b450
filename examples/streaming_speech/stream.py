"""A speech model that is called for each frame of a WAV file, as of a microphone: 125 times a second."""

import argparse
import os
import pathlib
import sys
import tempfile
import time

# One frame is too little work for two threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "comparisons"))

import keras  # noqa: E402
import numpy as np  # noqa: E402
import sound  # noqa: E402
import speech_ctc  # noqa: E402
import tensorflow as tf  # noqa: E402

import tf_rnn_ops.keras  # noqa: E402
import tf_rnn_ops.stepper  # noqa: E402
from tf_rnn_ops._formats import formats  # noqa: E402

RATE = sound.SAMPLE_RATE / sound.SAMPLES  # frames a second
LETTERS = "-abcdefghij"  # of the symbols; 0 is CTC's blank
ENDINGS = {
    "tf_saved_model": "",
    "onnx": ".onnx",
    "litert": ".tflite",
    "openvino": ".xml",
    "rnn": ".rnn",
}


def train(voice, units, epochs):
    """Trains the model of ../comparisons/speech_ctc.py in one direction. Returns its weights."""
    model = speech_ctc.make_model(tf_rnn_ops.keras, units, bidirectional=False)
    x, y = speech_ctc.utterances(np.random.default_rng(0), voice, 512)
    model.fit(x, y, batch_size=32, epochs=epochs, verbose=0)
    return model.get_weights()


def make_model(weights, units, stateful=False):
    """The trained model, from features [B, T, 16] to scores [B, T, 11] of the symbols."""
    shape = (1, None, speech_ctc.FEATURES) if stateful else (None, None, speech_ctc.FEATURES)
    inputs = x = keras.Input(batch_shape=shape, name="features")
    for _ in range(2):
        x = keras.layers.LSTM(units, return_sequences=True, stateful=stateful)(x)
    model = keras.Model(inputs, keras.layers.Dense(len(LETTERS))(x))
    model.set_weights(weights)
    return model


def decode(scores):
    """The letters of scores [T, 11]: the best symbol of each step, without repetitions and blanks."""
    best = np.argmax(scores, -1)
    changed = np.append(True, best[1:] != best[:-1])
    return "".join(LETTERS[k] for k in best[changed] if k > 0)


def errors(heard, said):
    """The smallest number of letters to insert, leave out or replace, from one text to the other."""
    row = list(range(len(said) + 1))
    for k, letter in enumerate(heard):
        above, row = row, [k + 1]
        for j, other in enumerate(said):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (letter != other)))
    return row[-1]


def file_step(model, name, folder):
    """Writes the model in a format. Returns a function of a frame's features, which keeps the states."""
    path = pathlib.Path(folder) / f"speech{ENDINGS[name]}"
    tf_rnn_ops.keras.export(model, path, name, streaming=True, batch_size=1, time=1, print_fn=None)
    if name == "rnn":
        return tf_rnn_ops.stepper.load(path)
    call = formats.writer(name).load(str(path))
    states = {}
    for layer in model.layers:
        if isinstance(layer, keras.layers.LSTM):
            for letter in "hc":
                states[f"{layer.name}_{letter}"] = np.zeros((1, layer.units), np.float32)

    def step(features):
        results = call({"features": features, **states})
        for state in states:
            states[state] = results[f"{state}_next"]
        return results["output_0"]

    return step


def keras_step(weights, units):
    """Returns a function of a frame's features, with Keras's stateful layers in a tf.function."""
    stateful = make_model(weights, units, stateful=True)
    function = tf.function(lambda features: stateful(features, training=False))
    function(np.zeros((1, 1, speech_ctc.FEATURES), np.float32))
    for layer in stateful.layers:
        if isinstance(layer, keras.layers.LSTM):
            layer.reset_state()
    return lambda features: function(features).numpy()


def listen(step, frames, wait):
    """Calls a function for each frame.

    Args:
        step: A function from features [1, 1, 16] to scores [1, 1, 11].
        frames: The samples of each frame.
        wait: Whether to wait for the time of each frame, as a microphone does.

    Returns:
        The scores [T, 11], and the milliseconds of each frame, features included.
    """
    scores, times = [], []
    start = time.perf_counter()
    for k, frame in enumerate(frames):
        if wait:
            time.sleep(max(0.0, start + k / RATE - time.perf_counter()))
        begin = time.perf_counter()
        scores.append(step(sound.features(frame)[None, None])[0, 0])
        times.append(1e3 * (time.perf_counter() - begin))
    return np.stack(scores), times


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wav", help="where to write the WAV file (default: a temporary file)")
    parser.add_argument(
        "--seconds", type=float, default=8, help="length of the file (default: %(default)s)"
    )
    parser.add_argument(
        "--units", type=int, default=128, help="units of each layer (default: %(default)s)"
    )
    parser.add_argument(
        "--epochs", type=int, default=8, help="epochs of the training (default: %(default)s)"
    )
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the next frame")
    return parser.parse_args(argv)


def main(argv=None):
    """Trains, and prints the latency of a frame in each installed format and in Keras.

    Args:
        argv: The arguments; those of the process if None.

    Returns:
        {name: the letters}: those that were said, those of the whole sequence at once, and those of each format.
    """
    options = parse(argv)
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    voice = rng.normal(size=(speech_ctc.SYMBOLS + 1, speech_ctc.FEATURES))
    start = time.perf_counter()
    weights = train(voice, options.units, options.epochs)
    print(f"{options.epochs} epochs of training: {time.perf_counter() - start:.0f} s")
    model = make_model(weights, options.units)
    count = int(RATE * options.seconds) // speech_ctc.FRAMES
    said = rng.integers(1, len(LETTERS), size=(1, count))
    with tempfile.TemporaryDirectory() as folder:
        wav = options.wav or f"{folder}/speech.wav"
        sound.write(wav, speech_ctc.spoken(rng, voice, said)[0])
        frames = list(sound.frames(wav))
        whole = np.stack([sound.features(frame) for frame in frames])
        letters = {"said": "".join(LETTERS[k] for k in said[0])}
        letters["whole sequence"] = decode(model(whole[None], training=False)[0])
        print(f"said   {letters['said'][:60]}")
        print(f"heard  {letters['whole sequence'][:60]}")
        print(f"{errors(*letters.values())} errors in {count} letters")
        steps = {"Keras": keras_step(weights, options.units)}
        for name in formats.FORMATS:
            if why := formats.why_not_run(name):
                print(f"{name}: {why}")
                continue
            steps[name] = file_step(model, name, folder)
        print(f"{len(frames)} frames of {1e3 / RATE:.0f} ms; a frame takes, in ms:")
        print(f"{'':16}{'median':>8}{'p99':>8}")
        for name, step in steps.items():
            scores, times = listen(step, frames, not options.no_wait)
            letters[name] = decode(scores)
            print(f"{name:16}{np.median(times):8.3f}{np.percentile(times, 99):8.3f}")
    same = all(letters[name] == letters["whole sequence"] for name in steps)
    print(f"The letters are{'' if same else ' NOT'} the same as for the whole sequence at once.")
    return letters


if __name__ == "__main__":
    main()
