"""Helper functions of the tests of streams."""

import pathlib
import subprocess
import sys

import keras
import numpy as np

from support.models import drawn

RUNNER = pathlib.Path(__file__).with_name("stream_runner.py")
FILES = {"onnx": "m.onnx", "litert": "m.tflite", "openvino": "m.xml"}


def sequence(*shape, seed=1):
    """Random numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def outputs_of_file(path, steps, sequences, inputs=None):
    """{name: outputs of all calls, joined}, of a file that runs in a process of its own, on batches of 1."""
    given, out = path.with_name("given.npz"), path.with_name("out.npz")
    arrays = {f"sequence/{name}": array for name, array in sequences.items()}
    arrays |= {f"input/{name}": array for name, array in (inputs or {}).items()}
    np.savez(given, steps=steps, **arrays)
    command = [sys.executable, str(RUNNER), str(path), str(given), str(out)]
    process = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env={"PATH": "/usr/bin"}
    )
    assert process.returncode == 0, process.stderr
    results = dict(np.load(out))
    names = {name.split("/", 1)[1] for name in results}
    calls = 1 + max(int(name.split("/", 1)[0]) for name in results)
    return {n: np.concatenate([results[f"{k}/{n}"] for k in range(calls)], 1) for n in names}


def model_of(layers, size, batch=None, time=None):
    """A functional model with the input 'x' of [batch, time, size]."""
    x = keras.Input(batch_shape=(batch, time, size), name="x")
    return drawn(keras.Model(x, layers(x)))
