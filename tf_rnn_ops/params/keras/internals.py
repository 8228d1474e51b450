"""The base of the door to Keras, keras/_internals: private attributes of Keras 1, 2 and 3 and tf_keras.

Imports none of them. The docstring of each function names what it needs and what happens without it.
"""

import sys
from typing import Any


def attribute(instance: Any, name: str, loss: str) -> Any:
    """A private attribute of an object of Keras.

    Args:
        instance: The object.
        name: The name of the attribute.
        loss: The feature that does not work without the attribute.

    Raises:
        RuntimeError: There is no such attribute.
    """
    try:
        return getattr(instance, name)
    except AttributeError as error:
        package = _package_of(instance)
        version = (
            f"{package.__name__} {getattr(package, '__version__', '')}" if package else "Keras"
        )
        raise RuntimeError(
            f"{loss}, because in {version} a {type(instance).__name__} has no {name}, which Keras 3.5 to 3.15 have."
        ) from error


def flatten_layers(layer: Any) -> list:
    """A layer and all layers inside of it.

    Needs the method _flatten_layers(), which layers have from Keras 2.4 on. Without it this raises
    RuntimeError for a layer of Keras 3. A layer of an older Keras counts as a layer without inner layers.
    """
    if not hasattr(layer, "_flatten_layers") and not _is_keras_3(layer):
        return [layer]
    return attribute(layer, "_flatten_layers", "The layers inside of a layer cannot be found")()


def inputs_of_calls(layer: Any) -> list:
    """The symbolic inputs of all calls of a layer of Keras 3.

    Needs _inbound_nodes, whose elements have input_tensors. Without them it raises RuntimeError.
    """
    loss = "The calls in a model of Keras cannot be followed"
    calls = attribute(layer, "_inbound_nodes", loss)
    return [tensor for call in calls for tensor in attribute(call, "input_tensors", loss)]


def _is_keras_3(instance: Any) -> bool:
    package = _package_of(instance)
    return package is not None and getattr(package, "__version__", "").startswith("3.")


def _package_of(instance: Any) -> Any:
    """The package of Keras that the class of an object is from, if it is imported."""
    names = (cls.__module__.partition(".")[0] for cls in type(instance).__mro__)
    return next((sys.modules.get(name) for name in names if name in ("keras", "tf_keras")), None)
