"""The door for attributes that this package changes on objects, classes and modules that it has not made.

docs/design/patches.md lists them with the reasons. tests/package/doors/test_patches.py compares the page with the calls
of these functions.
"""

import functools
import inspect
from typing import Any, Callable

_MARK = "_wrapped_by_tf_rnn_ops"


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
