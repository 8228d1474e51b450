"""Runs the file of a stream in a process without TensorFlow and this package: python stream_runner.py FILE IN OUT.

IN is a file of np.savez with 'steps', the arrays of the sequences under 'sequence/NAME', and those of the other
inputs under 'input/NAME'. States begin with zeros. OUT gets the outputs of each call under 'K/NAME'.
"""

import sys

import numpy as np


def onnx(path):
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    names = [one.name for one in session.get_outputs()]
    shapes = {one.name: one.shape for one in session.get_inputs()}
    return shapes, lambda feed: dict(zip(names, session.run(names, feed)))


def tflite(path):
    from ai_edge_litert import interpreter

    runner = interpreter.Interpreter(model_path=path).get_signature_runner()
    shapes = {name: list(one["shape"]) for name, one in runner.get_input_details().items()}
    return shapes, lambda feed: {name: one.copy() for name, one in runner(**feed).items()}


def xml(path):
    import openvino

    model = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    shapes = {one.any_name: list(one.get_partial_shape()) for one in model.inputs}
    shapes = {
        name: [one.get_length() if one.is_static else None for one in shape]
        for name, shape in shapes.items()
    }

    def run(feed):
        results = model(feed)
        return {port.any_name: results[port] for port in model.outputs}

    return shapes, run


def main(path, given, out):
    shapes, run = globals()[path.rpartition(".")[2]](path)
    arrays = dict(np.load(given))
    sequences = {n.split("/")[1]: a for n, a in arrays.items() if n.startswith("sequence/")}
    others = {n.split("/")[1]: a for n, a in arrays.items() if n.startswith("input/")}
    states = {
        name: np.zeros(
            [1 if not isinstance(n, (int, np.integer)) else n for n in shape], np.float32
        )
        for name, shape in shapes.items()
        if name not in sequences and name not in others
    }
    steps, found = int(arrays["steps"]), {}
    for k in range(next(iter(sequences.values())).shape[1] // steps):
        now = slice(k * steps, (k + 1) * steps)
        results = run({n: a[:, now] for n, a in sequences.items()} | others | states)
        states = {name: results.pop(f"{name}_next") for name in states}
        found |= {f"{k}/{name}": value for name, value in results.items()}
    assert not {"tensorflow", "keras", "tf_rnn_ops"} & sys.modules.keys()
    np.savez(out, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
