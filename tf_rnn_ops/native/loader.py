"""Loads the library of ops, once, and tells why it cannot be loaded."""

import ctypes
import functools
import pathlib
import platform
import struct
from types import ModuleType
from typing import Any, Callable, Sequence

from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.native.versions import TENSORFLOW

_FOLDER = pathlib.Path(__file__).resolve().parents[1]
# The library of our own ops. Each library has a file for each version of TensorFlow: NAME.tf2.21.so.
_OPS = "_tf_rnn_ops"
# The kernels for every CPU, which each library of ops is linked to.
_KERNELS = _FOLDER / "_tf_rnn_ops_baseline.so"
# The supported processors, with their numbers in an ELF file.
_ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
_INSTALL = (
    "In a source tree, run `make develop`, or start Python in another folder to use an installed wheel; otherwise "
    "install the wheel for this machine again."
)


def _supported_tensorflows() -> list[str]:
    """Returns the minor versions of TensorFlow that this installation has libraries for."""
    prefix = f"{_OPS}.tf"
    minors = [path.name[len(prefix) : -len(".so")] for path in _FOLDER.glob(f"{prefix}*.so")]
    return sorted(minors, key=lambda minor: [int(part) for part in minor.split(".")])


def _any_of(versions: Sequence[str]) -> str:
    """The versions as text, such as '2.18, 2.19 or 2.20'."""
    *most, last = versions
    return f"{', '.join(most)} or {last}" if most else last


def _minor(tf: ModuleType) -> str:
    return ".".join(getattr(tf, "__version__", "unknown").split(".")[:2])


def import_tensorflow() -> ModuleType:
    """Imports TensorFlow, of any version.

    Returns:
        The module.

    Raises:
        ImportError: TensorFlow is not installed, or cannot be imported.
    """
    try:
        import tensorflow as tf
    except Exception as error:  # a broken installation raises errors of any kind
        raise ImportError(
            f"tf_rnn_ops needs TensorFlow {_any_of(_supported_tensorflows() or TENSORFLOW)}, which "
            f"cannot be imported: {one_line(error)} Install it with: pip install 'tf_rnn_ops[cpu]', or "
            "'tf_rnn_ops[gpu]' for a machine with a GPU."
        ) from error
    module: ModuleType = tf
    return module


def library_path(name: str = _OPS) -> str:
    """Returns the path of a library for the installed TensorFlow, a string. The file need not exist.

    Raises:
        ImportError: TensorFlow is missing.
    """
    return str(_FOLDER / f"{name}.tf{_minor(import_tensorflow())}.so")


def load_library(name: str) -> ModuleType:
    """Loads a library of ops or kernels into TensorFlow.

    Args:
        name: The name of its file without the ending, such as '_tf_rnn_ops_stock'.

    Returns:
        The module of functions that TensorFlow generates for its ops.

    Raises:
        ImportError: TensorFlow is missing or of another version, or the library is missing or does
            not fit.
    """
    tf = import_tensorflow()
    path = pathlib.Path(library_path(name))
    if not path.exists():
        raise ImportError(_why_missing(tf, path))
    _check_file(path)
    _check_file(_KERNELS)
    try:
        module: ModuleType = tf.load_op_library(str(path))
        return module
    except Exception as error:  # from TensorFlow, or because the path is not valid UTF-8
        raise ImportError(
            f"TensorFlow {tf.__version__} cannot load {path}: {one_line(error)} The library was built for another "
            "build of TensorFlow or another C++ library; install the wheel for this TensorFlow."
        ) from error


def c_functions(name: str) -> ctypes.CDLL:
    """Returns the C functions of a loaded library, as a ctypes.CDLL.

    Args:
        name: As for load_library, which must have loaded it.

    Raises:
        ImportError: TensorFlow is missing, or the library cannot be opened again.
    """
    try:
        return ctypes.CDLL(library_path(name))
    except OSError as error:
        raise ImportError(f"A library of tf_rnn_ops cannot be opened: {one_line(error)}") from error


def _why_missing(tf: ModuleType, path: pathlib.Path) -> str:
    """Why there is no library at `path`, and the remedy."""
    built = _supported_tensorflows()
    if not built and (reason := _another_system()):
        return reason
    fitting = built or TENSORFLOW
    if _minor(tf) not in fitting:
        return (
            f"This build of tf_rnn_ops works with TensorFlow {_any_of(fitting)}, but TensorFlow "
            f"{getattr(tf, '__version__', 'unknown')} is installed. Install a supported version with: "
            f"pip install 'tensorflow-cpu~={fitting[-1]}.0'."
        )
    return f"{path} does not exist, so tf_rnn_ops has not been built for TensorFlow {_minor(tf)}. {_INSTALL}"


def stepper_library() -> ModuleType:
    """Imports the library of tf_rnn_ops.stepper.

    Raises:
        ImportError: It cannot be imported. The message has the reason and the remedy.
    """
    try:
        from tf_rnn_ops import _tf_rnn_ops_step_python as library
    except ImportError as error:
        raise ImportError(_why_no_stepper(error)) from error
    return library


def _why_no_stepper(error: ImportError) -> str:
    begin = "tf_rnn_ops.stepper cannot load its library"
    if reason := _another_system():
        return f"{begin}: {reason}"
    return f"{begin}: {one_line(error)} {_INSTALL}"


def _another_system() -> str:
    """The sentence for a system or processor that no wheel has kernels for; empty on others."""
    system, machine = platform.system(), platform.machine()
    if system == "Linux" and machine in _ELF_MACHINES:
        return ""
    return (
        f"tf_rnn_ops has no kernels for {system} on {machine}, only for Linux on "
        f"{_any_of(list(_ELF_MACHINES))}."
    )


def _check_file(path: pathlib.Path) -> None:
    """Rejects files that crash the dynamic linker, or for which its message is unclear.

    Raises:
        ImportError: The file cannot be read, is truncated, is not a 64-bit ELF file, or is for another
            processor.
    """
    try:
        with path.open("rb") as file:
            header = file.read(64)
        size = path.stat().st_size
    except OSError as error:
        raise ImportError(
            f"{path} cannot be read ({error.strerror}): install the wheel again."
        ) from error
    if not _is_complete(header, size):
        raise ImportError(f"{path} is cut off or not a shared object: install the wheel again.")
    (machine,) = struct.unpack_from("<H", header, 18)
    wanted = _ELF_MACHINES.get(platform.machine(), machine)
    if machine != wanted:
        names = {number: name for name, number in _ELF_MACHINES.items()}
        raise ImportError(
            f"{path} is for {names.get(machine, 'another processor')}, but this machine is "
            f"{platform.machine()}: install the wheel for {platform.machine()}."
        )


def _is_complete(header: bytes, size: int) -> bool:
    """Whether the table of sections, which ends a 64-bit ELF file, is within the file."""
    if len(header) < 64 or header[:5] != b"\x7fELF\x02":
        return False
    (table_at,) = struct.unpack_from("<Q", header, 40)
    entry_size, entries = struct.unpack_from("<HH", header, 58)
    return bool(table_at + entry_size * entries <= size)


@functools.lru_cache(maxsize=None)
def load() -> ModuleType:
    """Loads the library of ops; see load_library."""
    return load_library(_OPS)


@functools.lru_cache(maxsize=None)
def unavailable() -> str | None:
    """Tells why there are no ops in this process.

    Returns:
        A sentence, or None if the library is loaded.
    """
    try:
        load()
    except ImportError as error:
        return str(error)
    return None


class _NoOps:
    """Replaces the module of load(). Calling an op raises an error with the reason why there are no ops."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: object, **kwargs: object) -> None:
            raise RuntimeError(f"The ops of tf_rnn_ops are not loaded. {unavailable()}")

        return call


def ops() -> ModuleType | _NoOps:
    """Returns the module of load(), or an object whose functions raise RuntimeError with the reason."""
    return load() if unavailable() is None else _NoOps()


@functools.lru_cache(maxsize=None)
def _c_library() -> ctypes.CDLL:
    load()
    library = c_functions(_OPS)
    for name in ("tf_rnn_ops_cpu_isa", "tf_rnn_ops_cpu_isa_reason"):
        function = getattr(library, name)
        function.restype = ctypes.c_char_p
        function.argtypes = []
    return library


def cpu_isa() -> str:
    """Returns the name of the instruction set in use."""
    return str(_c_library().tf_rnn_ops_cpu_isa().decode())


def cpu_isa_reason() -> str:
    """Returns why that instruction set is in use, or '' if it is the best of this machine."""
    return str(_c_library().tf_rnn_ops_cpu_isa_reason().decode())
