"""Calls of a few steps that carry the state, on one thread: our stepper, and the other libraries.

Each library is a function from a case to a call, which returns y [B, T, H].
"""

import itertools
import pathlib
import tempfile
from typing import Any, NamedTuple

import keras
import numpy as np

import tf_rnn_ops.keras
from benchmarks import problems
from benchmarks.peers import Unsupported, keras_layers, tensorflow_peer


def make(variant, threads):
    if threads != 1:
        raise Unsupported("one thread only")
    tensorflow_peer.set_up(1, "")
    return _Stepper(variant)


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


class _Stepper:
    int8 = True
    cells = ("lstm", "gru", problems.MODEL)

    def __init__(self, variant):
        self._variant, self._make = variant, LIBRARIES[variant]
        self.version = tensorflow_peer.our_version()

    def prepare(self, problem, x, dy, weights, training):
        if training or (problem.L, problem.D) != (1, 1) and problem.cell != problems.MODEL:
            raise Unsupported("inference of one unidirectional layer only")
        if problem.dtype == "bfloat16" or problem.dropout:
            raise Unsupported("float32 and int8 only")
        x = np.ascontiguousarray(x.swapaxes(0, 1))
        with tempfile.TemporaryDirectory() as folder:
            if problem.cell == problems.MODEL:
                model, weights = _dense_lstm(problem), None
            else:
                layer = keras_layers.layer(tf_rnn_ops.keras, problem, weights)
                model = keras.Sequential([keras.Input((None, problem.I)), layer])
            self.run = self._make(Case(problem, model, x, weights, pathlib.Path(folder)))
        # oneDNN carries no state.
        calls = ["first"] if self._variant == "onednn" else ["first", "second"]
        self._results = {name: np.array(self.run()).swapaxes(0, 1) for name in calls}

    def result(self):
        return self._results


def _dense_lstm(problem):
    """Dense, LSTM layers and Dense."""
    keras.utils.set_random_seed(0)
    units = problem.H
    lstms = [tf_rnn_ops.keras.LSTM(units, return_sequences=True) for _ in range(problem.L)]
    first = keras.layers.Dense(units, activation="relu")
    last = keras.layers.Dense(48, activation="softmax")
    model = keras.Sequential([keras.Input((None, problem.I)), first, *lstms, last])
    if problem.dtype == "int8":
        for layer in lstms:
            layer.quantize("int8")
    return model


def our_stepper(case):
    stepper = tf_rnn_ops.keras.stepper(case.model, case.problem.B, case.problem.T)
    return lambda: stepper(case.x)


def _exported(case, name):
    if case.problem.dtype == "int8" and case.weights is not None:
        raise Unsupported("float32 only: export writes int8 weights of recurrent layers as floats")
    path = case.folder / f"model.{name}"
    sizes = {"batch_size": case.problem.B, "time": case.problem.T}
    options = {"streaming": True, "verify": False, "print_fn": None}
    tf_rnn_ops.keras.export(case.model, path, **sizes, **options)
    return path


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
    return onnx_runtime.quantize(model) if case.problem.dtype == "int8" else model


def _bound(case, model, time_major=False):
    import onnxruntime

    from benchmarks.peers import onnx_runtime

    session = onnx_runtime.session(model, 1)
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
        raise Unsupported("single layers only")
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
    return _bound(case, onnx_runtime.quantize(content) if p.dtype == "int8" else content, True)


def torch_layers(case):
    import torch

    from benchmarks.peers import torch_nn

    torch.set_num_threads(1)
    p = case.problem
    if case.weights is None:
        raise Unsupported("single layers only")
    cell = p.T == 1 and p.dtype != "int8"
    module = getattr(torch.nn, p.cell.upper() + ("Cell" if cell else ""))(p.I, p.H)
    with torch.no_grad():
        for to, value in zip(module.parameters(), case.weights[0], strict=True):
            to.copy_(torch.from_numpy(value))
    module = torch_nn.quantize(module) if p.dtype == "int8" else module
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
        raise Unsupported("single layers only")
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
    if p.dtype == "int8" or p.cell == "gru":
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


LIBRARIES = {
    "ours": our_stepper,
    "onnx-binding": ort_binding,
    "onnx-node": ort_node,
    "torch": torch_layers,
    "onednn": onednn,
    "litert": litert,
    "op": our_op,
}
