"""CPU kernels for TensorFlow's own CudnnRNN ops."""

import ctypes
import functools
import threading

from tf_rnn_ops.native import loader, xla

_LIBRARY = "_tf_rnn_ops_stock"
_lock = threading.Lock()


def get_stock_lib() -> str:
    """Returns the path of the library that enable_stock_ops() loads.

    A host program without Python loads it with TF_LoadLibrary or dlopen; see docs/serving.md.

    Returns:
        A string: the library for the installed TensorFlow.

    Raises:
        ImportError: TensorFlow is missing.

    Example:
        >>> import tf_rnn_ops
        >>> "_tf_rnn_ops_stock" in tf_rnn_ops.get_stock_lib()
        True
    """
    return loader.library_path(_LIBRARY)


def enable_stock_ops() -> list[str]:
    """Lets graphs with TensorFlow's own CudnnRNN ops run on the CPU, also under XLA.

    Call it before the graph is loaded or traced. An op that has a CPU kernel keeps that kernel. A second
    call changes nothing. The registration cannot be undone.

    Returns:
        The names of the ops with a CPU kernel of this package: all of CudnnRNN, CudnnRNNV2, CudnnRNNV3,
        CudnnRNNBackprop, CudnnRNNBackpropV2, CudnnRNNBackpropV3, CudnnRNNParamsSize,
        CudnnRNNCanonicalToParams, CudnnRNNCanonicalToParamsV2, CudnnRNNParamsToCanonical and
        CudnnRNNParamsToCanonicalV2, except ops for which another library has registered a CPU kernel.

    Raises:
        ImportError: TensorFlow is missing or of another version, or the library is missing or does
            not fit.

    Example:
        >>> import tf_rnn_ops
        >>> "CudnnRNNV3" in tf_rnn_ops.enable_stock_ops()
        True
    """
    with _lock:
        return list(_load())


@functools.lru_cache(maxsize=None)
def _load() -> tuple[str, ...]:
    loader.load_library(_LIBRARY)
    # WHY here: both import TensorFlow, and load_library explains a missing TensorFlow.
    from tf_rnn_ops.autodiff import second_gradients
    from tf_rnn_ops.native.tf_internals import registries

    registries.leave_out_of_check_numerics(
        (op, 3)
        for op in ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")  # the reserve space
    )
    second_gradients.register_stock_gradients()
    names = loader.c_functions(_LIBRARY).tf_rnn_ops_stock_ops
    names.restype = ctypes.c_char_p
    names.argtypes = []
    xla.enable_stock_ops()
    return tuple(names().decode().split())
