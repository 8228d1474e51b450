"""Runs files of ONNX in ONNX Runtime."""

from typing import Callable

import numpy as np

from tf_rnn_ops._formats.exported_layer import Arrays


def load(filepath: str, threads: int = 0) -> Callable[[Arrays], Arrays]:
    """The function of a file. `threads`: the number of threads of a call; 0 for ONNX Runtime's default."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        str(filepath), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]

    # A file has float32 where its model has bfloat16; see widening.
    wide = {one.name for one in session.get_inputs() if one.type == "tensor(float)"}

    def call(inputs: Arrays) -> Arrays:
        feed = {n: np.asarray(a, np.float32) if n in wide else a for n, a in inputs.items()}
        return dict(zip(names, session.run(None, feed), strict=True))

    return call
