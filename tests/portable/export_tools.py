"""Runs a SavedModel in other runtimes: a function for each returns the outputs by name."""

import logging

import tensorflow as tf


def _litert(folder, x):
    """LiteRT with only its own ops."""
    from ai_edge_litert import interpreter

    model = tf.lite.TFLiteConverter.from_saved_model(str(folder)).convert()
    run = interpreter.Interpreter(model_content=model).get_signature_runner("serving_default")
    return run(x=x)


def _tf2onnx(folder, x):
    """ONNX Runtime on the file of tf2onnx, which logs what it cannot convert and goes on."""
    import onnxruntime
    from tf2onnx import convert, tf_loader

    errors = _Errors(logging.ERROR)
    logging.getLogger("tf2onnx").addHandler(errors)
    try:
        graph_def, inputs, outputs, _, names = tf_loader.from_saved_model(
            str(folder), None, None, tag="serve", signatures=["serving_default"],
            return_initialized_tables=True, return_tensors_to_rename=True,
        )  # fmt: skip
        model, _ = convert._convert_common(
            graph_def, name="model", opset=18, input_names=inputs, output_names=outputs,
            tensors_to_rename=names,
        )  # fmt: skip
    finally:
        logging.getLogger("tf2onnx").removeHandler(errors)
    assert not errors.messages
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {session.get_inputs()[0].name: x}), strict=True))


class _Errors(logging.Handler):
    def __init__(self, level):
        super().__init__(level)
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


def _openvino(folder, x):
    """OpenVINO, which multiplies in fewer bits than float32 has unless told not to."""
    from tf_rnn_ops._formats.openvino import telemetry

    with telemetry.off():
        import openvino

        converted = openvino.convert_model(str(folder))
    model = openvino.Core().compile_model(converted, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = model(x)
    return {name: results[port] for port in model.outputs for name in port.get_names()}


TOOLS = {"litert": _litert, "tf2onnx": _tf2onnx, "openvino": _openvino}
