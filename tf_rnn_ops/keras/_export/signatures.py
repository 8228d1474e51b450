"""The arguments and results of a model, in the form of a signature of a SavedModel."""

import contextlib
import os
import re
import textwrap
from collections.abc import Collection, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops._comparison import npz
from tf_rnn_ops._comparison.differences import array_of
from tf_rnn_ops.keras._export import time_axes
from tf_rnn_ops.keras._internals import models
from tf_rnn_ops.keras._internals.layers import flatten_layers


def of(
    model: keras.Model, given: Any, batch_size: int | None = None, time: int | None = None
) -> list:
    """The signature of a model for an export.

    Args:
        model: A Keras model.
        given: A list with a structure of specs for each argument; None for the inputs of the model.
        batch_size: B, the first size of each spec whose first size is open. If none is, of each spec with the
            B of the first one. None keeps the sizes.
        time: T, the second size of each spec whose second size is open. If none is, of the sequences of the model
            that may have another number of steps. None keeps the sizes.

    Returns:
        A list with a structure of tf.TensorSpec with unique names for each argument.

    Raises:
        ValueError: The model is not built, `given` is not as above, `given` is None and the model does not
            know its inputs, or the model does not accept `time`.
    """
    given = _given_or_recorded(model, given)
    specs = _named(keras.tree.map_structure(_spec, given))
    if batch_size is not None:
        before = None if has_open_batch(specs) else _first_batch_size(specs)
        specs = keras.tree.map_structure(
            lambda spec: _with_batch_size(spec, before, batch_size), specs
        )
    if time is not None:
        names = {spec.name for spec in keras.tree.flatten(specs) if _has_open_time(spec)}
        names = names or time_axes.find(model, specs).longer
        if not names:
            raise ValueError(
                f"time must be None for a model without an input of an open number of steps, but it is {time}."
            )
        specs = with_size(specs, 1, time, names)
    return specs


def named_for_users(signature: list) -> list:
    """The signature with the keys of dicts as names, by which the model takes its inputs, and with 'input_0' and so on
    for inputs without a name.

    The names of a SavedModel are those of the tensors, as in Keras's own export.
    """
    names = [
        f"input_{k}" if _is_automatic(spec.name) else spec.name
        for k, spec in enumerate(keras.tree.flatten(signature))
    ]
    specs = _with_names(signature, names)
    return _named([_specs_by_key(one) if isinstance(one, dict) else one for one in specs])


def _is_automatic(name: str | None) -> bool:
    """Whether a name is one that Keras or `_named` has made."""
    return name is None or bool(
        re.fullmatch(r"(keras_tensor|input_layer)(_\d+)?|args_0(_\d+)*", name)
    )


def _specs_by_key(specs: dict) -> dict:
    return {
        key: tf.TensorSpec(one.shape, one.dtype, str(key))
        if isinstance(one, tf.TensorSpec)
        else one
        for key, one in specs.items()
    }


def changed_names(model: keras.Model, given: Any, signature: list) -> list[str]:
    """Sentences on inputs that have another name in a file than in the model.

    Args:
        model: The model.
        given: The argument of `of`.
        signature: The signature of the file.
    """
    wanted = keras.tree.flatten(_given_or_recorded(model, given))
    pairs = [(one.name, spec.name) for one, spec in zip(wanted, keras.tree.flatten(signature))]
    return [
        f"The input {before!r} is named {after!r} in the file."
        for before, after in pairs
        if before != after and not _is_automatic(before)
    ]


def _given_or_recorded(model: keras.Model, given: Any) -> list:
    if not model.built:
        raise ValueError(
            f"The model {model.name!r} must be built: call it once, or give it a keras.Input."
        )
    if given is None:
        return _recorded(model)
    if not isinstance(given, (list, tuple)):
        raise ValueError(
            "input_signature must be a list with the specs of each argument of the model, but it is "
            f"{given!r}."
        )
    return list(given)


def are_of_a_batch(model: keras.Model, given: Any) -> bool:
    """Whether the sizes of the inputs are those of the first batch of the model, so that nobody has given them.

    Args:
        model: The model.
        given: The argument of `of`.
    """
    if given is not None:
        return False
    if isinstance(model, keras.Sequential):
        return models.has_sizes_of_a_batch(model)
    return not hasattr(model, "input")


def opened_batch(model: keras.Model) -> list[str]:
    """A sentence if `of` has opened the batch size of the first batch of a Sequential."""
    if isinstance(model, keras.Sequential) and are_of_a_batch(model, None):
        (before,), (after,) = model.inputs, _recorded(model)
        if before.shape[0] is not None and after.shape[0] is None:
            return [f"The batch size {before.shape[0]} of the model is open; batch_size fixes it."]
    return []


def has_open_batch(signature: list) -> bool:
    """Whether a spec has an open first size."""
    return any(spec.shape[0] is None for spec in keras.tree.flatten(signature) if spec.shape.rank)


def recorded_or(model: keras.Model, arguments: list) -> list:
    """The signature of a model, or specs of its arguments if it is of a class and has recorded others.

    Args:
        model: A Keras model.
        arguments: A list of tf.TensorSpec.
    """
    try:
        signature = named_for_users(of(model, None))
    except ValueError:
        if not model.built:
            raise
        return arguments
    is_of_class = not isinstance(model, keras.Sequential) and not hasattr(model, "input")
    return arguments if is_of_class and _count(signature) != len(arguments) else signature


def _count(signature: list) -> int:
    return len(keras.tree.flatten(signature))


def _recorded(model: keras.Model) -> list:
    """The inputs of a model in their structure, for each argument of the model."""
    if isinstance(model, keras.Sequential):
        # WHY not model.input: it is the input of a call of the model, such as one in another model.
        with contextlib.suppress(AttributeError):
            return [_without_first_batch(model, tensor) for tensor in model.inputs]
    else:
        with contextlib.suppress(AttributeError):
            return [model.input]
    config = model.get_build_config() or {}
    shapes = config.get("shapes_dict") or {"args_0_shape": config.get("input_shape")}
    try:
        return [
            _specs_of(shape, name.removesuffix("_shape"), model.input_dtype)
            for name, shape in shapes.items()
        ]
    except TypeError:
        raise ValueError(
            f"The inputs of the model {model.name!r} are not known, because it has a class of its own: give "
            "input_signature."
        ) from None


def _without_first_batch(model: keras.Model, tensor: keras.KerasTensor) -> keras.InputSpec:
    """The spec of the input of a Sequential; open in B if Keras took it from the first batch."""
    stateful = any(getattr(layer, "stateful", False) for layer in flatten_layers(model))
    batch_size = tensor.shape[0] if stateful or not are_of_a_batch(model, None) else None
    return keras.InputSpec(tensor.dtype, (batch_size, *tensor.shape[1:]), name=tensor.name)


def _specs_of(shape: Any, name: str, dtype: Any) -> Any:
    """Specs of an open batch size from the shapes that a model has recorded."""
    if isinstance(shape, dict):
        return {key: _specs_of(one, str(key), dtype) for key, one in shape.items()}
    if not isinstance(shape, (list, tuple)):
        raise TypeError(shape)
    if all(size is None or isinstance(size, int) for size in shape):
        return tf.TensorSpec([None, *shape[1:]], dtype, name)
    return [_specs_of(one, f"{name}_{k}", dtype) for k, one in enumerate(shape)]


def _spec(spec: Any) -> tf.TensorSpec:
    if getattr(spec, "shape", None) is None or getattr(spec, "dtype", None) is None:
        raise ValueError(
            "input_signature must consist of specs with shape and dtype, such as keras.InputSpec, but it "
            f"has {spec!r}."
        )
    dtype = (
        spec.dtype
        if isinstance(spec.dtype, tf.DType)
        else keras.backend.standardize_dtype(spec.dtype)
    )
    return tf.TensorSpec(spec.shape, dtype, getattr(spec, "name", None))


def _first_batch_size(signature: list) -> int | None:
    return next((one.shape[0] for one in keras.tree.flatten(signature) if one.shape.rank), None)


def _with_batch_size(spec: tf.TensorSpec, before: int | None, batch_size: int) -> tf.TensorSpec:
    if not spec.shape.rank or spec.shape[0] != before:
        return spec
    return tf.TensorSpec([batch_size, *spec.shape[1:]], spec.dtype, spec.name)


def _has_open_time(spec: tf.TensorSpec) -> bool:
    return (spec.shape.rank or 0) > 1 and spec.shape[1] is None


def with_size(signature: list, axis: int, size: int | None, names: Collection[str]) -> list:
    """The signature with a size of one axis of the specs of some names."""

    def changed(spec: tf.TensorSpec) -> tf.TensorSpec:
        if spec.name not in names or not spec.shape.rank:
            return spec
        shape = list(spec.shape)
        shape[axis] = size
        return tf.TensorSpec(shape, spec.dtype, spec.name)

    return keras.tree.map_structure(changed, signature)


def _named(signature: list) -> list:
    """The signature with unique names that TensorFlow does not change."""
    taken: set[str] = set()
    wanted = [spec.name or "args_0" for spec in keras.tree.flatten(signature)]
    # A name that TensorFlow keeps stays, also where another one becomes equal to it.
    order = sorted(range(len(wanted)), key=lambda k: _allowed(wanted[k]) != wanted[k])
    found = {k: free_name(wanted[k], taken) for k in order}
    return _with_names(signature, [found[k] for k in range(len(wanted))])


def _with_names(signature: list, names: Sequence[str]) -> list:
    """The signature with a name for each spec, in the order of the signature."""
    remaining = iter(names)
    return keras.tree.map_structure(
        lambda spec: tf.TensorSpec(spec.shape, spec.dtype, next(remaining)), signature
    )


def free_name(wanted: str, taken: set[str]) -> str:
    """A name that is similar to `wanted`, not in `taken`, and that TensorFlow keeps.

    It is added to `taken`, in lower case, since TensorFlow's functions do not distinguish case.
    """
    base = found = _allowed(wanted)
    number = 0
    while found.lower() in taken:
        number += 1
        found = f"{base}_{number}"
    taken.add(found.lower())
    return found


def _allowed(name: str) -> str:
    """The name with the characters that TensorFlow keeps."""
    base = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return base if base[:1].isalpha() else f"arg_{base}"


def arguments(signature: list, batch: Any) -> list:
    """A batch as a list of arguments in the types of the signature.

    Raises:
        ValueError: The batch has another structure, another shape, or values of another type.
    """
    given = [batch]
    if len(signature) > 1:
        given = list(batch) if isinstance(batch, (list, tuple)) else [batch]
    wanted = _in_lists(signature)
    if not _same_structure(wanted, given):
        given = _by_names(signature, batch)
    if not _same_structure(wanted, given):
        names = keras.tree.map_structure(lambda spec: spec.name, wanted)
        shapes = keras.tree.map_structure(lambda one: f"array of shape {np.shape(one)}", batch)
        raise ValueError(
            f"verify_inputs must have the structure {names[0] if len(names) == 1 else names} of the inputs, or be a dict "
            f"of these names, but it has the structure {textwrap.shorten(str(shapes), 200)}."
        )

    def array(spec: tf.TensorSpec, value: Any) -> np.ndarray:
        try:
            value = array_of(value)
            converted = value.astype(spec.dtype.as_numpy_dtype)
            if spec.dtype.is_integer and not np.array_equal(converted, value):
                raise TypeError(f"it has other values as {spec.dtype.name}")
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"verify_inputs must fit the signature, where {spec.name!r} has the type {spec.dtype.name}: {error}."
            ) from error
        if not spec.shape.is_compatible_with(value.shape):
            raise ValueError(
                f"verify_inputs must fit the signature, where {spec.name!r} has the shape {spec.shape}, but it has "
                f"an array of shape {value.shape}."
            )
        return converted

    arrays = map(array, keras.tree.flatten(signature), keras.tree.flatten(given))
    return keras.tree.pack_sequence_as(signature, list(arrays))


def _same_structure(wanted: list, given: Any) -> bool:
    try:
        keras.tree.assert_same_structure(wanted, _in_lists(given))
    except (TypeError, ValueError):
        return False
    return True


def _by_names(signature: list, batch: Any) -> Any:
    """The arguments for a dict by the names of the inputs, or for a list with a single input.

    predict_on_batch takes them for inputs of any structure.
    """
    specs = keras.tree.flatten(signature)
    if isinstance(batch, dict):
        arrays = {_allowed(str(name)): array for name, array in batch.items()}
    else:
        arrays = {spec.name: one for spec, one in zip(specs, keras.tree.flatten(batch))}
        if len(specs) > 1 or len(keras.tree.flatten(batch)) > 1:
            return batch
    if arrays.keys() != {spec.name for spec in specs}:
        return batch
    return keras.tree.pack_sequence_as(signature, [arrays[spec.name] for spec in specs])


def batch_of_file(path: str | os.PathLike[str], signature: list) -> Any:
    """The arrays of a file of np.savez, which has an array for each input by its name, as a batch.

    Raises:
        ValueError: There is no such file, or it has other names.
    """
    arrays = npz.arrays_of(path)
    names = [spec.name for spec in keras.tree.flatten(signature)]
    if sorted(arrays) != sorted(names):
        raise ValueError(
            f"verify_inputs: {path} must have the arrays {', '.join(names)}, but it has {', '.join(arrays) or 'none'}."
        )
    batch = keras.tree.pack_sequence_as(signature, [arrays[name] for name in names])
    return batch[0] if len(batch) == 1 else batch


def _in_lists(structure: Any) -> Any:
    """The structure with lists for tuples, between which predict_on_batch makes no difference."""
    if isinstance(structure, dict):
        return {key: _in_lists(one) for key, one in structure.items()}
    if isinstance(structure, (list, tuple)):
        return [_in_lists(one) for one in structure]
    return structure
