"""Keras 3 layers on the ops of this package."""

import importlib
from typing import TYPE_CHECKING, Any

from tf_rnn_ops.keras.dispatch import environment as _environment

_environment.check()

from tf_rnn_ops.keras import layers  # noqa: E402
from tf_rnn_ops.keras._patched import bidirectional as _bidirectional  # noqa: E402
from tf_rnn_ops.keras._patched import pickling as _pickling  # noqa: E402
from tf_rnn_ops.keras._patched import quantize as _quantize_model  # noqa: E402
from tf_rnn_ops.keras.dispatch.activations import hard_sigmoid_keras2  # noqa: E402
from tf_rnn_ops.keras.layers import *  # noqa: E402, F403
from tf_rnn_ops.keras.layers import reversed as _reversed  # noqa: E402, F401  (registers its class)

if TYPE_CHECKING:
    from tf_rnn_ops.keras._convert.accelerate import accelerate, restore
    from tf_rnn_ops.keras._convert.convert import convert
    from tf_rnn_ops.keras._convert.from_onnx import from_onnx
    from tf_rnn_ops.keras._export.export import Exported, export
    from tf_rnn_ops.keras._report.compare import ModelComparison, compare
    from tf_rnn_ops.keras._report.explain import explain

_bidirectional.guard()
_pickling.guard()
_quantize_model.guard()

# {name: its module}, which is imported on first use.
_TOOLS = {
    "accelerate": "_convert.accelerate",
    "restore": "_convert.accelerate",
    "convert": "_convert.convert",
    "from_onnx": "_convert.from_onnx",
    "Exported": "_export.export",
    "export": "_export.export",
    "ModelComparison": "_report.compare",
    "compare": "_report.compare",
    "explain": "_report.explain",
}


def __getattr__(name: str) -> Any:
    if name not in _TOOLS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_TOOLS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_TOOLS})


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
