"""Whether accelerate() is in force: tokens, so that threads and nesting do not matter."""

import collections
import threading

lock = threading.RLock()
_permanent: set = set()
_scoped: collections.Counter = collections.Counter()  # nested blocks may enter one token


def active():
    """Whether stock layers take our path now."""
    return bool(_permanent or _scoped)


def add(token):
    """Puts a token in force until `clear`."""
    with lock:
        _permanent.add(token)


def enter(token):
    """Puts a token in force until `leave`; `clear` does not touch it."""
    with lock:
        _permanent.discard(token)
        _scoped[token] += 1


def leave(token):
    """Ends what `enter` began."""
    with lock:
        _scoped.subtract([token])
        if _scoped[token] <= 0:
            del _scoped[token]


def remove(token):
    """Ends what `add` and `enter` began with a token."""
    with lock:
        _permanent.discard(token)
        _scoped.pop(token, None)


def clear():
    """Ends what `add` began."""
    with lock:
        _permanent.clear()
