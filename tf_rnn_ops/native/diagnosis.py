"""info: versions, CPU features and devices, and why a library is missing.

Never fails: a fact that cannot be found out is printed with the reason.
"""

import ctypes
import os
import pathlib
import platform
import sys
from types import ModuleType
from typing import Callable, TypeVar

from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.native import gpu_info, loader, machine, xla
from tf_rnn_ops.native.versions import VERSION

_T = TypeVar("_T")

_CUDNN = "libcudnn.so.9"


def info() -> list[tuple[str, str]]:
    """Collects the facts.

    Returns:
        A list of (title, text) pairs, in the order in which to print them.

    Example:
        >>> import tf_rnn_ops
        >>> dict(tf_rnn_ops.info())["tf_rnn_ops"] == tf_rnn_ops.__version__
        True
    """
    facts = [
        ("tf_rnn_ops", VERSION),
        ("Python", f"{platform.python_version()} at {sys.executable}"),
        ("NumPy", _try(_numpy)),
        ("System", _try(machine.system)),
        ("Processor", _try(machine.processor)),
        ("CPU features", _try(machine.features)),
        ("Library of the stepper", _try(_stepper)),
    ]
    tf = _try(loader.import_tensorflow)
    if isinstance(tf, str):
        facts += [("TensorFlow", tf)]
    else:
        facts += [
            ("TensorFlow", _try(lambda: f"{tf.__version__} at {_folder(tf)}")),
            ("Library of ops", _try(_library)),
            ("Library for XLA", _try(_library_for_xla)),
            ("CPU instruction set", _try(_isa)),
            ("Threads", _try(lambda: machine.threads(tf))),
            ("Devices", _try(lambda: _devices(tf))),
        ]
        facts += _try_facts("GPU", lambda: _gpu_facts(tf))
    facts.append(("Keras", _try(_keras)))
    if not any(title == "cuDNN" for title, _ in facts):
        facts.append(("cuDNN", _try(lambda: _cudnn(tf))))
    return facts


def _try(function: Callable[[], _T]) -> _T | str:
    try:
        return function()
    except Exception as error:  # A diagnosis must not fail.
        return f"not available: {one_line(error)}"


def _try_facts(title: str, function: Callable[[], list[tuple[str, str]]]) -> list[tuple[str, str]]:
    facts = _try(function)
    return [(title, facts)] if isinstance(facts, str) else facts


def _gpu_facts(tf: ModuleType) -> list[tuple[str, str]]:
    """Why there is no GPU; empty if there is one or this TensorFlow is built without CUDA."""
    if not tf.test.is_built_with_cuda() or tf.config.list_physical_devices("GPU"):
        return []
    return gpu_info.diagnose(_folder(tf))


def _folder(tf: ModuleType) -> pathlib.Path:
    return pathlib.Path(str(tf.__file__)).parent


def _numpy() -> str:
    import numpy as np

    return np.__version__


def _keras() -> str:
    import keras

    return f"{keras.__version__} on the backend {keras.backend.backend()}"


def _stepper() -> str:
    library = loader.stepper_library()
    return f"{library.__file__} ({library.isa()})"


def _library() -> str:
    loader.load()
    return loader.library_path()


def _library_for_xla() -> str:
    return xla.unavailable() or xla.library_path()


def _isa() -> str:
    reason = loader.cpu_isa_reason()
    return loader.cpu_isa() + (f" ({reason})" if reason else " (the best of this machine)")


def _devices(tf: ModuleType) -> str:
    devices = tf.config.list_logical_devices()
    text = ", ".join(f"{device.device_type}:{device.name.split(':')[-1]}" for device in devices)
    if any(device.device_type == "GPU" for device in devices):
        return text
    built = "was built with" if tf.test.is_built_with_cuda() else "was built without"
    return f"{text} (no GPU: this TensorFlow {built} CUDA)"


def _cudnn(tf: ModuleType | str) -> str:
    """Looks for cuDNN without loading it, since loading takes hundreds of megabytes."""
    if not isinstance(tf, str) and not tf.test.is_built_with_cuda():
        return "not needed: this TensorFlow was built without CUDA"
    try:
        library = ctypes.CDLL(_CUDNN, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        library.cudnnGetVersion.restype = ctypes.c_size_t
        version = gpu_info.version_text(library.cudnnGetVersion())
    except (OSError, AttributeError):
        return f"{_CUDNN} is not loaded, which matters only on a GPU: pip install nvidia-cudnn-cu12"
    return f"version {version} at {_mapped_path(_CUDNN)}, loaded by TensorFlow"


def _mapped_path(name: str) -> str:
    """The path of the file of a loaded library."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.split(None, 5)[-1]
        if os.path.basename(path).startswith(name):
            return path
    return "an unknown place"
