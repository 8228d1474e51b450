"""The attributes of the public modules: names that are imported on first use, and a dir() of public names only."""

import importlib
import sys
from typing import Any, Callable, Iterable, Mapping


def attach(
    module: str, public: Iterable[str], sources: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Makes `__getattr__` and `__dir__` of a public module.

    Args:
        module: Its name.
        public: The names that dir() shows.
        sources: {name: the module that has it}, for names that are imported on first use. A module itself has the
            source ''. None if there is none.

    Returns:
        `__getattr__` and `__dir__`.
    """
    sources = sources or {}
    names = sorted(public)

    def get(name: str) -> Any:
        if name not in sources:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        source = sources[name]
        value = importlib.import_module(source or f"{module}.{name}")
        if source:
            value = getattr(value, name)
            # Python sets a module as an attribute of its package itself.
            setattr(sys.modules[module], name, value)
        return value

    return get, lambda: list(names)
