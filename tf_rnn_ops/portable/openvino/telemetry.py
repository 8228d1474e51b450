"""Keeps OpenVINO's converter from sending usage data when this package calls it."""

import contextlib
import contextvars
import importlib
import importlib.util
from typing import Any, Callable, Iterator

from tf_rnn_ops._python import patches

_OFF = contextvars.ContextVar("_OFF", default=False)
_STUB = "openvino.tools.ovc.telemetry_stub"  # OpenVINO's own, for users without openvino_telemetry


@contextlib.contextmanager
def off() -> Iterator[None]:
    """Lets an import of OpenVINO and its converter send nothing from this thread, and write nothing to the home folder.

    WHY: OpenVINO starts a process for each event. Without a network such a process can wait, and keeps the pipes of
    the program open. Calls of the user send what they always send.
    """
    if importlib.util.find_spec("openvino_telemetry") is not None:
        import openvino_telemetry

        patches.wrap(type(openvino_telemetry.Telemetry), "__call__", _stub_for_us)
    before = _OFF.set(True)
    try:
        yield
    finally:
        _OFF.reset(before)


def _stub_for_us(original: Callable[..., Any]) -> Callable[..., Any]:
    """`original`: the function that makes the only Telemetry of a process, or returns it."""

    def call(cls: Any, *arguments: Any, **keywords: Any) -> Any:
        if _OFF.get():
            return importlib.import_module(_STUB).Telemetry()
        return original(cls, *arguments, **keywords)

    return call
