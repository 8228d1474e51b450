"""Copies models with other classes of layers."""

import contextlib
import inspect
from typing import Any, Mapping, TypeVar

import keras
import tensorflow as tf

from tf_rnn_ops._python import patches
from tf_rnn_ops.keras._convert import carry, layer_calls, pairs, recompile
from tf_rnn_ops.keras._convert.pairs import ACCELERATE
from tf_rnn_ops.keras._internals import models
from tf_rnn_ops.keras._internals.layers import flatten_layers, inner_layers, output_shape_of
from tf_rnn_ops.keras._internals.models import strategy_of
from tf_rnn_ops.keras._internals.tensors import call_of
from tf_rnn_ops.keras.dispatch import decision
from tf_rnn_ops.keras.layers import RNN, quantization
from tf_rnn_ops.keras.layers.op_layer import OpLayer

_Model = TypeVar("_Model", bound=keras.layers.Layer)
# {class of a recurrent layer: its class in the copy}.
_Classes = Mapping[type, type]

# Methods of the class that each layer hides by an attribute.
_HIDDEN_BY_KERAS = ("build", "quantize")
# Methods that only a user calls: a copy without the change computes the same.
_OF_USERS = (
    "fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch",
    "save", "save_weights", "load_weights", "export", "summary",
)  # fmt: skip


def copy_of(model: _Model, classes: _Classes, compiled: bool) -> _Model:
    """A copy of a model, in the scope of its distribution strategy.

    Args:
        model: A Keras 3 model or layer.
        classes: The _Classes.
        compiled: Whether to compile the copies of compiled models.

    Returns:
        The copy, with the weights and all other state of the model.

    Raises:
        ValueError: An equal copy is not possible.
    """
    with _scope(model):
        copy = _Copier(classes).copy(model)
        if model.built and not copy.built:
            copy.build_from_config(model.get_build_config())
        pairing = pairs.pair(model, copy)
        _check_that_nothing_is_lost(pairing)
        _take_names(pairing)
        _count_as_built(pairing)
        carry.carry_state(pairing)
        # The inner models first.
        for original, twin in reversed(pairing.layers) if compiled else ():
            if getattr(original, "compiled", False):
                recompile.recompile(original, twin, pairing.variables)
        _count_as_called(model, copy)
    return copy


def _check_that_nothing_is_lost(pairing: pairs.Pairs) -> None:
    """Raises an error if an attribute of a layer hides a method or a variable that its copy has."""
    for layer, copy in pairing.layers:
        attributes, new = vars(layer), vars(copy)
        methods = [name for name in attributes if callable(getattr(type(layer), name, None))]
        lost = [name for name in methods if name not in {*new, *_HIDDEN_BY_KERAS, *_OF_USERS}]
        lost += [
            name
            for name in attributes.keys() & new.keys()
            if isinstance(new[name], pairs.variable_class())
            and not isinstance(attributes[name], pairs.variable_class())
        ]
        for name in lost:
            raise ValueError(
                f"convert: {name} of the layer {layer.name!r} of class {type(layer).__name__} has been replaced, which "
                "is not in its config: define it in a class with get_config and from_config, or do not make a "
                f"copy: {ACCELERATE}"
            )


def _take_names(pairing: pairs.Pairs) -> None:
    """Gives the copies the names of their originals.

    WHY: a constructor of a user's class makes layers without names, which Keras numbers again for each object.
    """
    for layer, copy in pairing.layers:
        inputs = zip(_inputs_of(layer), _inputs_of(copy)) if pairs.is_graph(layer) else ()
        for original, twin in ((layer, copy), *inputs):
            if twin.name != original.name:
                twin.name = original.name


def _inputs_of(model: keras.Model) -> list[keras.layers.InputLayer]:
    return [layer for layer in inner_layers(model) if isinstance(layer, keras.layers.InputLayer)]


def _count_as_built(pairing: pairs.Pairs) -> None:
    """Lets models of a user's class count as built if they have the variables of the built originals.

    WHY: Model.build_from_config builds the layers of a model without build(), but not the model.
    """
    for layer, copy in pairing.layers:
        if isinstance(copy, keras.Model) and layer.built and not copy.built:
            patches.put(copy, "built", True)


def _count_as_called(model: keras.layers.Layer, copy: keras.layers.Layer) -> None:
    """Lets Keras export a copy that has not been called, if the inputs of the copy are known."""
    if (models.was_called(model) or _can_be_rebuilt(model)) and copy.built:
        models.count_as_called(copy)


class _Copier:
    """Copies layers, each layer once."""

    def __init__(self, classes: _Classes) -> None:
        """Begins without copies. `classes`: see copy_of."""
        self._classes = classes
        self._copies: dict[int, Any] = {}

    def copy(self, layer: Any) -> Any:
        """The copy of a layer or model."""
        if id(layer) not in self._copies:
            self._copies[id(layer)] = self._new_copy(layer)
        return self._copies[id(layer)]

    def _new_copy(self, layer: Any) -> Any:
        if _is_lambda(layer):
            return _copied_lambda(layer)
        if not _can_be_rebuilt(layer):
            return self._through_config(layer)
        copy = self._rebuilt(layer)
        if copy.dtype_policy != layer.dtype_policy:  # a new model has the policy of the moment
            copy.dtype_policy = layer.dtype_policy
        return copy

    def _rebuilt(self, model: keras.Model) -> keras.Model:
        if isinstance(model, keras.Sequential):
            return self._sequential(model)
        return keras.models.clone_model(
            # WHY: Keras would compile the clone, which needs serializable losses.
            layer_calls.variant(model, compiled=False),
            input_tensors=keras.tree.map_structure(_new_input, model.input),
            clone_function=self.copy,
        )

    def _sequential(self, model: keras.Sequential) -> keras.Sequential:
        copies = [self.copy(layer) for layer in model.layers]
        # `layers` does not include the Input.
        inputs = [_new_input(layer.output) for layer in inner_layers(model)[: -len(copies) or None]]
        return type(model)(inputs + copies, name=model.name, trainable=model.trainable)

    def _through_config(self, layer: Any) -> Any:
        cls = self._class_in_copy(layer)
        copy = carry.through_config("layer", layer, self.copy, cls)
        if cls is not None and not issubclass(cls, OpLayer):
            quantization.release(copy)  # its cells may have classes of this package
        # Operations such as keras.ops.add are not layers.
        if isinstance(copy, keras.layers.Layer):
            self._check_that_nothing_is_shared(layer, copy)
            self._switch_classes(copy)
        return copy

    def _check_that_nothing_is_shared(
        self, layer: keras.layers.Layer, copy: keras.layers.Layer
    ) -> None:
        """Raises an error if a config contains layer objects, which the copy would change."""
        of_layer = set(map(id, flatten_layers(layer)))
        for inner in flatten_layers(copy):
            if id(inner) in of_layer and (inner.variables or type(inner) in self._classes):
                raise ValueError(
                    f"convert: the copy of the layer {layer.name!r} of class {type(layer).__name__} "
                    f"through get_config and from_config shares the layer {inner.name!r} with it: let "
                    f"get_config serialize it, or do not make a copy: {ACCELERATE}"
                )

    def _class_in_copy(self, layer: Any) -> type | None:
        """The class that replaces the class of a layer in the copy, or None."""
        cls = self._classes.get(type(layer))
        return None if cls is RNN and not decision.has_op_cells(layer) else cls

    def _switch_classes(self, layer: keras.layers.Layer) -> None:
        """Changes the class of recurrent layers in place that the constructor of a user's class has made.

        Layers of both packages have the same attributes, so only the class of an instance changes. WHY not other
        layers: this way the object of the user's class keeps all its references.
        """
        for inner in flatten_layers(layer):
            cls = self._class_in_copy(inner)
            if cls is not None:
                patches.change_class(inner, cls)
                change = quantization.adopt if issubclass(cls, OpLayer) else quantization.release
                change(inner)


def _copied_lambda(layer: keras.layers.Lambda) -> keras.layers.Lambda:
    """A Lambda of the same function, which Keras does not load from a config."""
    return type(layer)(
        layer.function,
        output_shape=output_shape_of(layer),
        mask=layer.mask,
        arguments=layer.arguments,
        **_arguments_of(layer),
    )


def _is_lambda(layer: keras.layers.Layer) -> bool:
    """Whether it is a Lambda with Keras's constructor."""
    base = keras.layers.Lambda
    return isinstance(layer, base) and type(layer).__init__ is base.__init__


def _arguments_of(layer: keras.layers.Layer) -> dict[str, Any]:
    """The arguments of the constructor of every layer."""
    return {"name": layer.name, "dtype": layer.dtype_policy, "trainable": layer.trainable}


def _can_be_rebuilt(layer: keras.layers.Layer) -> bool:
    """Whether it is a sequential or functional model with Keras's constructor."""
    return pairs.is_graph(layer) and type(layer).__init__.__module__.startswith("keras.")


def _new_input(tensor: keras.KerasTensor) -> keras.KerasTensor:
    """A new input with the name and the flags of an old input. clone_model would lose both."""
    layer = call_of(tensor)[1]
    # Older versions of Keras lack some of these flags.
    known = inspect.signature(keras.Input).parameters
    flags = {
        "ragged": getattr(tensor, "ragged", False),
        "optional": getattr(layer, "optional", False),
    }
    return keras.Input(
        batch_shape=tensor.shape,
        dtype=tensor.dtype,
        sparse=tensor.sparse,
        name=layer.name,
        **{name: value for name, value in flags.items() if name in known},
    )


def _scope(model: keras.layers.Layer) -> contextlib.AbstractContextManager[Any]:
    """The scope of the model's distribution strategy, unless the caller is in the scope of a strategy."""
    strategy = strategy_of(model)
    if strategy is None or tf.distribute.has_strategy():
        return contextlib.nullcontext()
    return strategy.scope()
