"""Copies models with other classes of layers."""

import contextlib
import inspect

import keras
import tensorflow as tf

from tf_rnn_ops import _patches
from tf_rnn_ops.keras._convert import carry, layer_calls, pairs, recompile
from tf_rnn_ops.keras._convert.advice import ACCELERATE
from tf_rnn_ops.keras._convert.stacks.counterparts import STACKS, reason_against
from tf_rnn_ops.keras._convert.stacks.graph import maskable
from tf_rnn_ops.keras._convert.stacks.stack_to_keras import KerasStack
from tf_rnn_ops.keras._internals import models
from tf_rnn_ops.keras._internals.layers import inner_layers, output_shape_of
from tf_rnn_ops.keras._internals.models import strategy_of
from tf_rnn_ops.keras.dispatch import eligibility
from tf_rnn_ops.keras.layers import RNN, quantization
from tf_rnn_ops.keras.layers.op_layer import OpLayer
from tf_rnn_ops.params.keras.internals import call_of, flatten_layers

# Methods of the class that each layer hides by an attribute.
_HIDDEN_BY_KERAS = ("build", "quantize")
# Methods that only a user calls: a copy without the change computes the same.
_OF_USERS = (
    *("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"),
    *("save", "save_weights", "load_weights", "export", "summary"),
)


def copy_of(model, classes, stacks=False, compiled=True):
    """A copy of a model, in the scope of its distribution strategy.

    Args:
        model: A Keras 3 model or layer.
        classes: {class of a recurrent layer: its class in the copy}.
        stacks: Whether to replace stacks_that_are_replaceable by layers of Keras, if these compute the
            same function.
        compiled: Whether to compile the copies of compiled models.

    Returns:
        The copy, with the weights and all other state of the model.

    Raises:
        ValueError: An equal copy is not possible.
    """
    with _scope(model):
        masks = maskable(model, can_be_rebuilt) if stacks else None
        copier = _Copier(classes, masks, {one.name for one in flatten_layers(model)})
        copy = copier.copy(model)
        if isinstance(copy, KerasStack):
            return copier.model_of(copy)
        if model.built and not copy.built:
            copy.build_from_config(model.get_build_config())
        replaced = [one for group in copier.groups for one in group.replaced]
        found = pairs.pair(model, copy, map(id, replaced))
        _check_that_nothing_is_lost(found)
        _count_as_built(found)
        carry.carry_state(found)
        for group in copier.groups:
            carry.carry_group(group)
        for one, other in reversed(found.layers) if compiled else ():  # the inner models first
            if getattr(one, "compiled", False):
                recompile.recompile(one, other, found.variables, copier.groups)
        _count_as_called(model, copy)
    return copy


def _check_that_nothing_is_lost(found):
    """Raises an error if an attribute of a layer hides a method or a variable that its copy has."""
    for layer, copy in found.layers:
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


def _count_as_built(found):
    """Lets models of a user's class count as built if they have the variables of the built originals.

    WHY: Model.build_from_config builds the layers of a model without build(), but not the model.
    """
    for layer, copy in found.layers:
        if isinstance(copy, keras.Model) and layer.built and not copy.built:
            _patches.put(copy, "built", True)


def _count_as_called(model, copy):
    """Lets Keras export a copy that has not been called, if the inputs of the copy are known."""
    if (models.was_called(model) or can_be_rebuilt(model)) and copy.built:
        models.count_as_called(copy)


def stacks_that_are_replaceable(model):
    """Ids of the stacks that copy_of can replace: `model` itself, or layers of models that can be rebuilt."""
    if type(model) in STACKS:
        return {id(model)}
    inner = model.layers if can_be_rebuilt(model) else []
    return set().union(*map(stacks_that_are_replaceable, inner))


class _Copier:
    """Copies layers, each layer once.

    Attributes:
        groups: A list of KerasStack, one for each stack to replace.
    """

    def __init__(self, classes, maskable_stacks, used_names):
        """Begins without copies.

        Args:
            classes: See copy_of.
            maskable_stacks: See graph.maskable; None to keep stacks.
            used_names: The names of the layers of the model.
        """
        self._used_names = used_names
        self._classes, self._maskable = classes, maskable_stacks
        self._depth = 0  # the layers around the copied one that are not models with a graph
        self.groups, self._copies = [], {}

    def copy(self, layer):
        """The copy of a layer or model."""
        if id(layer) not in self._copies:
            self._copies[id(layer)] = self._new_copy(layer)
        return self._copies[id(layer)]

    def _new_copy(self, layer):
        if _is_lambda(layer):
            return _copied_lambda(layer)
        if self._replaces(layer):
            used = self._used_names - {layer.name}
            self.groups.append(KerasStack(layer, self._maskable.get(id(layer)), used))
            return self.groups[-1]
        if not can_be_rebuilt(layer):
            return self._through_config(layer)
        copy = self._rebuilt(layer)
        if copy.dtype_policy != layer.dtype_policy:  # a new model has the policy of the moment
            copy.dtype_policy = layer.dtype_policy
        return copy

    def _replaces(self, layer):
        """Whether layers of Keras replace a stack. A layer of another class holds one layer in its place."""
        if self._maskable is None or self._depth or type(layer) not in STACKS:
            return False
        return not reason_against(layer)

    def _held_copy(self, layer):
        """The copy of a layer inside of a layer that is copied through its config."""
        self._depth += 1
        try:
            return self.copy(layer)
        finally:
            self._depth -= 1

    def _rebuilt(self, model):
        if isinstance(model, keras.Sequential):
            return self._sequential(model)
        return keras.models.clone_model(
            # WHY: Keras would compile the clone, which needs serializable losses.
            layer_calls.variant(model, compiled=False),
            input_tensors=keras.tree.map_structure(_new_input, model.input),
            clone_function=self.copy,
        )

    def _sequential(self, model):
        copies = [self.copy(layer) for layer in model.layers]
        # `layers` does not include the Input.
        inputs = [_new_input(one.output) for one in inner_layers(model)[: -len(copies) or None]]
        stacks = [copy for copy in copies if isinstance(copy, KerasStack)]
        if all(stack.is_chain for stack in stacks):
            copies = [one for copy in copies for one in _layers_of(copy)]
            return type(model)(inputs + copies, name=model.name, trainable=model.trainable)
        name = next(stack.stack.name for stack in stacks if not stack.is_chain)
        if not inputs:
            raise ValueError(
                f"The stack {name!r} becomes several layers of Keras that are not a sequence, but the size "
                f"of the input of {model.name!r} is not known: begin the model with a keras.Input."
            )
        if type(model) is not keras.Sequential:
            raise ValueError(
                f"The stack {name!r} becomes several layers of Keras that are not a sequence, but the model "
                f"{model.name!r} is a {type(model).__name__}, whose own methods only a sequential model "
                "has: convert a keras.Sequential or a functional model of its layers."
            )
        x = inputs[0]
        for copy in copies:
            x = copy(x)
        return keras.Model(inputs[0], x, name=model.name, trainable=model.trainable)

    def model_of(self, stack):
        """The model that replaces a stack that is not a layer of a model."""
        if not stack.stack.built:
            if not stack.is_chain:
                raise ValueError(
                    f"The stack {stack.stack.name!r} becomes several layers of Keras that are not a "
                    "sequence, but the size of its input is not known: build it first."
                )
            return keras.Sequential(stack.layers, name=f"{stack.stack.name}_model")
        shape = stack.stack.get_build_config()["input_shape"]
        x = keras.Input(batch_shape=shape)
        if stack.is_chain:
            model = keras.Sequential([x, *stack.layers], name=f"{stack.stack.name}_model")
        else:
            model = keras.Model(x, stack(x), name=f"{stack.stack.name}_model")
        carry.carry_group(stack)
        return model

    def _through_config(self, layer):
        cls = self._class_in_copy(layer)
        copy = carry.through_config("layer", layer, self._held_copy, cls)
        if cls is not None and not issubclass(cls, OpLayer):
            quantization.release(copy)  # its cells may have classes of this package
        # Operations such as keras.ops.add are not layers.
        if isinstance(copy, keras.layers.Layer):
            self._check_that_nothing_is_shared(layer, copy)
            self._switch_classes(copy)
        return copy

    def _check_that_nothing_is_shared(self, layer, copy):
        """Raises an error if a config contains layer objects, which the copy would change."""
        of_layer = set(map(id, flatten_layers(layer)))
        for inner in flatten_layers(copy):
            if id(inner) in of_layer and (inner.variables or type(inner) in self._classes):
                raise ValueError(
                    f"convert: the copy of the layer {layer.name!r} of class {type(layer).__name__} "
                    f"through get_config and from_config shares the layer {inner.name!r} with it: let "
                    f"get_config serialize it, or do not make a copy: {ACCELERATE}"
                )

    def _class_in_copy(self, layer):
        """The class that replaces the class of a layer in the copy, or None."""
        cls = self._classes.get(type(layer))
        return None if cls is RNN and not eligibility.has_op_cells(layer) else cls

    def _switch_classes(self, layer):
        """Changes the class of recurrent layers in place that the constructor of a user's class has made.

        Layers of both packages have the same attributes, so only the class of an instance changes. WHY not other
        layers: this way the object of the user's class keeps all its references.
        """
        for inner in flatten_layers(layer):
            cls = self._class_in_copy(inner)
            if cls is not None:
                _patches.change_class(inner, cls)
                change = quantization.adopt if issubclass(cls, OpLayer) else quantization.release
                change(inner)


def _copied_lambda(layer):
    """A Lambda of the same function, which Keras does not load from a config."""
    return type(layer)(
        layer.function,
        output_shape=output_shape_of(layer),
        mask=layer.mask,
        arguments=layer.arguments,
        **_arguments_of(layer),
    )


def _is_lambda(layer):
    """Whether it is a Lambda with Keras's constructor."""
    base = keras.layers.Lambda
    return isinstance(layer, base) and type(layer).__init__ is base.__init__


def _arguments_of(layer):
    """The arguments of the constructor of every layer."""
    return {"name": layer.name, "dtype": layer.dtype_policy, "trainable": layer.trainable}


def _layers_of(copy):
    """The layers of a sequential model that replace one layer."""
    return copy.layers if isinstance(copy, KerasStack) else [copy]


def can_be_rebuilt(layer):
    """Whether it is a sequential or functional model with Keras's constructor."""
    return pairs.is_graph(layer) and type(layer).__init__.__module__.startswith("keras.")


def _new_input(tensor):
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


def _scope(model):
    """The scope of the model's distribution strategy, unless the caller is in the scope of a strategy."""
    strategy = strategy_of(model)
    if strategy is None or tf.distribute.has_strategy():
        return contextlib.nullcontext()
    return strategy.scope()
