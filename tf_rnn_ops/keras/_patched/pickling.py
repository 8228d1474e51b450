"""Makes a pickle import this package when it is loaded, if its objects need the package.

Keras pickles a model as the bytes of a file, and loads it with the registered classes. Keras's own classes
are always registered, but the classes of this package need its import. So the pickle of an object whose
file names this package begins with a function of this module, and pickle imports the package for it.
"""

import io
import re
from typing import Any, Callable

import keras

from tf_rnn_ops._python import patches

_PACKAGE = __name__.split(".")[0].encode()


def guard() -> None:
    """Makes pickles of Keras's objects import this package when they are loaded, if they need it."""
    owner = next((cls for cls in keras.Model.__mro__ if "__reduce__" in vars(cls)), object)
    if owner is not object:
        patches.wrap(owner, "__reduce__", _importing)


def load(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Calls Keras's function. The import of this module has registered the layers."""
    return function(*arguments)


def _importing(original: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(self: Any) -> tuple[Any, ...]:
        function, arguments, *more = original(self)
        files = [argument for argument in arguments if isinstance(argument, io.BytesIO)]
        if any(map(_names_the_package, files)):
            return load, (function, arguments), *more
        return function, arguments, *more

    return reduce


def _names_the_package(file: io.BytesIO) -> bool:
    # A search in the bytes is enough, since configs in the file are not compressed. WHY re: it needs no copy of them.
    with file.getbuffer() as content:
        return re.search(_PACKAGE, content) is not None
