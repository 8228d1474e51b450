"""OpenVINO on the CPU: a float32 model, computed in the type of the problem."""

import openvino

from benchmarks.peers import onnx_model


def make(variant, threads):
    return _OpenVino(threads)


class _OpenVino:
    version = f"openvino {openvino.__version__}"

    def __init__(self, threads):
        self.core = openvino.Core()
        self.config = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
        }

    def prepare(self, problem, x, dy, weights, training):
        model = self.core.read_model(onnx_model.build(problem, weights, training))
        # WHY also for float32: without the hint OpenVINO computes in bfloat16 if the CPU supports it.
        hint = {"float32": "f32", "bfloat16": "bf16"}[problem.dtype]
        config = dict(self.config, INFERENCE_PRECISION_HINT=hint)
        self.request = self.core.compile_model(model, "CPU", config).create_infer_request()
        self.x = x

    def run(self):
        self.y = self.request.infer([self.x], share_inputs=True)[0]

    def result(self):
        return {"y": self.y}
