"""Runs functions when another package has been imported, so that importing tf_rnn_ops does not import it."""

import importlib.abc
import sys
from typing import Any, Callable

from tf_rnn_ops import _patches


class _Finder(importlib.abc.MetaPathFinder):
    """Finds a module with the other finders, and runs a function after the module has run."""

    def __init__(self, module: str, function: Callable[[], None]) -> None:
        self.module, self._function = module, function

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.module:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_both(module: Any) -> None:
                run(module)
                self._function()

            _patches.put(spec.loader, "exec_module", run_both)
        return spec


def after_import(module: str, function: Callable[[], None]) -> None:
    """Runs a function now if a module is imported, otherwise after its import.

    Args:
        module: The name of the module.
        function: The function. An error of it is an error of the import.
    """
    if module in sys.modules:
        function()
    elif not any(isinstance(f, _Finder) and f.module == module for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder(module, function))
