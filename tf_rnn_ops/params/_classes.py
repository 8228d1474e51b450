"""A check that an object runs the methods of its class in Keras or PyTorch, without overriding them."""

from typing import Iterable, Sequence

KERAS = ("keras", "keras_core", "tensorflow", "tf_keras", "tf_rnn_ops")
TORCH = ("torch",)


def overridden_method(instance: object, methods: Iterable[str], packages: Sequence[str]) -> str:
    """The first of the methods that a class outside of these packages defines, or ''.

    Args:
        instance: An object.
        methods: Names of methods. A method that no class has is skipped.
        packages: Names of packages.
    """
    for name in methods:
        if name in getattr(instance, "__dict__", {}):
            return name
        cls = maker(instance, name)
        if cls is not None and cls.__module__.partition(".")[0] not in packages:
            return name
    return ""


def maker(instance: object, method: str) -> type | None:
    """The class that defines a method of an object, or None."""
    return next((cls for cls in type(instance).__mro__ if method in vars(cls)), None)
