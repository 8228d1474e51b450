"""ONNX Runtime on the CPU."""

import onnxruntime

from benchmarks.peers import Unsupported, onnx_model


def make(variant, threads):
    return _OnnxRuntime(threads)


class _OnnxRuntime:
    version = f"onnxruntime {onnxruntime.__version__}"

    def __init__(self, threads):
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 3

    def prepare(self, problem, x, dy, weights, training):
        if problem.dtype != "float32":
            raise Unsupported("its CPU kernels of LSTM, GRU and RNN are float32 only")
        model = onnx_model.build(problem, weights, training)
        self.session = onnxruntime.InferenceSession(
            model, self.options, providers=["CPUExecutionProvider"]
        )
        self.feed = {"x": x}

    def run(self):
        self.y = self.session.run(None, self.feed)[0]

    def result(self):
        return {"y": self.y}
