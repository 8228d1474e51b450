"""Runs exported files in a process that does not import the package that wrote them, except for its steppers.

Usage: python serve.py FORMAT [LIBRARY]. A request is a pickle on stdin: (path, [{input: array} of each
call]). The answer is a pickle on stdout: [{output: array} of each call], or a sentence on the error.
LIBRARY has the ops that TensorFlow needs for a SavedModel, or is the folder of the package, for a stepper.
"""

import itertools
import os
import pickle
import sys

import numpy as np


def _tf_saved_model(path):
    import tensorflow as tf

    model = tf.saved_model.load(path)
    function = model.signatures["serving_default"]

    def call(inputs):
        results = function(**{name: tf.constant(array) for name, array in inputs.items()})
        return {name: result.numpy() for name, result in results.items()}

    call.model = model  # which owns the variables of the function
    return call


def _onnx(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def call(inputs):
        # The file has float32 where the model has bfloat16.
        given = {
            n: a.astype("float32") if a.dtype.name == "bfloat16" else a for n, a in inputs.items()
        }
        return dict(zip(names, session.run(None, given), strict=True))

    return call


def _litert(path):
    from ai_edge_litert import interpreter

    runner = interpreter.Interpreter(model_path=path).get_signature_runner()
    return lambda inputs: {name: np.array(one) for name, one in runner(**inputs).items()}


def _openvino(path):
    import openvino

    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    model = openvino.Core().compile_model(path, "CPU", settings)

    def call(inputs):
        results = model(inputs)
        ports = [(port, name) for port in model.outputs for name in port.get_names()]
        return {name: np.array(results[port]) for port, name in ports}

    return call


def _rnn(path):
    """Calls of parts of the steps, whose number changes from call to call. The results have the states that were given."""
    from tf_rnn_ops import stepper

    numbers = itertools.count()

    def call(inputs):
        of_file = stepper.load(path)
        rows, steps = next(inputs[one.name].shape for one in of_file.inputs if one.has_time)[:2]
        sizes = [n for n in range(1, steps + 1) if steps % n == 0]
        # 1 is the default of a file that leaves the number open.
        time = of_file.time if of_file.time > 1 else sizes[next(numbers) % len(sizes)]
        model = stepper.load(path, rows, time)
        given_states = [name for name in inputs if name in model.states]
        model.states = {name: inputs[name] for name in given_states}
        results = []
        for first in range(0, steps, time):
            part = slice(first, first + time)
            found = model(
                {
                    one.name: inputs[one.name][:, part] if one.has_time else inputs[one.name]
                    for one in model.inputs
                }
            )
            results.append(found if isinstance(found, dict) else {model.outputs[0].name: found})
        joined = {f"{name}_next": model.states[name] for name in given_states}
        for one in model.outputs:
            parts = [result[one.name] for result in results]
            joined[one.name] = np.concatenate(parts, 1) if one.has_time else parts[-1]
        return joined

    return call


LOADERS = {
    "tf_saved_model": _tf_saved_model, "onnx": _onnx, "litert": _litert, "openvino": _openvino, "rnn": _rnn,
}  # fmt: skip


def _answer(load, path, calls):
    try:
        call = load(path)
        return [call(inputs) for inputs in calls]
    except Exception as error:  # the runtimes raise errors of any kind
        return f"{type(error).__name__}: {error}"


def main():
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the runtimes print
    absent = ["tf_rnn_ops"]
    if sys.argv[1] == "tf_saved_model":
        import tensorflow as tf

        tf.load_op_library(sys.argv[2])
    if sys.argv[1] == "rnn":
        sys.path.insert(0, sys.argv[2])
        absent = ["tensorflow", "keras"]
    while True:
        try:
            path, calls = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer = _answer(LOADERS[sys.argv[1]], path, calls)
        assert not any(name.split(".")[0] in absent for name in sys.modules)
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
