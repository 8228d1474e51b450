"""Microseconds of three models of windows next to ONNX Runtime and LiteRT: python -m benchmarks.windows [--batch B]

The minima of calls in turns, on one thread. A runtime that is not installed is left out.
"""

import argparse
import os
import tempfile
import time

import keras
import numpy as np

import tf_rnn_ops.keras as rnn

L = keras.layers


def classifier():
    return [
        keras.Input((100,), dtype="int32", name="words"),
        L.Embedding(5000, 64),
        L.Bidirectional(L.LSTM(64)),
        L.Dense(1, activation="sigmoid"),
    ]


def autoencoder():
    return [
        keras.Input((30, 8), name="x"),
        L.LSTM(64),
        L.RepeatVector(30),
        L.LSTM(64, return_sequences=True),
        L.TimeDistributed(L.Dense(8)),
    ]


def convolution():
    return [
        keras.Input((128, 6), name="x"),
        L.Conv1D(64, 5, padding="same", activation="relu"),
        L.MaxPooling1D(2),
        L.GRU(64, return_sequences=True),
        L.GlobalMaxPooling1D(),
        L.Dense(6, activation="softmax"),
    ]


def of_onnx(model, folder, name, x):
    import onnxruntime

    path = os.path.join(folder, "model.onnx")
    rnn.export(model, path, print_fn=None, verify=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {name: x})[0]


def of_litert(model, folder, name, x):
    from ai_edge_litert.interpreter import Interpreter

    path = os.path.join(folder, "model.tflite")
    rnn.export(model, path, batch_size=len(x), print_fn=None, verify=False)
    runner = Interpreter(path, num_threads=1).get_signature_runner()
    return lambda: next(iter(runner(**{name: x}).values()))


def calls_of(model, x, folder):
    """{name: call}."""
    stepper = rnn.stepper(model, batch_size=len(x), streaming=False)
    calls = {"stepper": lambda: stepper(x)}
    for runtime, make in (("ONNX Runtime", of_onnx), ("LiteRT", of_litert)):
        try:
            calls[runtime] = make(model, folder, stepper.inputs[0].name, x)
        except ImportError as error:
            print(f"{runtime} is left out: {error}")
    return calls


def shortest(calls, rounds, repeats=10):
    """{name: the shortest time of a call, in microseconds}, of calls in turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            for _ in range(repeats):
                begin = time.perf_counter()
                call()
                best[name] = min(best[name], 1e6 * (time.perf_counter() - begin))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=150)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    for make in (classifier, autoencoder, convolution):
        model = keras.Sequential(make())
        shape = (options.batch, *model.input_shape[1:])
        words = model.inputs[0].dtype == "int32"
        x = rng.integers(1, 5000, shape) if words else rng.standard_normal(shape)
        x = x.astype(model.inputs[0].dtype)
        with tempfile.TemporaryDirectory() as folder:
            calls = calls_of(model, x, folder)
            for name, call in calls.items():
                np.testing.assert_allclose(call(), model(x), atol=1e-5, err_msg=name)
            times = shortest(calls, options.rounds)
        print(make.__name__, ", ".join(f"{name} {us:.1f} us" for name, us in times.items()))


if __name__ == "__main__":
    main()
