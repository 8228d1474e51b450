"""Tests trained models in float32, after quantize("int8"), and with int8 weights in ONNX Runtime.

    python -m benchmarks.accuracy_int8 [TASKS ...] [--seed N] [--per-call N] [--output FILE]

A task of benchmarks/trained.py is trained, tested, quantized and tested again. A model of LSTM layers is also
exported with weight_format="int8", and ONNX Runtime tests the file. The error of a sequence is the largest
difference from the outputs of float32, divided by the largest of these outputs.
"""

import argparse
import json
import os
import pathlib
import tempfile
import warnings

import numpy as np

from benchmarks import machine

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

NAMES = ("vowels", "speech", "forecast_lstm", "forecast_gru")
HEAD = """\
| model | metric | items | float32 | int8 | worse by % | largest error | mean | ONNX Runtime worse by % | largest error | mean | sequences with at least our error |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.accuracy_int8 vowels speech --seed 2",
    )
    parser.add_argument(
        "tasks", nargs="*", default=NAMES, help=f"models to train (default: {' '.join(NAMES)})"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of data and weights (default: %(default)s)"
    )
    # WHY 1: a node of ONNX Runtime quantizes all rows of a batch with one scale, QuantizedLayerRNN
    # each row with its own scale.
    parser.add_argument(
        "--per-call",
        type=int,
        default=1,
        help="sequences in a call of ONNX Runtime, which is most accurate with one (default: %(default)s)",
    )
    parser.add_argument("--output", type=pathlib.Path, help="JSON file to write (default: none)")
    args = parser.parse_args(argv)
    if unknown := set(args.tasks) - set(NAMES):
        parser.error(f"unknown models {sorted(unknown)}; known: {list(NAMES)}")
    if args.per_call < 1:
        parser.error(f"--per-call must be at least 1, but it is {args.per_call}")
    return args


def quantized_outputs(task):
    """Quantizes the model, and returns its outputs."""
    with warnings.catch_warnings():
        # Keras warns of every layer without weights.
        warnings.filterwarnings("ignore", message="Layer .* does not have a `quantize` method")
        task.model.quantize("int8")
    return task.outputs()


def onnx_outputs(task, per_call):
    """The outputs of ONNX Runtime with int8 weights, or None if it has no int8 node for a layer."""
    import onnxruntime

    import tf_rnn_ops.keras

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        exported = tf_rnn_ops.keras.export(
            task.model, path, "onnx", weight_format="int8", verify=False, print_fn=None
        )
        if {node.target_op for node in exported.layers} != {"DynamicQuantizeLSTM"}:
            return None
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    calls = np.split(task.x, range(per_call, len(task.x), per_call))
    outputs = [session.run(None, {given.name: x})[0] for x in calls]
    return task.without_padding(np.concatenate(outputs))


def errors(outputs, exact):
    """The error of each sequence, [B]."""
    axes = tuple(range(1, exact.ndim))
    return np.abs(outputs - exact).max(axes) / np.abs(exact).max(axes)


def compare(task, per_call):
    """Returns the row of a task as a dict. The model has int8 weights afterwards."""
    exact = task.outputs()
    before = task.score(exact)
    row = {"metric": task.metric, "items": task.items, "float32": before}
    found = {"ONNX Runtime": onnx_outputs(task, per_call), "tf_rnn_ops": quantized_outputs(task)}
    of_sequence = {}
    for name, outputs in found.items():
        if outputs is None:
            continue
        after, of_sequence[name] = task.score(outputs), errors(outputs, exact)
        row[name] = {
            "metric": after,
            "worse": task.fall(before, after),
            "largest": float(of_sequence[name].max()),
            "mean": float(of_sequence[name].mean()),
        }
    row["sequences"] = len(task.x)
    if "ONNX Runtime" in of_sequence:
        row["smaller"] = int(np.sum(of_sequence["tf_rnn_ops"] <= of_sequence["ONNX Runtime"]))
    return row


def line(name, row):
    """A row of the table."""
    ours = row["tf_rnn_ops"]
    cells = [name, row["metric"], row["items"], f"{row['float32']:.4f}", f"{ours['metric']:.4f}"]
    for found in (ours, row.get("ONNX Runtime")):
        cells += (
            [f"{found['worse']:.3f}", f"{found['largest']:.4f}", f"{found['mean']:.4f}"]
            if found
            else [""] * 3
        )
    cells.append(f"{row['smaller']} of {row['sequences']}" if "smaller" in row else "")
    return f"| {' | '.join(map(str, cells))} |"


def main(argv=None):
    args = parse_args(argv)
    from benchmarks import trained

    report = {"machine": machine.describe(), "seed": args.seed, "tasks": {}}
    print(HEAD)
    for name in args.tasks:
        row = compare(trained.TASKS[name](seed=args.seed), args.per_call)
        report["tasks"][name] = row
        print(line(name, row), flush=True)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
