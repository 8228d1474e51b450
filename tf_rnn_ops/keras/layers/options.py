"""Tables of the arguments of constructors. Signatures, docstrings and configs are made from them."""

import functools
import inspect
from typing import Any, Callable, NamedTuple

import keras

_SHOWN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
# Arguments of every Keras layer that Keras's signatures leave to **kwargs.
OF_ALL = {"activity_regularizer": None, "name": None, "dtype": None, "trainable": True}
UNITS = inspect.Parameter("units", _SHOWN[0])


class Option(NamedTuple):
    """One argument of a constructor.

    Attributes:
        default: Its default.
        kept: A function that makes the attribute from the name and the given value, or raises ValueError.
        written: A function that makes the entry of a config from the attribute.
    """

    default: Any
    kept: Callable[[str, Any], Any] = lambda name, value: value
    written: Callable[[Any], Any] = lambda value: value


def flag(default):
    """An Option that is True or False."""
    return Option(default, lambda name, value: bool(value))


def _of_keras(module, default=None):
    return Option(default, lambda name, value: module.get(value), module.serialize)


def initializer(default):
    """An Option that is an initializer."""
    return _of_keras(keras.initializers, default)


def regularizers(*names):
    """Options that are regularizers, with the default None."""
    return {f"{name}_regularizer": _of_keras(keras.regularizers) for name in names}


def constraints(*names):
    """Options that are constraints, with the default None."""
    return {f"{name}_constraint": _of_keras(keras.constraints) for name in names}


class WithOptions:
    """A layer or cell whose constructor accepts `options` besides the arguments of its class in Keras."""

    options: dict[str, Option] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = {name: kwargs.pop(name, one.default) for name, one in self.options.items()}
        super().__init__(*args, **kwargs)
        for name, one in self.options.items():
            setattr(self, name, one.kept(name, given[name]))

    def get_config(self):
        """Returns the arguments of the constructor."""
        own = {name: one.written(getattr(self, name)) for name, one in self.options.items()}
        return {**super().get_config(), **own}


def parameters_of(options, keyword_only=False):
    """The inspect.Parameters of a table of Options."""
    kind = _SHOWN[keyword_only]
    return [inspect.Parameter(n, kind, default=one.default) for n, one in options.items()]


def with_parameters(parameters):
    """Makes a decorator that replaces the `**kwargs` in the signature of a function by parameters."""

    def decorate(function):
        own = inspect.signature(function)
        shown = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
        function.__signature__ = own.replace(parameters=[*shown, *parameters])
        return function

    return decorate


def spell_out(cls, own, sources, doc):
    """Gives a class a constructor whose signature names every argument, in place of `**kwargs`.

    The constructor also accepts arguments that Keras's classes accept in `**kwargs`, such as
    `implementation`.

    Args:
        cls: The class. It gets an `__init__` that calls its old `__init__`.
        own: inspect.Parameters that come first.
        sources: Classes whose parameters follow, by keyword only.
        doc: Docstring of the constructor.
    """
    init = cls.__init__
    shown = {one.name: one for one in (inspect.Parameter("self", _SHOWN[0]), *own)}
    for one in (p for source in sources for p in inspect.signature(source).parameters.values()):
        if one.kind in _SHOWN and one.name not in ("cell", *OF_ALL):
            shown.setdefault(one.name, one.replace(kind=_SHOWN[1]))
    for name, default in OF_ALL.items():
        shown.setdefault(name, inspect.Parameter(name, _SHOWN[1], default=default))
    signature = inspect.Signature(list(shown.values()))

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        init(**signature.bind_partial(self, *args).arguments, **kwargs)

    __init__.__signature__, __init__.__doc__ = signature, doc
    cls.__init__ = __init__


def spelled_out(cls):
    """A decorator that spells out the arguments of the class in Keras that a class is derived from."""
    stock = stock_class(cls)
    own = [p for p in inspect.signature(stock).parameters.values() if p.kind in _SHOWN]
    spell_out(
        cls, own, [keras.layers.RNN], f"Creates the layer; see keras.layers.{stock.__name__}."
    )
    return cls


def stock_class(cls):
    """The class of Keras that a class is derived from."""
    return next(one for one in cls.__mro__ if one.__module__.startswith("keras."))


def arguments_of(cls):
    """The part of the docstring of a class that describes its arguments."""
    doc = inspect.getdoc(cls)
    return doc[doc.index("Args:") : doc.index("Example:")].rstrip()
