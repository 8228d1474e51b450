"""Faster LSTM, GRU and SimpleRNN layers for Keras 3, and tools for models with them.

Write LSTM of this module instead of keras.layers.LSTM, or convert a model. explain() shows which layers run on an op.

    LSTM, GRU, SimpleRNN, RNN   in the place of the layers of keras.layers, with the same arguments and weights
    convert(model)              a copy of a model on these layers; to="keras" goes back
    accelerate()                the layers of Keras run on the ops, in a script that stays as it is
    explain, compare            the path and the speed of each layer
    export, stepper             files for other runtimes, and calls step by step
    CudnnLSTM and others        layers that Keras does not have
"""

from tf_rnn_ops.native import tensorflow_first as _tensorflow_first  # noqa: F401

# isort: split
from typing import TYPE_CHECKING

from tf_rnn_ops._python import lazy as _lazy
from tf_rnn_ops.keras.dispatch import environment as _environment

_environment.check()

from tf_rnn_ops.keras import _patched, layers  # noqa: E402
from tf_rnn_ops.keras.dispatch.activations import hard_sigmoid_keras2  # noqa: E402
from tf_rnn_ops.keras.layers import *  # noqa: E402, F403

if TYPE_CHECKING:
    from tf_rnn_ops._formats.exported_layer import ExportedLayer
    from tf_rnn_ops.keras._convert.accelerate import Acceleration, accelerate, restore
    from tf_rnn_ops.keras._convert.convert import convert
    from tf_rnn_ops.keras._convert.from_onnx import from_onnx
    from tf_rnn_ops.keras._export.export import Exported, export
    from tf_rnn_ops.keras._export.stepper.stepper import stepper
    from tf_rnn_ops.keras._report.compare import ModelComparison, compare
    from tf_rnn_ops.keras._report.explain import Explanation, Explanations, explain
    from tf_rnn_ops.keras._report.timing import Timing

_patched.install()

__all__ = [
    *layers.__all__,
    "Acceleration",
    "Explanation",
    "Explanations",
    "Exported",
    "ExportedLayer",
    "ModelComparison",
    "Timing",
    "accelerate",
    "compare",
    "convert",
    "explain",
    "export",
    "from_onnx",
    "hard_sigmoid_keras2",
    "restore",
    "stepper",
]

# {module: names}. The modules are imported on first use.
_TOOLS = {
    "_convert.accelerate": ("Acceleration", "accelerate", "restore"),
    "_convert.convert": ("convert",),
    "_convert.from_onnx": ("from_onnx",),
    "_export.export": ("Exported", "ExportedLayer", "export"),
    "_export.stepper.stepper": ("stepper",),
    "_report.compare": ("ModelComparison", "compare"),
    "_report.explain": ("Explanation", "Explanations", "explain"),
    "_report.timing": ("Timing",),
}
__getattr__, __dir__ = _lazy.attach(
    __name__,
    __all__,
    {name: f"{__name__}.{module}" for module, names in _TOOLS.items() for name in names},
)
