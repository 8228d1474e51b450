"""Keras 3 layers on the ops of this package."""

from tf_rnn_ops.keras.path import environment as _environment

_environment.check()

from tf_rnn_ops.keras import layers  # noqa: E402
from tf_rnn_ops.keras._convert.accelerate import accelerate, restore  # noqa: E402
from tf_rnn_ops.keras._convert.convert import convert  # noqa: E402
from tf_rnn_ops.keras._convert.from_onnx import from_onnx  # noqa: E402
from tf_rnn_ops.keras._export.export import Exported, export  # noqa: E402
from tf_rnn_ops.keras._report.compare import ModelComparison, compare  # noqa: E402
from tf_rnn_ops.keras._report.explain import explain  # noqa: E402
from tf_rnn_ops.keras.layers import *  # noqa: E402, F403
from tf_rnn_ops.keras.layers import bidirectional as _bidirectional  # noqa: E402
from tf_rnn_ops.keras.layers import pickling as _pickling  # noqa: E402
from tf_rnn_ops.keras.layers import quantize_model as _quantize_model  # noqa: E402
from tf_rnn_ops.keras.path.activations import hard_sigmoid_keras2  # noqa: E402

_bidirectional.guard()
_pickling.guard()
_quantize_model.guard()

__all__ = [
    *layers.__all__,
    "Exported",
    "ModelComparison",
    "accelerate",
    "compare",
    "convert",
    "explain",
    "export",
    "from_onnx",
    "hard_sigmoid_keras2",
    "layers",
    "restore",
]
