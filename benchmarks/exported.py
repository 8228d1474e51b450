"""Exported models next to the same layer written by hand, in ONNX Runtime and LiteRT, one thread.

    python -m benchmarks.exported [SHAPES ...] [--formats onnx litert] [--output FILE]

A model of one layer of Keras is written by tf_rnn_ops.keras.export. Beside it runs a file with the one
node of the runtime that computes it; LiteRT has none for GRU, so there the file that TensorFlow's
converter makes of Keras's layer runs. The files take turns in one process, after their results were
compared. A ratio is the time of the exported file over that of the other: the median of the turns'.
"""

import argparse
import json
import os
import pathlib
import statistics
import tempfile
import time

import numpy as np

from benchmarks import machine, problems

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

SHAPES = ("100 1 128 256", "20 8 64 64", "1 1 128 256")
TURN_SECONDS = 0.1


FORMATS = ("onnx", "litert")


def parse_args(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shapes", nargs="*", default=SHAPES, help="'T B I H', each in quotes")
    parser.add_argument("--formats", nargs="*", choices=FORMATS, default=FORMATS)
    parser.add_argument("--cells", nargs="*", choices=["lstm", "gru"], default=["lstm", "gru"])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--output", type=pathlib.Path, help="JSON file")
    return parser.parse_args(argv)


# ---- files that are not ours ----


def other_onnx(problem, model, path):
    """One node and what makes its results those of the layer."""
    from benchmarks.peers import onnx_model

    kernel, recurrent, bias = (np.array(w) for w in model.get_weights())
    bias = np.stack([bias, np.zeros_like(bias)]) if bias.ndim == 1 else bias
    # Keras has z, r, h where the shared order is r, z, n.
    order = (0, 1, 2, 3) if problem.cell == "lstm" else (1, 0, 2)

    def gates(array):
        parts = np.split(array, len(order), -1)
        return np.concatenate([parts[k] for k in order], -1).T

    weights = [gates(array) for array in (kernel, recurrent, *bias)]
    path.write_bytes(onnx_model.build(problem, [weights], training=False))


def other_litert(problem, model, path):
    """One node for an LSTM; what TensorFlow's converter makes of Keras's GRU."""
    import tensorflow as tf

    from benchmarks.peers import litert_model

    if problem.cell == "lstm":
        shape = (problem.B, problem.T, problem.I)
        path.write_bytes(litert_model.build(shape, *model.get_weights()))
        return
    path.write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())


# ---- their runtimes ----


def run_onnx(path, x):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    return lambda: session.run(None, {given.name: x})[0]


def run_litert(path, x):
    from ai_edge_litert import interpreter

    model = interpreter.Interpreter(model_path=str(path), num_threads=1)
    model.allocate_tensors()
    (given,), (result,) = model.get_input_details(), model.get_output_details()

    def run():
        model.set_tensor(given["index"], x)
        model.invoke()
        return model.get_tensor(result["index"])

    return run


OTHERS = {"onnx": other_onnx, "litert": other_litert}
RUN = {"onnx": run_onnx, "litert": run_litert}


# ---- the comparison ----


def make_model(problem):
    import keras

    layer = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}[problem.cell]
    inputs = keras.Input(batch_shape=(problem.B, problem.T, problem.I))
    model = keras.Model(inputs, layer(problem.H, return_sequences=True)(inputs))
    rng = np.random.default_rng(0)
    model.set_weights([0.1 * rng.standard_normal(w.shape) for w in model.get_weights()])
    return model


def compare(problem, name, args, folder):
    """The times of both files, in seconds a call, and the ops of ours."""
    import tf_rnn_ops.keras

    model = make_model(problem)
    x = np.random.default_rng(1).standard_normal(model.inputs[0].shape).astype(np.float32)
    exported, other = folder / "exported", folder / "other"
    report = tf_rnn_ops.keras.export(model, exported, name, verify=False, print_fn=None)
    OTHERS[name](problem, model, other)
    # The file by hand for ONNX is time-major.
    swapped = np.ascontiguousarray(x.swapaxes(0, 1)) if name == "onnx" else x
    calls = [RUN[name](exported, x), RUN[name](other, swapped)]
    results = [calls[0](), calls[1]()]
    if name == "onnx":
        results[1] = results[1].swapaxes(0, 1)
    np.testing.assert_allclose(results[0], results[1], atol=1e-5)
    return report.nodes[0].became, take_turns(calls, args.rounds)


def take_turns(calls, rounds):
    """For each call a list with its seconds in each round."""
    counts = []
    for call in calls:
        start = time.perf_counter()
        for _ in range(5):
            call()
        counts.append(max(1, int(TURN_SECONDS * 5 / (time.perf_counter() - start))))
    seconds = [[], []]
    for number in range(rounds):
        for k in (0, 1) if number % 2 else (1, 0):
            start = time.perf_counter()
            for _ in range(counts[k]):
                calls[k]()
            seconds[k].append((time.perf_counter() - start) / counts[k])
    return seconds


def main(argv=None):
    args = parse_args(argv)
    rows = []
    print("| format | layer (T,B,I,H) | exported as | ms | the other file, ms | ratio |")
    print("|---|---|---|---|---|---|")
    for name in args.formats:
        for cell in args.cells:
            for shape in args.shapes:
                problem = problems.parse(f"{cell} {shape}")
                with tempfile.TemporaryDirectory() as folder:
                    became, (ours, other) = compare(problem, name, args, pathlib.Path(folder))
                row = {
                    "format": name,
                    "problem": problem.name,
                    "became": became,
                    "ms": 1e3 * min(ours),
                    "other_ms": 1e3 * min(other),
                    "ratio": statistics.median(a / b for a, b in zip(ours, other, strict=True)),
                }
                rows.append(row)
                print(
                    f"| {name} | {problem.name} | {became} | {row['ms']:.3f} | {row['other_ms']:.3f} "
                    f"| {row['ratio']:.2f} |",
                    flush=True,
                )
    if args.output is not None:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps({"machine": machine.describe(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
