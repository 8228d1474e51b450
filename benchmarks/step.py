"""Times tf_rnn_ops.stepper next to other libraries: calls of a few steps that carry the state, on one thread.

    python -m benchmarks.step [--cells lstm] [--dtypes float32] [--steps 1] [--batches 1] [--sizes 64,64] [--no-model]

All libraries alternate in one process, in random order, turn by turn. Before that, the results of two
calls are compared with float64, or for the model with Keras. Each library has the form that is fastest for it:

ONNX Runtime          the file that export(streaming=True) writes, run() with the states of the previous call
ONNX Runtime binding  the same with IO binding, which copies no state
ONNX Runtime node     IO binding of a file with the one node of the layer; int8 is this file after quantize_dynamic
PyTorch               nn.LSTMCell or GRUCell for one step, otherwise nn.LSTM or GRU; int8 is quantize_dynamic
oneDNN                the primitive, which carries no state and copies no input
LiteRT                a file with the one node of the LSTM; for the model the file that export writes
tf_rnn_ops op         our raw op with packed weights, called eagerly
"""

import argparse
import dataclasses
import itertools
import json
import logging
import os
import pathlib
import random
import statistics
import tempfile
import time
import warnings
from typing import Any, Callable, NamedTuple

import numpy as np

from benchmarks import float64, machine, problems, run, settings
from benchmarks.peers import Unsupported

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of oneDNN

OURS, OP = "stepper", "tf_rnn_ops op"
SIZES = ("64,64", "128,256", "256,256", "512,512")
TURN_SECONDS = 1e-3
# Ratios from here on count as level.
LEVEL = 0.97
MODEL_INPUTS = 40


class Case(NamedTuple):
    """The input of a library.

    Attributes:
        problem: The problem; of the model, that of its LSTM layers.
        model: The Keras model.
        x: The input [B, T, I].
        weights: As problems.make_data has them; None for the model.
        folder: A folder for files.
    """

    problem: problems.Problem
    model: Any
    x: np.ndarray
    weights: Any
    folder: pathlib.Path


# ---- the libraries: functions from a case to a call, which returns y [B, T, H] ----


def our_stepper(case):
    import tf_rnn_ops.keras

    stepper = tf_rnn_ops.keras.stepper(case.model, case.problem.B, case.problem.T)
    return lambda: stepper(case.x)


def _exported(case, name):
    import tf_rnn_ops.keras

    if case.problem.dtype == "int8" and case.weights is not None:
        raise Unsupported("export writes int8 weights of recurrent layers as floats")
    path = case.folder / f"model.{name}"
    sizes = {"batch_size": case.problem.B, "time": case.problem.T}
    options = {"streaming": True, "verify": False, "print_fn": None}
    if not path.exists():
        tf_rnn_ops.keras.export(case.model, path, **sizes, **options)
    return path


def _session(model):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])


def _states(session):
    """The names of the input, of the output and {name of a state: name of the next one}."""
    names = [value.name for value in session.get_inputs()]
    outputs = [value.name for value in session.get_outputs()]
    states = {name: f"{name}_next" for name in names if f"{name}_next" in outputs}
    (given,) = set(names) - set(states)
    (result,) = set(outputs) - set(states.values())
    return given, result, states


def _exported_onnx(case):
    from benchmarks.peers import onnx_runtime

    model = _exported(case, "onnx").read_bytes()
    return onnx_runtime._quantize(model) if case.problem.dtype == "int8" else model


def ort_run(case):
    session = _session(_exported_onnx(case))
    given, result, states = _states(session)
    shapes = {value.name: value.shape for value in session.get_inputs()}
    feed = {name: np.zeros(shapes[name], np.float32) for name in states} | {given: case.x}
    outputs = [result, *states.values()]

    def call():
        y, *feed_next = session.run(outputs, feed)
        feed.update(zip(states, feed_next))
        return y

    return call


def _bound(case, model, time_major=False):
    import onnxruntime

    session = _session(model)
    given, result, states = _states(session)
    x = np.ascontiguousarray(case.x.swapaxes(0, 1)) if time_major else case.x
    shapes = {v.name: v.shape for v in [*session.get_inputs(), *session.get_outputs()]}

    def zeros(name):
        return onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shapes[name], np.float32))

    values = {name: zeros(name) for name in (given, result)}
    buffers = [{name: zeros(name) for name in states} for _ in range(2)]
    bindings = []
    for k in range(2):
        binding = session.io_binding()
        binding.bind_ortvalue_input(given, values[given])
        binding.bind_ortvalue_output(result, values[result])
        for name, following in states.items():
            binding.bind_ortvalue_input(name, buffers[k][name])
            binding.bind_ortvalue_output(following, buffers[1 - k][name])
        bindings.append(binding)
    turn = itertools.cycle(bindings)

    def call():
        values[given].update_inplace(x)
        session.run_with_iobinding(next(turn))
        y = values[result].numpy()
        return y[:, 0].swapaxes(0, 1) if time_major else y

    return call


def ort_binding(case):
    return _bound(case, _exported_onnx(case))


def ort_node(case):
    import onnx
    from onnx import helper

    from benchmarks.peers import onnx_model, onnx_runtime

    if case.weights is None:
        raise Unsupported("not for the model")
    if case.problem.dtype == "int8" and case.problem.cell != "lstm":
        raise Unsupported("int8 for LSTM only")
    model = onnx.load_from_string(onnx_model.build(case.problem, case.weights, training=False))
    p, graph = case.problem, model.graph
    # The node without what follows it, and with states.
    node = next(node for node in graph.node if node.op_type == p.cell.upper())
    del graph.node[:], graph.output[:]
    names = ["h", "c"] if p.cell == "lstm" else ["h"]
    node.input.extend(["", *names])
    del node.output[:]
    node.output.extend(["y", *(f"{name}_next" for name in names)])
    graph.node.append(node)

    def describe(name, *shape):
        return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)

    graph.input.extend(describe(name, 1, p.B, p.H) for name in names)
    graph.output.append(describe("y", p.T, 1, p.B, p.H))
    graph.output.extend(describe(f"{name}_next", 1, p.B, p.H) for name in names)
    content = model.SerializeToString()
    return _bound(case, onnx_runtime._quantize(content) if p.dtype == "int8" else content, True)


def torch_layers(case):
    import torch

    from benchmarks.peers import torch_nn

    torch.set_num_threads(1)
    p = case.problem
    if case.weights is None:
        raise Unsupported("not for the model")
    cell = p.T == 1 and p.dtype != "int8"
    module = getattr(torch.nn, p.cell.upper() + ("Cell" if cell else ""))(p.I, p.H)
    with torch.no_grad():
        for to, value in zip(module.parameters(), case.weights[0], strict=True):
            to.copy_(torch.from_numpy(value))
    module = torch_nn._quantize(module) if p.dtype == "int8" else module
    zero = torch.zeros((p.B, p.H) if cell else (1, p.B, p.H))
    x = np.ascontiguousarray(case.x[:, 0] if cell else case.x.swapaxes(0, 1))
    state = [(zero, zero) if p.cell == "lstm" else zero]

    def call():
        with torch.inference_mode():
            given = torch.from_numpy(x)
            if cell:
                state[0] = module(given, state[0])
                y = state[0][0] if p.cell == "lstm" else state[0]
                return y.numpy()[:, None]
            y, state[0] = module(given, state[0])
            return y.numpy().swapaxes(0, 1)

    return call


def onednn(case):
    from benchmarks.peers import onednn

    if case.weights is None:
        raise Unsupported("not for the model")
    layer = onednn.make("", 1)
    x = np.ascontiguousarray(case.x.swapaxes(0, 1))
    layer.prepare(case.problem, x, None, case.weights, training=False)
    layer.run()
    y = layer.result()["y"].swapaxes(0, 1)

    def call():
        layer.run()
        return y

    return call


def litert(case):
    from ai_edge_litert import interpreter

    from benchmarks.peers import litert_model

    p = case.problem
    if p.dtype == "int8" or p.cell != "lstm":
        raise Unsupported("float32 and LSTM only")
    if case.weights is None:
        content = _exported(case, "tflite").read_bytes()
    else:
        content = litert_model.build(case.x.shape, *case.model.layers[-1].get_weights())
    model = interpreter.Interpreter(model_content=content, num_threads=1)
    model.allocate_tensors()
    if case.weights is None:
        return _litert_with_states(model, case)
    (given,), (result,) = model.get_input_details(), model.get_output_details()

    def call():
        model.set_tensor(given["index"], case.x)
        model.invoke()  # the states are variables of the node
        return model.get_tensor(result["index"])

    return call


def _litert_with_states(model, case):
    runner = model.get_signature_runner()
    inputs = {name: tuple(value["shape"]) for name, value in runner.get_input_details().items()}
    names = [name for name in inputs if f"{name}_next" in runner.get_output_details()]
    states = {name: np.zeros(inputs[name], np.float32) for name in names}
    (given,) = set(inputs) - set(states)

    def call():
        results = runner(**{given: case.x}, **states)
        states.update((name, results.pop(f"{name}_next")) for name in names)
        return next(iter(results.values()))

    return call


def our_op(case):
    import tensorflow as tf

    from tf_rnn_ops import raw_ops

    p = case.problem
    if p.dtype == "int8" or case.weights is None:
        raise Unsupported("float32 layers only")
    kernel, recurrent, bias = (tf.constant(w) for w in case.model.layers[-1].get_weights())
    weights = {"kernel": kernel, "recurrent_kernel": recurrent, "bias": bias, "rnn_mode": p.cell}
    packed = raw_ops.PackLayerRNN(**weights)
    x = tf.constant(case.x.swapaxes(0, 1))
    zeros = tf.zeros((p.B, p.H))
    state = [zeros, zeros if p.cell == "lstm" else None]

    def call():
        h, c = state
        result = raw_ops.LayerRNNPacked(input=x, input_h=h, input_c=c, packed=packed, **weights)
        state[:] = [result.output_h, result.output_c if p.cell == "lstm" else None]
        return result.output.numpy().swapaxes(0, 1)

    return call


LIBRARIES: dict[str, Callable] = {
    OURS: our_stepper,
    "ONNX Runtime": ort_run,
    "ONNX Runtime binding": ort_binding,
    "ONNX Runtime node": ort_node,
    "PyTorch": torch_layers,
    "oneDNN": onednn,
    "LiteRT": litert,
    OP: our_op,
}


# ---- cases ----


def layer_case(problem, folder):
    """A case with one layer, and y [B, 2T, H] of two calls with the same x."""
    import keras

    import tf_rnn_ops.keras
    from benchmarks.peers import keras_layers

    x, _, weights = problems.make_data(problem)
    layer = keras_layers.layer(tf_rnn_ops.keras, problem, weights)
    model = keras.Sequential([keras.Input((None, problem.I)), layer])
    twice = dataclasses.replace(problem, T=2 * problem.T)
    want = float64.run(twice, np.concatenate([x, x]), weights).swapaxes(0, 1)
    x = np.ascontiguousarray(x.swapaxes(0, 1))
    return Case(problem, model, x, weights, folder), want


def model_case(problem, folder):
    """A case with Dense, two LSTM layers and Dense, and its y of two calls."""
    import keras

    import tf_rnn_ops.keras

    units = problem.H
    keras.utils.set_random_seed(0)
    lstms = [tf_rnn_ops.keras.LSTM(units, return_sequences=True) for _ in range(2)]
    first = keras.layers.Dense(units, activation="relu")
    last = keras.layers.Dense(48, activation="softmax")
    model = keras.Sequential([keras.Input((None, problem.I)), first, *lstms, last])
    rng = np.random.default_rng(1)
    x = rng.standard_normal((problem.B, problem.T, problem.I)).astype(np.float32)
    want = np.array(model(np.concatenate([x, x], 1)))
    if problem.dtype == "int8":
        for layer in lstms:
            layer.quantize("int8")
    return Case(problem, model, x, None, folder), want


def prepare(case, want, names):
    """{library: its call} of those that can run the case and agree, and {other library: reason}."""
    calls, absent, middle = {}, {}, case.problem.T
    tolerance = run.TOLERANCE[case.problem.dtype]
    for name in names:
        try:
            call = LIBRARIES[name](case)
            found = [np.array(call()) for _ in range(1 if name == "oneDNN" else 2)]
            for y, part in zip(found, (want[:, :middle], want[:, middle:])):
                run.compare({"y": part}, {"y": y}, tolerance)
            calls[name] = call
        except (Unsupported, ImportError, OSError, run.WorkerError) as error:
            absent[name] = str(error)
    return calls, absent


def measure(calls, rounds, order):
    """{library: CPU seconds of a call, for each turn}."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    counts = {}
    for name, call in calls.items():
        counts[name] = max(2, int(TURN_SECONDS / min(_time(call, 1) for _ in range(9))))
    for _ in range(rounds):
        for name in order.sample(list(calls), len(calls)):
            calls[name]()  # the caches have the data of another library
            seconds[name].append(_time(calls[name], counts[name]))
    return seconds


def _time(call, count):
    # WHY CPU time: there is one thread, and other processes do not count.
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


# ---- the report ----


def ratio(row, of=statistics.median):
    """The time of the fastest other library over that of the stepper; None without one."""
    others = [of(s) for name, s in row["seconds"].items() if name not in (OURS, OP)]
    ours = row["seconds"].get(OURS)
    return min(others) / of(ours) if others and ours else None


def line(row, names):
    cells = []
    for name in names:
        seconds = row["seconds"].get(name)
        text = (
            f"{statistics.median(seconds) * 1e6:.3g} ({min(seconds) * 1e6:.3g})" if seconds else ""
        )
        cells.append(text)
    ratios = ["" if r is None else f"{r:.2f}" for r in (ratio(row), ratio(row, min))]
    return f"| {' | '.join([row['name'], *cells, *ratios])} |"


def table(rows, names):
    head = ["case (T,B,I,H)", *names, "ratio", "of the smallest"]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    return "\n".join([*lines, *(line(row, names) for row in rows)])


def summary(rows):
    """A line for each number of steps: the mean ratio, its range, and the cases that are level or better."""
    lines = []
    for steps in sorted({row["problem"]["T"] for row in rows}):
        ratios = [r for row in rows if row["problem"]["T"] == steps and (r := ratio(row))]
        if ratios:
            level = sum(r >= LEVEL for r in ratios)
            lines.append(
                f"T={steps}: ratio {statistics.geometric_mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), "
                f"{level} of {len(ratios)} cases level or faster"
            )
    return "\n".join(lines)


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.step --cells lstm --steps 1 --batches 1",
    )
    dtypes = ["float32", "int8"]
    parser.add_argument(
        "--cells", nargs="*", default=["lstm", "gru"], help="layers (default: lstm gru)"
    )
    parser.add_argument("--dtypes", nargs="*", default=dtypes, help="types (default: float32 int8)")
    parser.add_argument(
        "--steps", type=int, nargs="*", default=[1, 3, 10], help="T (default: 1 3 10)"
    )
    parser.add_argument(
        "--batches", type=int, nargs="*", default=[1, 2, 4, 8], help="B (default: 1 2 4 8)"
    )
    parser.add_argument("--sizes", nargs="*", default=SIZES, help="I,H (default: %(default)s)")
    parser.add_argument(
        "--no-model", action="store_true", help="leave out the model of four layers"
    )
    parser.add_argument(
        "--libraries",
        nargs="*",
        choices=list(LIBRARIES),
        default=list(LIBRARIES),
        help="default: all",
    )
    parser.add_argument(
        "--rounds", type=int, default=21, help="turns of each library (default: %(default)s)"
    )
    parser.add_argument("--isa", choices=["avx2"], help="as in benchmarks.run")
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("bench_output"),
        help="default: %(default)s",
    )
    return parser.parse_args(argv)


def cases_of(args):
    """(the function that makes a case, its problem) for each."""
    for dtype, cell, size in itertools.product(args.dtypes, args.cells, args.sizes):
        width, units = map(int, size.split(","))
        for steps, batch in itertools.product(args.steps, args.batches):
            yield layer_case, problems.Problem(cell, steps, batch, width, units, dtype=dtype)
    if not args.no_model:
        for dtype, steps in itertools.product(args.dtypes, args.steps):
            yield (
                model_case,
                problems.Problem("lstm", steps, 1, MODEL_INPUTS, 256, L=2, dtype=dtype),
            )


def main(argv=None):
    args = parse_args(argv)
    settings.restrict(args.isa)
    machine.prefer_installed()
    import tensorflow as tf

    logging.disable(logging.WARNING)  # of ONNX Runtime's tool, for each file
    warnings.simplefilter("ignore", UserWarning)  # of PyTorch's

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    about = machine.describe()
    print(
        f"{about['cpu']} ({', '.join(about['isa'])}{' only' if about['restricted_to'] else ''}), one thread, {about['date']}; "
        "CPU time in microseconds, median (smallest)"
    )
    results = {"machine": about, "rounds": args.rounds, "rows": []}
    args.output.mkdir(parents=True, exist_ok=True)
    order = random.Random(0)
    for make, problem in cases_of(args):
        with tempfile.TemporaryDirectory() as folder:
            calls, absent = prepare(*make(problem, pathlib.Path(folder)), args.libraries)
        p = problem
        name = f"model ({p.T},{p.B}) {p.dtype}" if make is model_case else p.name
        row = {"name": name, "problem": dataclasses.asdict(problem), "left_out": absent}
        row |= {"load": os.getloadavg()[0], "seconds": measure(calls, args.rounds, order)}
        results["rows"].append(row)
        print(line(row, args.libraries), flush=True)
        (args.output / "step.json").write_text(json.dumps(results, indent=1))
    text = f"{table(results['rows'], args.libraries)}\n\n{summary(results['rows'])}\n"
    (args.output / "step.md").write_text(text)
    print(summary(results["rows"]))


if __name__ == "__main__":
    main()
