"""Tells nine speakers apart by their vowels: a two-layer bidirectional LSTM on one tf_rnn_ops op.

Trains this model and the same model on stock Keras layers on the CPU, from the same initial weights.
Prints the accuracy and the speed of both models, saves the first model and loads it again in a new
process.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

TARGET = 0.97
EPOCHS = 60
SEED = 1
# The number of each speaker's last utterances of the training set, for --holdout.
HELD_OUT = 6
OURS, STOCK = "tf_rnn_ops", "stock Keras"


def main(arguments=None):
    """Runs the demo; returns the exit status: 1 for a failure, with a sentence on stderr."""
    options = _parse(arguments)
    try:
        return _run(options)
    except DemoError as error:
        print(f"demo.py: {error}", file=sys.stderr)
        return 1


class DemoError(Exception):
    """A failure with a sentence for the user."""


def _parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--epochs",
        type=_positive,
        default=EPOCHS,
        help="epochs of both models (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=SEED,
        help="seed of weights, noise, dropout and order (default: %(default)s)",
    )
    parser.add_argument(
        "--data",
        type=pathlib.Path,
        help="the data file (default: japanese_vowels.npz next to this script)",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("demo_output"),
        help="folder for the model and the plots (default: ./%(default)s)",
    )
    parser.add_argument(
        "--holdout",
        action="store_true",
        help=f"train without every speaker's last {HELD_OUT} training utterances "
        "and test on these: for trying out settings without the test set",
    )
    return parser.parse_args(arguments)


def _positive(text):
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return value


def _run(options):
    began = time.perf_counter()
    train, test = _load_data(options)
    output = _make_folder(options.output)
    _send_log_to(output / "tensorflow.log")
    models, training, plots = _import_modules()

    import keras

    tested = "held-out" if options.holdout else "test"
    print(
        f"{len(train)} training and {len(test)} {tested} utterances, "
        f"{train.lengths.min()} to {max(train.lengths.max(), test.lengths.max())} frames, "
        f"{options.epochs} epochs, seed {options.seed}"
    )
    keras.utils.set_random_seed(options.seed)
    built = {
        STOCK: models.build_stock(train, options.seed),
        OURS: models.build_ours(train, options.seed),
    }
    models.copy_weights(built[STOCK], built[OURS])
    first = {name: models.predict(model, train) for name, model in built.items()}
    print(
        "same initial weights: the first logits of the two models differ by at most "
        f"{abs(first[OURS] - first[STOCK]).max():.1e}"
    )

    runs = {
        name: training.fit(built[name], train, options.epochs, options.seed, name)
        for name in (OURS, STOCK)
    }
    logits = {name: models.predict(model, test) for name, model in built.items()}
    right = {name: int((logits[name].argmax(axis=1) == test.speakers).sum()) for name in logits}

    params = {name: model.count_params() for name, model in built.items()}
    print(_table(runs, right, len(test), params, tested))
    accuracy = right[OURS] / len(test)
    if options.epochs >= EPOCHS and not options.holdout:
        reached = "reached" if accuracy >= TARGET else "NOT reached"
        print(f"target: test accuracy of {TARGET} {reached}")

    plots.losses(output / "loss.png", runs)
    plots.confusion(
        output / "confusion.png",
        _confusion(logits[OURS], test.speakers),
        f"{OURS}: {right[OURS]} of {len(test)} utterances right",
    )
    model_path = output / "japanese_vowels.keras"
    built[OURS].save(model_path)
    if not options.holdout:
        _check_saved(model_path, options.data, logits[OURS])
    print(
        f"wrote {model_path.name}, loss.png, confusion.png and tensorflow.log to {output.resolve()}"
    )
    print(f"took {time.perf_counter() - began:.0f} s")
    return 0


def _load_data(options):
    import vowels

    try:
        train, test = vowels.load(options.data or vowels.DEFAULT_PATH)
    except vowels.DataError as error:
        raise DemoError(error) from error
    return train.hold_out(HELD_OUT) if options.holdout else (train, test)


def _make_folder(path):
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError("no permission to write there")
    except OSError as error:
        raise DemoError(f"cannot use the output folder {path}: {error}") from error
    return path


def _send_log_to(path):
    """Redirects the stderr of TensorFlow's C++ code to a file. Python's stderr does not change."""
    sys.stderr.flush()
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    with path.open("w") as log:
        os.dup2(log.fileno(), 2)


def _import_modules():
    """Imports the modules that need TensorFlow or matplotlib, after --help and the checks of the data."""
    try:
        import tensorflow as tf

        import models
        import plots
        import training
    except ImportError as error:
        raise DemoError(
            f"{error}. The demo needs tf_rnn_ops, tensorflow, keras and matplotlib; "
            "`make demo` sets them up in .venv."
        ) from error
    # Both models run on the CPU, also on a machine with a GPU.
    tf.config.set_visible_devices([], "GPU")
    return models, training, plots


def _table(runs, right, count, params, tested):
    ours, stock = runs[OURS], runs[STOCK]
    rows = [
        ("", OURS, STOCK, "ratio"),
        (f"{tested} accuracy", f"{right[OURS] / count:.4f}", f"{right[STOCK] / count:.4f}", ""),
        (f"right of {count}", str(right[OURS]), str(right[STOCK]), ""),
        ("training loss, last epoch", f"{ours.losses[-1]:.4f}", f"{stock.losses[-1]:.4f}", ""),
        (
            "seconds per epoch *",
            f"{ours.epoch_seconds:.4f}",
            f"{stock.epoch_seconds:.4f}",
            f"{stock.epoch_seconds / ours.epoch_seconds:.2f} x",
        ),
        (
            "first epoch, with tracing",
            f"{ours.seconds[0]:.2f}",
            f"{stock.seconds[0]:.2f}",
            f"{stock.seconds[0] / ours.seconds[0]:.2f} x",
        ),
        ("parameters **", f"{params[OURS]}", f"{params[STOCK]}", ""),
    ]
    lines = [f"{a:<27}{b:>13}{c:>13}{d:>9}" for a, b, c, d in rows]
    lines.insert(1, "-" * len(lines[0]))
    note = (
        "median without the first epoch"
        if len(ours.seconds) > 1
        else "of the only epoch, tracing included"
    )
    return "\n".join(
        [
            "",
            *lines,
            f"*  {note}; ratio: stock Keras / tf_rnn_ops",
            "** the op has an input and a recurrent bias where Keras has their sum",
            "",
        ]
    )


def _confusion(logits, speakers):
    import numpy as np

    size = logits.shape[1]
    pairs = speakers.astype(np.int64) * size + logits.argmax(axis=1)
    return np.bincount(pairs, minlength=size * size).reshape(size, size)


def _check_saved(model_path, data, logits):
    """Loads the model in a fresh process and compares its logits bit by bit."""
    import numpy as np

    predictions = model_path.with_name("predictions.npy")
    script = pathlib.Path(__file__).resolve().with_name("predict.py")
    command = [sys.executable, str(script), str(model_path), str(predictions)]
    command += ["--data", str(data)] if data else []
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise DemoError(f"the fresh process failed:\n{finished.stderr}")
    if not np.array_equal(np.load(predictions), logits):
        worst = abs(np.load(predictions) - logits).max()
        raise DemoError(
            f"the predictions of the saved model in a fresh process differ by {worst:.1e}"
        )
    print(f"saved and loaded in a fresh process: all {len(logits)} predictions are identical")


if __name__ == "__main__":
    sys.exit(main())
