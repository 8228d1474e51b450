"""The door to private attributes of objects of Keras 1, 2 and 3 and tf_keras, without importing any of
them.

tf_rnn_ops/keras/_internals has the functions that need Keras 3. The docstring of each function names what
it needs and what happens without it. Keras 3.5 to 3.15 have all these attributes.
"""

import sys
from typing import Any


def attribute(thing: Any, name: str, loss: str) -> Any:
    """A private attribute of an object of Keras.

    Args:
        thing: The object.
        name: The name of the attribute.
        loss: The feature that does not work without the attribute.

    Raises:
        RuntimeError: There is no such attribute.
    """
    try:
        return getattr(thing, name)
    except AttributeError as error:
        raise RuntimeError(missing(thing, name, loss)) from error


def missing(thing: Any, name: str, loss: str) -> str:
    """The sentence on a missing attribute."""
    package = _package_of(thing)
    version = f"{package.__name__} {getattr(package, '__version__', '')}" if package else "Keras"
    return f"{loss}, because in {version} a {type(thing).__name__} has no {name}, which Keras 3.5 to 3.15 have."


def call_of(tensor: Any) -> tuple[Any, Any, int]:
    """The call that made a symbolic tensor.

    Needs _keras_history (operation or layer, node_index, tensor_index) and _inbound_nodes. Without them it raises
    RuntimeError.

    Returns:
        The call (a Node of Keras), the called operation or layer, and the number of the output.
    """
    loss = "The calls in a model of Keras cannot be followed"
    operation, node_index, index = attribute(tensor, "_keras_history", loss)
    return attribute(operation, "_inbound_nodes", loss)[node_index], operation, index


def mask_of(tensor: Any) -> Any:
    """The mask that Keras attaches to a tensor, or None.

    Needs the attribute _keras_mask. Without it this raises RuntimeError, because a mask would be ignored.
    """
    if not hasattr(tensor, "_keras_mask"):
        _check_masks(tensor)
        return None
    return tensor._keras_mask


# {package of Keras: whether its Masking layer attaches a mask under the name}.
_attaches: dict = {}


def _check_masks(tensor):
    """Raises RuntimeError if this Keras attaches masks under another name."""
    package = _package_of(tensor)
    if package is None:
        return
    if package.__name__ not in _attaches:
        # WHY names: without them Keras would give the user's later layers other numbers.
        given = package.layers.Input([1, 1], name="input_of_tf_rnn_ops")
        masked = package.layers.Masking(name="masking_of_tf_rnn_ops")(given)
        _attaches[package.__name__] = hasattr(masked, "_keras_mask")
    if not _attaches[package.__name__]:
        raise RuntimeError(missing(tensor, "_keras_mask", "Masks would be ignored"))


def flatten_layers(layer: Any) -> list:
    """A layer and all layers inside of it.

    Needs the method _flatten_layers(), which layers have from Keras 2.4 on. Without it this raises
    RuntimeError for a layer of Keras 3. A layer of an older Keras counts as a layer without inner layers.
    """
    if not hasattr(layer, "_flatten_layers") and not _is_keras_3(layer):
        return [layer]
    return attribute(layer, "_flatten_layers", "The layers inside of a layer cannot be found")()


def _is_keras_3(thing):
    package = _package_of(thing)
    return package is not None and getattr(package, "__version__", "").startswith("3.")


def _package_of(thing):
    """The package of Keras that the class of an object is from, if it is imported."""
    names = (cls.__module__.partition(".")[0] for cls in type(thing).__mro__)
    return next((sys.modules.get(name) for name in names if name in ("keras", "tf_keras")), None)
