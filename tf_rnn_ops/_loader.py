"""Loads the library of ops, once, and says in words why it cannot be loaded."""

import ctypes
import functools
import pathlib
import platform
import struct

import numpy

from tf_rnn_ops._versions import TENSORFLOW

# What there are libraries for.
_MACHINE = ("Linux", "x86_64")
_LIBRARY = pathlib.Path(__file__).resolve().with_name("_tf_rnn_ops.so")


def library_path():
    """Returns the path of the library as a string; it need not exist."""
    return str(_LIBRARY)


def import_tensorflow():
    """Imports TensorFlow.

    Returns:
        The module.

    Raises:
        ImportError: TensorFlow is not installed, cannot be imported, or is of another version.
    """
    try:
        import tensorflow as tf
    except ImportError as error:
        raise ImportError(
            f"tf_rnn_ops needs TensorFlow {TENSORFLOW}, which cannot be imported "
            f"({error}). Install it with: pip install 'tf_rnn_ops[cpu]', or 'tf_rnn_ops[gpu]' for a "
            "machine with a GPU."
        ) from error
    version = getattr(tf, "__version__", "unknown")
    if version.split(".")[:2] != TENSORFLOW.split("."):
        raise ImportError(
            f"This build of tf_rnn_ops works with TensorFlow {TENSORFLOW}, but TensorFlow {version} "
            "is installed. Install the right one with: pip install 'tf_rnn_ops[cpu]'."
        )
    return tf


def load_library(path):
    """Loads a shared library of ops or kernels into TensorFlow.

    Returns:
        The module of functions that TensorFlow generates for its ops.

    Raises:
        ImportError: TensorFlow is missing or of another version, or the library is missing or does
            not fit.
    """
    tf = import_tensorflow()
    machine = platform.system(), platform.machine()
    if not path.exists() and machine != _MACHINE:
        raise ImportError(
            f"tf_rnn_ops has no kernels for {' on '.join(machine)}, only for {' on '.join(_MACHINE)}."
        )
    if not path.exists():
        raise ImportError(
            f"{path} does not exist, so tf_rnn_ops has not been built. In a source tree, run "
            "`make develop`; otherwise install the wheel again."
        )
    if _is_cut_off(path):  # the dynamic linker would crash
        raise ImportError(f"{path} is cut off or no shared object: install the wheel again.")
    try:
        return tf.load_op_library(str(path))
    except (tf.errors.OpError, RuntimeError) as error:
        raise ImportError(
            f"TensorFlow {tf.__version__} cannot load {path}: {error}. It was built for another "
            "build of TensorFlow or another C++ library; install the wheel for this one."
        ) from error


def _is_cut_off(path):
    """Whether the table of sections, which ends a 64-bit ELF file, is not all there."""
    with path.open("rb") as file:
        header = file.read(64)
    if len(header) < 64 or header[:5] != b"\x7fELF\x02":
        return True
    (table_at,) = struct.unpack_from("<Q", header, 40)
    entry_size, entries = struct.unpack_from("<HH", header, 58)
    return table_at + entry_size * entries > path.stat().st_size


@functools.lru_cache(maxsize=None)
def load():
    """Loads the library of ops; see load_library."""
    return load_library(_LIBRARY)


@functools.lru_cache(maxsize=None)
def unavailable():
    """Says why there are no ops in this process.

    Returns:
        A sentence, or None if the library is loaded.
    """
    try:
        load()
    except ImportError as error:
        return str(error)
    return None


class _NoOps:
    """Stands for the module of load(): calling an op says why there is none."""

    def __getattr__(self, name):
        def call(*args, **kwargs):
            raise RuntimeError(f"The ops of tf_rnn_ops are not loaded. {unavailable()}")

        return call


def ops():
    """Returns the module of load(), or one whose functions raise RuntimeError with the reason."""
    return load() if unavailable() is None else _NoOps()


def float_attr(value):
    """A float attribute as TensorFlow's fast path of eager calls wants it: an int makes each call
    take the slow one, 13 us longer. Whatever is no number is left for TensorFlow to refuse.
    """
    return float(value) if isinstance(value, int) else value


def optional_tensor(value, input):
    """An optional tensor as TensorFlow's fast path of eager calls wants it, of the type of `input`.

    An empty tuple makes each call take the slow path, which is 40 us longer and more.
    """
    dtype = getattr(input, "dtype", None)
    if dtype is None or not (isinstance(value, tuple) and not value):
        return value
    return _nothing(getattr(dtype, "as_numpy_dtype", dtype))


@functools.lru_cache(maxsize=None)
def _nothing(dtype):
    return numpy.zeros([0], dtype)


def optional_lengths(value):
    """The same for sequence_lengths."""
    return _nothing(numpy.int32) if isinstance(value, tuple) and not value else value


@functools.lru_cache(maxsize=None)
def _c_library():
    load()
    library = ctypes.CDLL(str(_LIBRARY))
    for name in ("tf_rnn_ops_cpu_isa", "tf_rnn_ops_cpu_isa_reason"):
        function = getattr(library, name)
        function.restype = ctypes.c_char_p
        function.argtypes = []
    return library


def cpu_isa():
    """Returns the name of the instruction set in use."""
    return _c_library().tf_rnn_ops_cpu_isa().decode()


def cpu_isa_reason():
    """Returns why that instruction set is in use, or '' if it is simply the best."""
    return _c_library().tf_rnn_ops_cpu_isa_reason().decode()
