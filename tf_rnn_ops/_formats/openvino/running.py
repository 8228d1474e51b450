"""Runs OpenVINO's files on its CPU device."""

from typing import Callable

import numpy as np
import openvino

from tf_rnn_ops._formats.exported_layer import Arrays


def load(filepath: str) -> Callable[[Arrays], Arrays]:
    """The function of a file."""
    core = openvino.Core()
    # WHY: without the hint the device computes in bfloat16 on CPUs that have it.
    model = core.compile_model(str(filepath), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def call(inputs: Arrays) -> Arrays:
        results = model(inputs)
        return {
            name: np.array(results[port]) for port in model.outputs for name in port.get_names()
        }

    return call
