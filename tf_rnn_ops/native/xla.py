"""Loads the ops for XLA, and tells why there are none."""

import functools
import pathlib

from tf_rnn_ops.native import loader

_LIBRARY = "_tf_rnn_ops_xla"


def library_path() -> str:
    """The path of the library for the installed TensorFlow, a string. The file need not exist."""
    return loader.library_path(_LIBRARY)


@functools.lru_cache(maxsize=None)
def unavailable() -> str | None:
    """Tells why XLA cannot compile the ops in this process. The first call loads the ops for XLA.

    Returns:
        A sentence, or None if XLA can compile the ops.
    """
    if loader.unavailable() is not None:
        return loader.unavailable()
    if not pathlib.Path(library_path()).exists():
        tf = loader.import_tensorflow()
        return (
            f"this installation has no ops for XLA with TensorFlow {tf.__version__}; they need "
            "TensorFlow 2.20 or later."
        )
    try:
        loader.load_library(_LIBRARY)
    except ImportError as error:
        return str(error)
    return None


def enable_stock_ops() -> None:
    """Lets XLA compile TensorFlow's own CudnnRNN ops for the CPU, if it can compile the ops of this package."""
    if unavailable() is None:
        loader.c_functions(_LIBRARY).tf_rnn_ops_xla_enable_stock_ops()
