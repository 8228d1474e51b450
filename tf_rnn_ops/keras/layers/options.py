"""Tables of the arguments of constructors. Attributes and configs are made with them."""

from typing import Any, Callable, NamedTuple

import keras


class Option(NamedTuple):
    """One argument of a constructor.

    Attributes:
        kept: A function that makes the attribute from the name and the given value, or raises ValueError.
        written: A function that makes the entry of a config from the attribute.
    """

    kept: Callable[[str, Any], Any] = lambda name, value: value
    written: Callable[[Any], Any] = lambda value: value


def _of_keras(module):
    return Option(lambda name, value: module.get(value), module.serialize)


FLAG = Option(lambda name, value: bool(value))
INITIALIZER = _of_keras(keras.initializers)


def regularizers(*names):
    """Options that are regularizers."""
    return {f"{name}_regularizer": _of_keras(keras.regularizers) for name in names}


def constraints(*names):
    """Options that are constraints."""
    return {f"{name}_constraint": _of_keras(keras.constraints) for name in names}


class WithOptions:
    """A layer or cell with attributes for `options`, besides the attributes of its class in Keras.

    The classes below it spell out all arguments, so that editors and type checkers see them.
    """

    options: dict[str, Option] = {}

    def __init__(self, **kwargs: Any) -> None:
        given = {name: kwargs.pop(name) for name in self.options}
        super().__init__(**kwargs)
        for name, one in self.options.items():
            setattr(self, name, one.kept(name, given[name]))

    def get_config(self):
        """Returns the arguments of the constructor."""
        own = {name: one.written(getattr(self, name)) for name, one in self.options.items()}
        return {**super().get_config(), **own}


def given(arguments):
    """The keyword arguments of the constructor or function whose `locals()` these are."""
    return {name: value for name, value in arguments.items() if name not in ("self", "__class__")}
