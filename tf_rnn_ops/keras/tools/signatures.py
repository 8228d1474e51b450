"""The arguments and results of a model, in the form of a signature of a SavedModel."""

import re

import keras
import numpy as np
import tensorflow as tf


def of(model, given):
    """The signature of a model for an export.

    Args:
        model: A Keras model.
        given: A list with a structure of specs for each argument, or None.

    Returns:
        A list with a structure of tf.TensorSpec with unique names for each argument.

    Raises:
        ValueError: The model is not built, `given` is not as above, or `given` is None and the model has a
            class of its own, which does not determine its inputs.
    """
    if not model.built:
        raise ValueError(
            f"The model {model.name!r} must be built: call it once, or give it a keras.Input."
        )
    if given is None:
        given = _recorded(model)
    elif not isinstance(given, (list, tuple)):
        raise ValueError(
            "input_signature must be a list with the specs of each argument of the model, but it is "
            f"{given!r}."
        )
    return _named(keras.tree.map_structure(_spec, list(given)))


def _recorded(model):
    try:
        return [model.input]
    except AttributeError:
        pass
    shape = (model.get_build_config() or {}).get("input_shape")
    if not isinstance(shape, (list, tuple)) or any(
        isinstance(n, (list, tuple, dict)) for n in shape
    ):
        raise ValueError(
            f"The inputs of the model {model.name!r} are not known, because it has a class of its own: give "
            "input_signature."
        )
    return [tf.TensorSpec([None, *shape[1:]], model.input_dtype)]


def _spec(spec):
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


def _named(signature):
    """The signature with unique names that TensorFlow does not change."""
    taken = set()

    def name(spec):
        return tf.TensorSpec(spec.shape, spec.dtype, free_name(spec.name or "input", taken))

    return keras.tree.map_structure(name, signature)


def free_name(wanted, taken):
    """A name that is similar to `wanted`, not in `taken`, and that TensorFlow keeps. It is added to `taken`."""
    base = re.sub(r"\W", "_", wanted).lower()
    base = base if base[:1].isalpha() else f"input_{base}"
    found, number = base, 0
    while found in taken:
        number += 1
        found = f"{base}_{number}"
    taken.add(found)
    return found


def arguments(signature, batch):
    """A batch as a list of arguments in the types of the signature.

    Raises:
        ValueError: The batch has another structure, another shape, or values of another type.
    """
    given = list(batch) if len(signature) > 1 else [batch]
    try:
        keras.tree.assert_same_structure(signature, given)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"verify must be True, False or a batch in the structure of {signature}, but it has "
            f"another structure: {error}"
        ) from error

    def array(spec, value):
        try:
            value = np.asarray(value)
            converted = value.astype(spec.dtype.as_numpy_dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"verify must fit the signature, where {spec.name!r} has the type {spec.dtype.name}: {error}."
            ) from error
        if not spec.shape.is_compatible_with(value.shape):
            raise ValueError(
                f"verify must fit the signature, where {spec.name!r} has the shape {spec.shape}, but it has "
                f"an array of shape {value.shape}."
            )
        return converted

    return keras.tree.map_structure(array, signature, given)


def named(outputs):
    """{name in a signature: output of the model}."""
    if isinstance(outputs, dict):
        return dict(outputs)
    return {f"output_{k}": one for k, one in enumerate(keras.tree.flatten(outputs))}


def results(outputs):
    """{name in a signature: output of the model, as an array}."""
    return {name: np.asarray(one) for name, one in named(outputs).items()}
