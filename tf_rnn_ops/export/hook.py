"""Registers with tf2onnx as soon as somebody imports it, so that importing tf_rnn_ops is enough."""

import importlib.abc
import sys
import warnings

_MODULE = "tf2onnx.tfonnx"  # what it converts with; its handlers are imported with it


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module as the other finders do, and registers once it has run."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != _MODULE:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_register(module):
                run(module)
                _register()

            spec.loader.exec_module = run_and_register
        return spec


def install() -> None:
    """Registers with tf2onnx now if it is imported, or when it is."""
    if _MODULE in sys.modules:
        _register()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _register():
    try:
        from tf_rnn_ops.export.onnx.registration import register

        register()
    except Exception as error:  # WHY any: a tf2onnx that has changed must not break an import
        warnings.warn(
            f"tf_rnn_ops cannot register with this tf2onnx, which therefore does not know its ops: {error!r}.",
            stacklevel=2,
        )
