"""Tells whether accelerate() is active. It counts tokens, so threads and nested blocks are independent."""

import collections
import threading
import weakref
from typing import Any

lock = threading.RLock()
_permanent: set = set()
_scoped: collections.Counter = collections.Counter()  # nested blocks may enter the same token
# {id of a stock layer: reference}: those that were traced meanwhile. Not a WeakSet: a class may have no hash.
_traced: dict[int, weakref.ref] = {}


def active() -> bool:
    """Whether stock layers run on our ops now."""
    return bool(_permanent or _scoped)


def holds(token: object) -> bool:
    """Whether a token is active."""
    return token in _permanent or token in _scoped


def add(token: object) -> None:
    """Activates a token until `clear`."""
    with lock:
        _permanent.add(token)


def enter(token: object) -> None:
    """Activates a token until `leave`. `clear` does not affect it."""
    with lock:
        _permanent.discard(token)
        _scoped[token] += 1


def leave(token: object) -> None:
    """Ends one `enter`."""
    with lock:
        _scoped.subtract([token])
        if _scoped[token] <= 0:
            del _scoped[token]


def remove(token: object) -> None:
    """Ends every `add` and `enter` of a token."""
    with lock:
        _permanent.discard(token)
        _scoped.pop(token, None)


def clear() -> None:
    """Ends every `add`."""
    with lock:
        _permanent.clear()


def count_as_traced(layer: Any) -> None:
    """Remembers that a stock layer was traced while it ran on our ops."""
    key = id(layer)
    if not was_traced(layer):
        _traced[key] = weakref.ref(layer, lambda _: _traced.pop(key, None))


def was_traced(layer: Any) -> bool:
    """Whether a stock layer was traced while it ran on our ops."""
    reference = _traced.get(id(layer))
    return reference is not None and reference() is layer
