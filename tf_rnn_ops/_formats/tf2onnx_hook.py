"""Registers our ops with tf2onnx when tf2onnx is imported, so that importing tf_rnn_ops is enough."""

import importlib.abc
import sys
import warnings
from typing import Any

from tf_rnn_ops import _patches

_MODULE = "tf2onnx.tfonnx"  # the module of the conversion; it imports tf2onnx's handlers


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module with the other finders, and registers our ops after the module has run."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != _MODULE:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_register(module: Any) -> None:
                run(module)
                _register()

            _patches.put(spec.loader, "exec_module", run_and_register)
        return spec


def install() -> None:
    """Registers with tf2onnx now if tf2onnx is imported, otherwise at its import."""
    if _MODULE in sys.modules:
        _register()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _register() -> None:
    try:
        from tf_rnn_ops._formats.onnx.registration import register

        register()
    except Exception as error:  # WHY any error: another version of tf2onnx must not break an import
        warnings.warn(
            f"tf_rnn_ops cannot register with this tf2onnx, which therefore does not know its ops: {error!r}.",
            stacklevel=2,
        )
