"""Names of TensorFlow and Keras, hidden from this package."""

import importlib
import sys
import types


def hide(name, setitem, delattr):
    """Hides a name from who imports its module from now on; TensorFlow and Keras themselves still have it.

    Args:
        name: A module and an attribute, such as 'tensorflow.python.eager.record:could_possibly_record'.
        setitem: Sets an item of a dict.
        delattr: Deletes an attribute.
    """
    module, _, path = name.partition(":")
    *owners, last = path.split(".")
    things = [importlib.import_module(module)]
    for owner in owners:
        things.append(getattr(things[-1], owner))
    if isinstance(things[-1], type):
        delattr(things[-1], last)
        return
    # Copies of the modules on the way, each with the copy of the next one.
    copy = _copy(things.pop(), {})
    del vars(copy)[last]
    for owner in reversed(owners):
        copy = _copy(things.pop(), {owner: copy})
    setitem(sys.modules, module, copy)


def _copy(module, other):
    copy = types.ModuleType(module.__name__)
    vars(copy).update({**vars(module), **other})
    return copy
