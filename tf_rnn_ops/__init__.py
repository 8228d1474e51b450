"""Faster LSTM, GRU and SimpleRNN layers for TensorFlow and Keras 3 on CPUs.

To use them, `import tf_rnn_ops.keras`. Then call `tf_rnn_ops.keras.convert(model)`, write `tf_rnn_ops.keras.LSTM`
instead of `keras.layers.LSTM`, or call `tf_rnn_ops.keras.accelerate()` at the top of a script.

    tf_rnn_ops.keras       layers such as LSTM, GRU and CudnnLSTM; convert, accelerate, explain, compare, export
    tf_rnn_ops.raw_ops     TensorFlow's CudnnRNN and BlockLSTM ops for every CPU, with their gradients, and LayerRNN
    tf_rnn_ops.params      weights of Keras, PyTorch and ONNX
    tf_rnn_ops.portable    models rewritten to ordinary ops
    tf_rnn_ops.plain       the same networks in TensorFlow's ordinary ops
    tf_rnn_ops.contrib     tf.contrib.cudnn_rnn of TensorFlow 1
    tf_rnn_ops.stepper     calls of an exported model, step by step and without TensorFlow

Importing the package registers the ops, before or after TensorFlow is imported, so that a SavedModel with these ops
can be loaded. If no library fits the machine or its TensorFlow, a warning says so, and the ops are not available.
"""

from typing import TYPE_CHECKING, Any

from tf_rnn_ops._formats import tf2onnx_hook as _tf2onnx_hook
from tf_rnn_ops._python import lazy as _lazy
from tf_rnn_ops._step import models as _models
from tf_rnn_ops.autodiff import registration as _registration
from tf_rnn_ops.autodiff.stock import enable_stock_ops, get_stock_lib
from tf_rnn_ops.native import loader as _loader
from tf_rnn_ops.native.versions import VERSION as __version__


def _content_of(*arguments: Any) -> bytes:
    # For Stepper.update(), which lies below the rooms of Keras.
    from tf_rnn_ops.keras._export.stepper import stepper

    return stepper.content(*arguments)


_models.install(_content_of)
_registration.install()
_tf2onnx_hook.install()

if TYPE_CHECKING:
    from tf_rnn_ops import contrib, keras, params, plain, portable, raw_ops, stepper
    from tf_rnn_ops.native.diagnosis import info


def get_lib() -> str:
    """Returns the path of the library of ops, for tf.load_op_library or TF_LoadLibrary.

    Returns:
        A string: the library for the installed TensorFlow.

    Raises:
        ImportError: TensorFlow is missing.

    Example:
        >>> import tf_rnn_ops
        >>> tf_rnn_ops.get_lib().endswith(".so")
        True
    """
    return _loader.library_path()


def cpu_isa() -> str:
    """Returns the instruction set that the CPU kernels use in this process.

    The environment variable TF_RNN_OPS_CPU_ISA, set before the first op runs, selects a lower instruction
    set.

    Returns:
        'avx512', 'avx2' or 'baseline'.

    Raises:
        ImportError: No library of ops is loaded. The message has the reason.

    Example:
        >>> import tf_rnn_ops
        >>> tf_rnn_ops.cpu_isa() in ("avx512", "avx2", "baseline")
        True
    """
    return _loader.cpu_isa()


def enable_block_cell_gradients() -> None:
    """Registers gradients of TensorFlow's LSTMBlockCell and GRUBlockCell.

    TensorFlow 1 had the gradients in tf.contrib.rnn; TensorFlow 2 has only the ops. Ordinary ops compute
    the gradients from the inputs of the op, so the gradients can be differentiated again. They ignore
    cell_clip, as in TensorFlow 1. An op with a gradient keeps this gradient. A second call changes
    nothing. The registration cannot be undone.

    Raises:
        ImportError: TensorFlow is missing.

    Example:
        >>> import tf_rnn_ops
        >>> tf_rnn_ops.enable_block_cell_gradients()
    """
    from tf_rnn_ops.autodiff import block_cells

    block_cells.register()


__all__ = [
    "__version__",
    "contrib",
    "cpu_isa",
    "enable_block_cell_gradients",
    "enable_stock_ops",
    "get_lib",
    "get_stock_lib",
    "info",
    "keras",
    "params",
    "plain",
    "portable",
    "raw_ops",
    "stepper",
]

# Imported on first use, since most of them import TensorFlow.
_MODULES = ("contrib", "keras", "params", "plain", "portable", "raw_ops", "stepper")
__getattr__, __dir__ = _lazy.attach(
    __name__, __all__, {**dict.fromkeys(_MODULES, ""), "info": "tf_rnn_ops.native.diagnosis"}
)
