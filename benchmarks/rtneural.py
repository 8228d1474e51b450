"""Times calls of a stepper from C next to RTNeural: make bench BENCH_ARGS="--rtneural CHECKOUT [--xsimd CHECKOUT]"

A model is an LSTM or a GRU on one input, and a Dense layer of one column. RTNeural's models have their sizes at compile
time. Its sources are compiled with xsimd, -march=native and -ffast-math, which also makes the program flush denormal
numbers, as audio hosts do. One thread. RTNeural and xsimd are header-only: github.com/jatinchowdhury18/RTNeural and
github.com/xtensor-stack/xsimd.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

UNITS = (8, 16, 20, 32, 40, 64)
HEAD = ("model", "RTNeural", "stepper, 1", "ratio", "stepper, 32", "ratio")


def package():
    """The folder of the installed package."""
    import tf_rnn_ops

    return pathlib.Path(tf_rnn_ops.__file__).parent


def layer_json(kind, units, weights):
    """A layer as RTNeural's python/model_utils.py writes it."""
    values = [weight.tolist() for weight in weights]
    return {"type": kind, "activation": "", "shape": [None, None, units], "weights": values}


def write_models(folder):
    """A model of each cell and size, for both libraries."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras

    import tf_rnn_ops.keras

    for cell, of_keras in (("lstm", keras.layers.LSTM), ("gru", keras.layers.GRU)):
        for units in UNITS:
            recurrent = of_keras(units, return_sequences=True)
            model = keras.Sequential([keras.Input((None, 1)), recurrent, keras.layers.Dense(1)])
            random = np.random.default_rng(units)
            for weight in model.weights:
                weight.assign(random.uniform(-0.3, 0.3, weight.shape).astype(np.float32))
            tf_rnn_ops.keras.stepper(model).save(folder / f"{cell}{units}.rnn")
            layers = [
                layer_json(cell, units, recurrent.get_weights()),
                layer_json("dense", 1, model.layers[-1].get_weights()),
            ]
            content = {"in_shape": [None, None, 1], "layers": layers}
            (folder / f"{cell}{units}.json").write_text(json.dumps(content))


def build(checkout, xsimd, folder):
    """The program of rtneural.cc."""
    if not (checkout / "RTNeural" / "RTNeural.h").is_file():
        sys.exit(f"{checkout} must be a checkout of RTNeural, but it has no RTNeural/RTNeural.h")
    if not (xsimd / "include" / "xsimd").is_dir():
        sys.exit(
            f"{xsimd} must be a checkout of xsimd, but it has no include/xsimd: name one with --xsimd"
        )
    source, program = pathlib.Path(__file__).with_suffix(".cc"), folder / "rtneural"
    command = ["g++", "-std=c++17", "-O3", "-march=native", "-ffast-math", "-DNDEBUG"]
    command += ["-DRTNEURAL_USE_XSIMD=1", "-DRTNEURAL_DEFAULT_ALIGNMENT=32"]
    command += [f"-DRNN_UNITS={','.join(map(str, UNITS))}"]
    for include in (package() / "include", checkout, checkout / "modules", xsimd / "include"):
        command += ["-isystem", str(include)]
    subprocess.run([*command, str(source), "-o", str(program), "-ldl"], check=True)
    return program


def row(line):
    """A row of the table from a line of the program."""
    cell, units, difference, *times = line.split()
    if not float(difference) < 1e-5:
        sys.exit(f"the results of {cell} with {units} units differ by {difference}")
    peer, one, many = map(float, times)
    ratios = (f"{time / peer:.2f}" for time in (one, many))
    cells = (f"{peer:.0f}", f"{one:.0f}", next(ratios), f"{many:.0f}", next(ratios))
    return f"| {' | '.join((f'{cell.upper()} {units}', *cells))} |"


def compare(checkout, xsimd=None):
    """Prints the table.

    Args:
        checkout: The folder of RTNeural.
        xsimd: The folder of xsimd, or None for the one in that checkout.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = build(checkout, xsimd or checkout / "modules" / "xsimd", folder)
        write_models(folder)
        command = [program, package() / "_tf_rnn_ops_step.so", folder]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print("Nanoseconds a sample, the least of all rounds; a ratio is the time over RTNeural's.\n")
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    print("\n".join(map(row, lines.splitlines())))
