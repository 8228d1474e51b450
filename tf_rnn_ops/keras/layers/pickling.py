"""Makes a pickle import this package when it is loaded, if its objects need the package.

Keras pickles a model as the bytes of a file, and loads it with the registered classes. Keras's own classes
are always registered, but the classes of this package need its import. So the pickle of an object whose
file names this package begins with a function of this module, and pickle imports the package for it.
"""

import io

import keras

from tf_rnn_ops import _patches

_PACKAGE = __name__.split(".")[0].encode()


def guard() -> None:
    """Makes pickles of Keras's objects import this package when they are loaded, if they need it."""
    owner = next((cls for cls in keras.Model.__mro__ if "__reduce__" in vars(cls)), object)
    if owner is not object:
        _patches.wrap(owner, "__reduce__", _importing)


def load(function, arguments):
    """Calls Keras's function. The import of this module has registered the layers."""
    return function(*arguments)


def _importing(original):
    def reduce(self):
        function, arguments, *more = original(self)
        files = [one for one in arguments if isinstance(one, io.BytesIO)]
        # A search in the bytes is enough, since configs in the file are not compressed.
        if any(_PACKAGE in one.getvalue() for one in files):
            return load, (function, arguments), *more
        return function, arguments, *more

    return reduce
