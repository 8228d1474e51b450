"""Copies weights, states and flags from a model to its copy."""

import tempfile
import textwrap
from typing import Any, Callable

import keras
import numpy as np

from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.keras._convert import held_layers
from tf_rnn_ops.keras._convert.pairs import ACCELERATE, Pairs
from tf_rnn_ops.keras.layers.stack_layer import CudnnStack

# Attributes of recurrent layers and cells that Keras's configs lack.
_NOT_IN_CONFIG = ("use_cudnn", "implementation", "dropout_mask_count", "activity_regularizer")
_RECURRENT = (
    keras.layers.RNN,
    keras.layers.StackedRNNCells,
    keras.layers.LSTMCell,
    keras.layers.GRUCell,
    keras.layers.SimpleRNNCell,
    CudnnStack,
)


def through_config(
    kind: str, original: Any, copy: Callable | None = None, cls: type | None = None
) -> Any:
    """A new object with the config of `original`, a layer, optimizer or metric.

    Args:
        kind: The word for it in a message.
        original: The object.
        copy: For a layer a function that returns the copy of a layer inside of it.
        cls: For a layer the class of the new layer; None is that of `original`.

    Raises:
        ValueError: get_config and from_config of the class do not make a copy.
    """
    try:
        if copy is None:
            return type(original).from_config(held_layers.with_own_map(original.get_config()))
        with held_layers.policy_of(original):
            return held_layers.from_config(original, copy, cls or type(original))
    except Exception as error:  # The methods may be a user's.
        named = isinstance(error, (NotImplementedError, TypeError, ValueError))
        text = one_line(error) if named else f"{type(error).__name__}: {one_line(error)}"
        # WHY shorten: messages of Keras contain whole configs with the byte code of lambdas.
        reason = textwrap.shorten(text, 160, placeholder=" ...")
        raise ValueError(
            f"convert: the {kind} {original.name!r} of class {type(original).__name__} cannot be copied "
            f"through get_config and from_config: {reason} Give its class, and the classes of the objects that it "
            f"holds, a suitable get_config, or do not make a copy: {ACCELERATE}"
        ) from error


def carry_state(pairs: Pairs) -> None:
    """Copies the variables, recurrent states and flags of originals to their copies.

    Args:
        pairs: Pairs of a model and its copy.
    """
    # load_own_variables may merge variables, as LoRA does, so assign the variables afterwards.
    for layer, new_layer in pairs.layers:
        _carry_own_state(layer, new_layer)
    for variable, new_variable in pairs.variables:
        new_variable.assign(variable)
    for layer, new_layer in pairs.layers:
        if new_layer.trainable != layer.trainable:
            new_layer.trainable = layer.trainable
        _carry_jit_flag(layer, new_layer)
        if isinstance(layer, _RECURRENT):
            _carry_recurrent(layer, new_layer)
    # `trainable` of a layer also sets `trainable` of the variables, so set the variables afterwards.
    for variable, new_variable in pairs.variables:
        if new_variable.trainable != variable.trainable:
            new_variable.trainable = variable.trainable


def _carry_own_state(layer: Any, new_layer: Any) -> None:
    """Copies state outside of variables, such as a vocabulary, in the way of saving and loading."""
    # The vocabulary of a TextVectorization is in the StringLookup inside of it, which is a layer of its
    # own.
    if new_layer is layer or isinstance(layer, keras.layers.TextVectorization):
        return
    if isinstance(layer, (keras.layers.StringLookup, keras.layers.IntegerLookup)):
        _carry_vocabulary(layer, new_layer)
        return
    try:
        if type(layer).load_own_variables is not keras.layers.Layer.load_own_variables:
            store: dict[str, Any] = {}
            layer.save_own_variables(store)
            if store:
                store = {name: np.asarray(value).copy() for name, value in store.items()}
                new_layer.load_own_variables(store)
        if hasattr(layer, "save_assets") and hasattr(new_layer, "load_assets"):
            with tempfile.TemporaryDirectory() as folder:
                layer.save_assets(folder)
                new_layer.load_assets(folder)
    except Exception as error:  # The methods may be a user's.
        raise ValueError(
            f"convert: the layer {layer.name!r} of class {type(layer).__name__} cannot save its "
            f"state and load it into a copy: {one_line(error)} Do not make a copy: {ACCELERATE}"
        ) from error


def _carry_vocabulary(layer: Any, new_layer: Any) -> None:
    """Copies a vocabulary.

    WHY not save_assets: it fails for an empty vocabulary or a word with a line break.
    """
    if not layer.get_vocabulary(include_special_tokens=False):
        return  # adapt() has not been called.
    store: dict[str, Any] = {}
    layer.save_own_variables(store)
    if store or new_layer.get_vocabulary() != layer.get_vocabulary():
        new_layer.set_vocabulary(layer.get_vocabulary(), store.get("idf_weights"))


def _carry_jit_flag(layer: Any, new_layer: Any) -> None:
    """Excludes the copy from XLA if a user has set supports_jit=False of the layer, or its class does."""
    forbidden = vars(layer).get("_jit_forbidden", not layer.supports_jit)
    if forbidden and new_layer.supports_jit:
        new_layer.supports_jit = False


def _carry_recurrent(layer: Any, new_layer: Any) -> None:
    """Copies attributes that configs lack, and the states of a stateful layer."""
    for name in _NOT_IN_CONFIG:
        if hasattr(layer, name):
            setattr(new_layer, name, getattr(layer, name))
        elif hasattr(new_layer, name):  # the constructor has set it for recurrent_dropout
            delattr(new_layer, name)
    if getattr(layer, "states", None) is not None:
        states, new_states = keras.tree.flatten(layer.states), keras.tree.flatten(new_layer.states)
        for state, new_state in zip(states, new_states, strict=True):
            new_state.assign(state)
