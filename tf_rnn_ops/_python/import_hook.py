"""Runs functions when another package has been imported, so that importing tf_rnn_ops does not import it."""

import importlib.abc
import importlib.machinery
import sys
from typing import Any, Callable

from tf_rnn_ops._python import patches

# The attribute of a module's spec that tells whether its import is running.
_RUNNING = "_initializing"


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

            patches.put(spec.loader, "exec_module", run_both)
        return spec


class _RunningSpec(importlib.machinery.ModuleSpec):
    """The spec of a module whose import is running, in this thread or in another one."""

    after: Callable[[], None]

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        # importlib sets it at the end of an import, also of one that has failed.
        if name == _RUNNING and not value:
            self.__class__ = importlib.machinery.ModuleSpec  # type: ignore[assignment]
            if self.name in sys.modules:
                self.after()
            else:  # it has failed, and may be tried again
                _install(self.name, self.after)


def _after_running(spec: Any, function: Callable[[], None]) -> None:
    if isinstance(spec, _RunningSpec):
        return
    spec.after = function
    spec.__class__ = _RunningSpec
    if not getattr(spec, _RUNNING):  # the import has ended in the meantime
        setattr(spec, _RUNNING, False)


def after_import(module: str, function: Callable[[], None]) -> None:
    """Runs a function now if a module is imported, otherwise after its import.

    Args:
        module: The name of the module.
        function: The function. An error of it is an error of the import.
    """
    if module in sys.modules:
        spec = getattr(sys.modules[module], "__spec__", None)
        if getattr(spec, _RUNNING, False):
            _after_running(spec, function)
        else:
            function()
    else:
        _install(module, function)


def _install(module: str, function: Callable[[], None]) -> None:
    if not any(isinstance(f, _Finder) and f.module == module for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder(module, function))
