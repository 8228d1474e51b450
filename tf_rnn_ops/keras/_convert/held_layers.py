"""Configs of layers that hold other layers, with copies of these in the place of their configs."""

import collections
import contextlib
import copy as copying
import threading
import warnings
from typing import Any, Callable, Iterator, Sequence

import keras

from tf_rnn_ops.keras._internals.layers import flatten_layers

# The class of a layer in a config that is a copy already, and the key of its number.
_COPY = "copy_of_tf_rnn_ops"
# WHY: catch_warnings of two threads at once would leave the filters of the process changed.
_FILTERS = threading.Lock()
# Parts of the config of a layer that are not for its copy.
_NOT_OF_COPIES = ("compile_config", "shared_object_id")


def from_config(layer: keras.layers.Layer, copy: Callable, cls: Any) -> Any:
    """A new layer with the config of a layer, around copies of the layers that it holds.

    WHY: Keras makes layers of registered classes and of functions with names only, and a new layer for each
    place of the config, also where one layer is at several places.

    Args:
        layer: A layer, or an operation of Keras.
        copy: A function that returns the copy of a layer.
        cls: The class of the new layer.
    """
    held = _by_name(layer)
    if not held:
        return cls.from_config(with_own_map(layer.get_config()))
    config = with_own_map(_config_of(layer))
    with keras.saving.custom_object_scope({_COPY: _copies(list(held.values()), copy)}):
        numbers = {name: number for number, name in enumerate(held)}
        return cls.from_config(_with_copies(config, numbers))


def with_own_map(config: dict) -> dict:
    """A config whose DTypePolicyMap the copy may change, as quantize() of a layer does."""
    is_map = isinstance(config.get("dtype"), keras.dtype_policies.DTypePolicyMap)
    return {**config, "dtype": copying.deepcopy(config["dtype"])} if is_map else config


def _config_of(layer: keras.layers.Layer) -> dict[str, Any]:
    """The config of a layer. Keras's warning of functions without a name is not for their copies."""
    if not any(isinstance(inner, keras.layers.Lambda) for inner in flatten_layers(layer)):
        return layer.get_config()
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The object being serialized includes a `lambda`")
        return layer.get_config()


def _by_name(layer: Any) -> dict[tuple[str, str], keras.layers.Layer]:
    """{(name of the class, name): layer}, of the layers inside of a layer with names of their own."""
    if not isinstance(layer, keras.layers.Layer):
        return {}
    candidates: dict[tuple[str, str], dict[int, Any]] = collections.defaultdict(dict)
    for inner in flatten_layers(layer):
        if inner is not layer:
            candidates[type(inner).__name__, inner.name][id(inner)] = inner
    unique = {name: layers for name, layers in candidates.items() if len(layers) == 1}
    return {name: next(iter(layers.values())) for name, layers in unique.items()}


def _copies(layers: Sequence[keras.layers.Layer], copy: Callable) -> type:
    """A class whose from_config returns the copies of layers."""

    class Copies:
        @classmethod
        def from_config(cls, config: dict[str, Any]) -> Any:
            return copy(layers[config[_COPY]])

        def get_config(self) -> dict[str, Any]:
            raise NotImplementedError

    return Copies


def _with_copies(value: Any, numbers: dict[tuple[str, str], int]) -> Any:
    """A config with the marks of copies."""
    if isinstance(value, dict):
        inner = value.get("config")
        name = (value.get("class_name"), inner.get("name")) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and name in numbers:
            marked = {key: entry for key, entry in value.items() if key not in _NOT_OF_COPIES}
            return {
                **marked,
                "module": None,
                "class_name": _COPY,
                "registered_name": _COPY,
                "config": {**inner, _COPY: numbers[name]},
            }
        return {key: _with_copies(entry, numbers) for key, entry in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_with_copies(entry, numbers) for entry in value)
    return value


@contextlib.contextmanager
def policy_of(layer: Any) -> Iterator[None]:
    """The dtype policy of a layer as that of new layers, which a class of a user's own may make itself.

    Keras keeps one policy for each thread.
    """
    policy = getattr(layer, "dtype_policy", None)
    is_custom = not type(layer).__module__.startswith("keras.")
    # A map has policies for the paths of its own layers only.
    is_map = isinstance(policy, keras.dtype_policies.DTypePolicyMap)
    if policy is None or not is_custom or is_map or getattr(policy, "quantization_mode", None):
        yield
        return
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
