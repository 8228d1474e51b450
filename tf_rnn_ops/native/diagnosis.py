"""info: versions, CPU features and devices, and why a library is missing.

Never fails: a fact that cannot be found out is printed with the reason.
"""

import pathlib
import platform
import sys
from types import ModuleType
from typing import Callable, TypeVar

from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.native import loader, machine, xla
from tf_rnn_ops.native.versions import VERSION

_T = TypeVar("_T")

_GPU_PAGE = "https://www.tensorflow.org/install/pip"


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
    facts.append(("Keras", _try(_keras)))
    return facts


def _try(function: Callable[[], _T]) -> _T | str:
    try:
        return function()
    except Exception as error:  # A diagnosis must not fail.
        return f"not available: {one_line(error)}"


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
    if not tf.test.is_built_with_cuda():
        return f"{text} (no GPU: this TensorFlow was built without CUDA)"
    return f"{text} (TensorFlow has registered no GPU: {_GPU_PAGE} has the steps to check)"
