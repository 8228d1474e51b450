"""The door for attributes that this package changes on objects, classes and modules that it has not made.

docs/design/patches.md lists them with the reasons. tests/package/doors/test_patches.py compares the page with the calls
of these functions.
"""

import functools
import inspect
import threading
from typing import Any, Callable, Mapping

_MARK = "_wrapped_by_tf_rnn_ops"
_ABSENT = object()


def put(owner: Any, name: str, value: Any) -> None:
    """Sets an attribute."""
    setattr(owner, name, value)


def remove(owner: Any, name: str, above: Any = object) -> None:
    """Deletes an attribute; with `above` by the method of the class after it in the MRO."""
    if above is object:
        delattr(owner, name)
    else:
        super(above, owner).__delattr__(name)


def change_class(owner: Any, cls: type) -> None:
    """Changes the class of an object."""
    # WHY not setattr: Keras tracks values of attributes.
    object.__setattr__(owner, "__class__", cls)


def wrap(owner: Any, name: str, around: Callable[[Callable], Callable]) -> None:
    """Replaces a function of a class or module by another one, once for the whole process.

    Args:
        owner: The class or module.
        name: The name of the function.
        around: A function of the present function that returns the new one.
    """
    original = getattr(owner, name)
    if hasattr(original, _MARK):
        return
    ours = functools.wraps(original)(around(original))
    # Keras reads the signatures of constructors without following __wrapped__.
    vars(ours).update({"__signature__": inspect.signature(original), _MARK: True})
    put(owner, name, ours)


class Replacement:
    """Other values of attributes, for all threads, from the first `with` block to the end of the last one."""

    def __init__(self, values: Callable[[], Mapping[tuple[Any, str], Any]]) -> None:
        """Changes nothing yet.

        Args:
            values: A function that makes {(owner, name of an attribute): value} at the first use.
        """
        self._values, self._lock, self._users = values, threading.Lock(), 0
        self._replaced: dict[tuple[Any, str], tuple[Any, Any]] = {}

    @property
    def in_use(self) -> bool:
        """Whether a block is open."""
        return self._users > 0

    def has_set(self, value: Any) -> bool:
        """Whether an attribute has been set to a value that is still in use."""
        return any(value is ours for _, ours in list(self._replaced.values()))

    def __enter__(self) -> "Replacement":
        with self._lock:
            self._users += 1
            if self._users == 1:
                for (owner, name), value in self._values().items():
                    self._replaced[owner, name] = vars(owner).get(name, _ABSENT), value
                    put(owner, name, value)
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            for (owner, name), (original, ours) in self._replaced.items():
                if vars(owner).get(name) is not ours:
                    continue  # Another patch wraps this one, which has no effect when it is not in use.
                if original is _ABSENT:
                    remove(owner, name)
                else:
                    put(owner, name, original)
            self._replaced.clear()
