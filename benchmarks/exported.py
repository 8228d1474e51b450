"""Exported models next to the same layer written by hand, in ONNX Runtime and LiteRT, one thread.

    python -m benchmarks.exported [SHAPES ...] [--formats onnx litert] [--output FILE]

tf_rnn_ops.keras.export writes a model with one Keras layer. A reference file has the one node of the
runtime that computes this layer. LiteRT has no node for GRU, so the reference is TensorFlow's conversion
of Keras's layer there. The files alternate in one process, after their results were compared. A ratio is
the CPU time of the exported file divided by the CPU time of the reference: the median over the turns.
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
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.exported '20 8 64 64' --formats onnx",
    )
    parser.add_argument(
        "shapes", nargs="*", default=SHAPES, help="'T B I H', each in quotes (default: %(default)s)"
    )
    parser.add_argument(
        "--formats",
        nargs="*",
        choices=FORMATS,
        default=FORMATS,
        help="formats to time (default: onnx litert)",
    )
    parser.add_argument(
        "--cells",
        nargs="*",
        choices=["lstm", "gru"],
        default=["lstm", "gru"],
        help="layers to time (default: lstm gru)",
    )
    parser.add_argument(
        "--rounds", type=int, default=21, help="turns of both files (default: %(default)s)"
    )
    parser.add_argument("--output", type=pathlib.Path, help="JSON file to write (default: none)")
    return parser.parse_args(argv)


# ---- reference files ----


def other_onnx(problem, model, path):
    """One node between two transpositions, since x is [B, T, I] and the node's is [T, B, I]."""
    import onnx
    from onnx import helper

    kernel, recurrent, bias = (np.array(w) for w in model.get_weights())
    bias = np.stack([bias, np.zeros_like(bias)]) if bias.ndim == 1 else bias
    arrays = {"w": _gates(problem, kernel), "r": _gates(problem, recurrent)}
    arrays["b"] = np.concatenate([_gates(problem, row) for row in bias], -1)
    weights = [onnx.numpy_helper.from_array(array[None], n) for n, array in arrays.items()]
    weights.append(onnx.numpy_helper.from_array(np.array([1]), "one"))
    extra = {"linear_before_reset": 1} if problem.cell == "gru" else {}
    nodes = [
        helper.make_node("Transpose", ["x"], ["steps"], perm=[1, 0, 2]),
        helper.make_node(
            problem.cell.upper(), ["steps", "w", "r", "b"], ["rnn"], hidden_size=problem.H, **extra
        ),
        helper.make_node("Squeeze", ["rnn", "one"], ["squeezed"]),
        helper.make_node("Transpose", ["squeezed"], ["y"], perm=[1, 0, 2]),
    ]
    given, result = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [problem.B, problem.T, size])
        for name, size in (("x", problem.I), ("y", problem.H))
    )
    graph = helper.make_graph(nodes, "layer", [given], [result], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(made)
    onnx.save(made, str(path))


def _gates(problem, array):
    """Weights [..., G*H] of Keras as [G*H, ...] in ONNX's order: i, f, c, o is i, o, f, c there."""
    order = (0, 3, 1, 2) if problem.cell == "lstm" else (0, 1, 2)
    parts = np.split(array, len(order), -1)
    return np.concatenate([parts[k] for k in order], -1).T


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
    """The times of both files, in seconds a call, and the ops of the exported file."""
    import tf_rnn_ops.keras

    model = make_model(problem)
    x = np.random.default_rng(1).standard_normal(model.inputs[0].shape).astype(np.float32)
    exported, other = folder / "exported", folder / "other"
    report = tf_rnn_ops.keras.export(model, exported, name, verify=False, print_fn=None)
    OTHERS[name](problem, model, other)
    calls = [RUN[name](path, x) for path in (exported, other)]
    np.testing.assert_allclose(*[call() for call in calls], atol=1e-5)
    return report.layers[0].target_op, take_turns(calls, args.rounds)


def take_turns(calls, rounds):
    """For each call a list with its CPU seconds in each round."""
    counts = [max(1, int(TURN_SECONDS / _seconds(call, 5))) for call in calls]
    seconds = [[], []]
    for number in range(rounds):
        for k in (0, 1) if number % 2 else (1, 0):
            seconds[k].append(_seconds(calls[k], counts[k]))
    return seconds


def _seconds(call, count):
    # WHY CPU time: it is that of the one thread, and other processes do not count.
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def measure(problem, name, args):
    with tempfile.TemporaryDirectory() as folder:
        target_op, (ours, other) = compare(problem, name, args, pathlib.Path(folder))
    return {
        "format": name,
        "layer": problem.name,
        "target_op": target_op,
        "ms": 1e3 * statistics.median(ours),
        "other_ms": 1e3 * statistics.median(other),
        "ratio": statistics.median(a / b for a, b in zip(ours, other, strict=True)),
    }


def main(argv=None):
    args = parse_args(argv)
    rows = []
    print("| format | layer (T,B,I,H) | exported as | ms | the other file, ms | ratio |")
    print("|---|---|---|---|---|---|")
    for name in args.formats:
        for cell in args.cells:
            for shape in args.shapes:
                row = measure(problems.parse(f"{cell} {shape}"), name, args)
                rows.append(row)
                cells = [f"{v:.3f}" if isinstance(v, float) else v for v in row.values()]
                print(f"| {' | '.join(cells)} |", flush=True)
    if args.output is not None:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps({"machine": machine.describe(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
