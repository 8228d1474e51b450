"""ONNX Runtime on the CPU: float32, and LSTM with int8 weights."""

import pathlib
import tempfile

import onnx
import onnxruntime

from benchmarks import machine
from benchmarks.peers import Unsupported, onnx_model


def make(variant, threads):
    return _OnnxRuntime(threads)


def quantize(model):
    """The model with int8 weights that have one scale for each column, as ONNX Runtime's own tool makes it."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "int8.onnx"
        quantize_dynamic(
            onnx.load_from_string(model),
            path,
            per_channel=True,
            reduce_range=machine.largest_int8() < 127,
            weight_type=QuantType.QInt8,
        )
        model = path.read_bytes()
    if "DynamicQuantizeLSTM" not in {n.op_type for n in onnx.load_from_string(model).graph.node}:
        raise Unsupported("the tool did not quantize the LSTM")
    return model


def session(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])


class _OnnxRuntime:
    int8 = True
    version = f"onnxruntime {onnxruntime.__version__}"

    def __init__(self, threads):
        self.threads = threads

    def prepare(self, problem, x, dy, weights, training):
        if problem.dtype == "bfloat16":
            raise Unsupported("its CPU kernels of LSTM, GRU and RNN are float32 only")
        model = onnx_model.build(problem, weights, training)
        if problem.dtype == "int8":
            if problem.cell != "lstm":
                raise Unsupported("int8 for LSTM only")
            model = quantize(model)
        self.session = session(model, self.threads)
        self.feed = {"x": x}

    def run(self):
        self.y = self.session.run(None, self.feed)[0]

    def result(self):
        return {"y": self.y}
