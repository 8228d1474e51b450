"""Time and peak memory of a whole model: the CTC speech model of examples/comparisons, compared with Keras.

Each measurement runs in a process of its own, because memory that TensorFlow has freed stays resident. The
packages take turns in rounds. A time is the median of all epochs, or of all predictions of the training
utterances, without the first of each process, which traces. The memory is the highest resident size of a
process: Python, TensorFlow, the data and the model.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
# {name: (module of the layers, jit_compile)}
PACKAGES = {
    "Keras": ("keras.layers", False),
    "Keras jit": ("keras.layers", True),
    "tf_rnn_ops": ("tf_rnn_ops.keras", False),
}
MODES = ("training", "inference")


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="Example: python -m benchmarks.speech"
    )
    sizes = {
        "units": (256, "units of each layer and direction"),
        "count": (512, "utterances of an epoch"),
        "epochs": (4, "epochs or predictions of a process after the first"),
        "rounds": (2, "processes of each package and mode"),
    }
    for name, (default, meaning) in sizes.items():
        help_text = f"{meaning} (default: %(default)s)"
        parser.add_argument(f"--{name}", type=int, default=default, help=help_text)
    parser.add_argument(
        "--packages",
        nargs="*",
        default=list(PACKAGES),
        choices=PACKAGES,
        help="layers to measure (default: all)",
    )
    parser.add_argument(
        "--modes",
        nargs="*",
        default=MODES,
        choices=MODES,
        help="what to measure (default: %(default)s)",
    )
    parser.add_argument("--one", nargs=2, metavar=("PACKAGE", "MODE"), help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def measure(package, mode, options):
    """Measures in this process; returns {"seconds": of each epoch, "mebibytes": the peak}."""
    import importlib

    import keras
    import numpy as np

    sys.path.insert(0, str(ROOT / "examples" / "comparisons"))
    import speech_ctc as example

    module, jit = PACKAGES[package]
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    voice = rng.normal(size=(example.SYMBOLS + 1, example.FEATURES))
    x, y = example.utterances(rng, voice, options.count)
    model = example.make_model(importlib.import_module(module), options.units)
    model.compile(model.optimizer, jit_compile=jit)
    runs = {
        "training": lambda: model.fit(x, y, batch_size=32, shuffle=False, verbose=0),
        "inference": lambda: model.predict(x, batch_size=32, verbose=0),
    }
    seconds = []
    for _ in range(options.epochs + 1):
        start = time.perf_counter()
        runs[mode]()
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds[1:], "mebibytes": peak_mebibytes()}


def peak_mebibytes():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def in_a_process(package, mode, argv):
    """The result of `measure` in a new process."""
    # Behind the other paths, so that an installed tf_rnn_ops is found first.
    code = (
        f"import sys; sys.path = [p for p in sys.path if p] + [{str(ROOT)!r}]; "
        "from benchmarks.speech import main; main()"
    )
    command = [sys.executable, "-c", code, *argv, "--one", package, mode]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    options = parse_args(argv)
    if options.one:
        print(json.dumps(measure(*options.one, options)))
        return
    print("| package | mode | s | smallest | largest | peak MiB |")
    print("| --- | --- | --- | --- | --- | --- |")
    results = {(package, mode): [] for mode in options.modes for package in options.packages}
    for _ in range(options.rounds):
        for (package, mode), found in results.items():
            found.append(in_a_process(package, mode, argv))
            print(package, mode, found[-1], file=sys.stderr)
    for (package, mode), found in results.items():
        seconds = [second for result in found for second in result["seconds"]]
        times = (statistics.median(seconds), min(seconds), max(seconds))
        peak = max(result["mebibytes"] for result in found)
        columns = " | ".join(f"{second:.3f}" for second in times)
        print(f"| {package} | {mode} | {columns} | {peak:.0f} |")


if __name__ == "__main__":
    main()
