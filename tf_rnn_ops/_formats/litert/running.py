"""Runs a file of LiteRT in its own runtime."""

from typing import Callable

import numpy as np

from tf_rnn_ops._formats.exported_layer import Arrays


def load(filepath: str) -> Callable[[Arrays], Arrays]:
    """The function of a file."""
    from ai_edge_litert import interpreter

    model = interpreter.Interpreter(model_path=str(filepath))
    runner = model.get_signature_runner()

    def call(inputs: Arrays) -> Arrays:
        return {name: np.array(result) for name, result in runner(**inputs).items()}

    return call
