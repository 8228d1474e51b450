"""Tells whether accelerate() is active. It counts tokens, so threads and nested blocks are independent."""

import collections
import threading

lock = threading.RLock()
_permanent: set = set()
_scoped: collections.Counter = collections.Counter()  # nested blocks may enter the same token


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
