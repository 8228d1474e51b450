"""The arguments that a constructor passes on, in the signature that `help` and editors show."""

import inspect

_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def spelled_out(*sources):
    """Makes a class decorator that names what the `**kwargs` of a constructor stands for.

    Args:
        *sources: The classes whose constructors get the arguments. `**kwargs` stays for those that Keras does
            not name itself, such as `dtype`.

    Returns:
        The decorator.
    """

    def decorate(cls):
        own = inspect.signature(cls.__init__)
        shown = dict(own.parameters)
        rest = shown.popitem()[1]
        for source in sources:
            for name, parameter in inspect.signature(source).parameters.items():
                if parameter.kind in _KINDS and name != "cell":
                    shown.setdefault(name, parameter.replace(kind=parameter.KEYWORD_ONLY))
        cls.__init__.__signature__ = own.replace(parameters=[*shown.values(), rest])
        return cls

    return decorate
