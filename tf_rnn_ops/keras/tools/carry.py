"""Carries weights, states and what compile was told from a model to its copy."""

import tempfile
import textwrap

import keras
import numpy as np

from tf_rnn_ops.keras.layers.stack_layer import CudnnStack
from tf_rnn_ops.keras.tools.advice import ACCELERATE

# Attributes of recurrent layers and their cells that Keras leaves out of the config.
_NOT_IN_CONFIG = ("use_cudnn", "implementation", "dropout_mask_count")
_RECURRENT = (keras.layers.RNN, keras.layers.LSTMCell, keras.layers.GRUCell)


def through_config(kind, thing):
    """A new object of the class and the config of `thing`, a layer, optimizer or metric.

    Raises:
        ValueError: The class has no get_config and from_config that fit.
    """
    try:
        return type(thing).from_config(thing.get_config())
    except (NotImplementedError, TypeError, ValueError) as error:
        # Keras quotes whole configs, and in them the byte code of lambdas.
        reason = textwrap.shorten(str(error), 160, placeholder=" ...")
        raise ValueError(
            f"convert: the {kind} {thing.name!r} of class {type(thing).__name__} cannot be copied "
            f"through get_config and from_config: {reason} Give its class, and those of what it "
            f"holds, a get_config that fits, or do without a copy: {ACCELERATE}"
        ) from error


def carry_state(pairs):
    """Gives the copies the variables, recurrent states and flags of their originals.

    Args:
        pairs: Pairs of a model and its copy.
    """
    # What a layer loads may be a merged form of its variables, so these come after it.
    for layer, new_layer in pairs.layers:
        _carry_own_state(layer, new_layer)
    for variable, new_variable in pairs.variables:
        new_variable.assign(variable)
    for layer, new_layer in pairs.layers:
        if new_layer.trainable != layer.trainable:
            new_layer.trainable = layer.trainable
        if isinstance(layer, (*_RECURRENT, CudnnStack)):
            _carry_recurrent(layer, new_layer)
    # A layer's flag overwrites those of its variables, so these come after it.
    for variable, new_variable in pairs.variables:
        if new_variable.trainable != variable.trainable:
            new_variable.trainable = variable.trainable


def _carry_own_state(layer, new_layer):
    """Carries the state that is in no variable, such as a vocabulary, as saving does."""
    # The vocabulary of a TextVectorization is that of a StringLookup, which is a layer of its own.
    if new_layer is layer or isinstance(layer, keras.layers.TextVectorization):
        return
    if isinstance(layer, (keras.layers.StringLookup, keras.layers.IntegerLookup)):
        _carry_vocabulary(layer, new_layer)
        return
    try:
        if type(layer).load_own_variables is not keras.layers.Layer.load_own_variables:
            store = {}
            layer.save_own_variables(store)
            if store:
                store = {name: np.asarray(value).copy() for name, value in store.items()}
                new_layer.load_own_variables(store)
        if hasattr(layer, "save_assets") and hasattr(new_layer, "load_assets"):
            with tempfile.TemporaryDirectory() as folder:
                layer.save_assets(folder)
                new_layer.load_assets(folder)
    except Exception as error:  # The methods may be the user's.
        raise ValueError(
            f"convert: the layer {layer.name!r} of class {type(layer).__name__} cannot save its "
            f"state and load it into a copy: {error} Do without a copy: {ACCELERATE}"
        ) from error


def _carry_vocabulary(layer, new_layer):
    """Without the file of save_assets, which an empty vocabulary or a word of two lines breaks."""
    if not layer.get_vocabulary(include_special_tokens=False):
        return  # It is still to be adapted.
    store = {}
    layer.save_own_variables(store)
    if store or new_layer.get_vocabulary() != layer.get_vocabulary():
        new_layer.set_vocabulary(layer.get_vocabulary(), store.get("idf_weights"))


def _carry_recurrent(layer, new_layer):
    for name in _NOT_IN_CONFIG:
        if hasattr(layer, name):
            setattr(new_layer, name, getattr(layer, name))
    if getattr(layer, "states", None) is not None:
        states, new_states = (keras.tree.flatten(one.states) for one in (layer, new_layer))
        for state, new_state in zip(states, new_states, strict=True):
            new_state.assign(state)


def _shapes(variables):
    return [tuple(variable.shape) for variable in variables]


def recompile(model, copy, twins):
    """Compiles `copy` with the optimizer, its state, the loss and the metrics of `model`.

    Args:
        model: A compiled model.
        copy: Its copy.
        twins: {id of a variable: its copy}, of all that the optimizer may train.

    Raises:
        ValueError: The optimizer or a metric cannot be copied.
    """
    if type(model).compile is not keras.Model.compile:
        # What a compile of the user's own takes, only the user's class knows.
        copy.compile_from_config(model.get_compile_config())
        return
    arguments = dict(model._compile_config.config)
    if not arguments.get("jit_compile"):
        # Keras keeps no difference between False and what "auto" came to for the other layers.
        arguments["jit_compile"] = "auto"
    for name in ("metrics", "weighted_metrics"):
        arguments[name] = _fresh_metrics(arguments.get(name))
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None:
        arguments["optimizer"] = through_config("optimizer", optimizer)
    # The optimizer of the model has been wrapped already if it was to be.
    copy.compile(**arguments, auto_scale_loss=False)
    if optimizer is not None:
        _carry_excluded(optimizer, copy.optimizer, model, twins)
        if optimizer.built and copy.built:
            _carry_optimizer(optimizer, copy.optimizer, twins)


def _carry_optimizer(optimizer, new_optimizer, twins):
    """Carries the optimizer's variables; `twins` maps ids of the model's to those of its copy."""
    # Those of the last step: layers may have been frozen since then.
    trained = optimizer._trainable_variables
    if any(id(variable) not in twins for variable in trained):
        raise ValueError(
            f"convert: the optimizer {optimizer.name!r} also trains variables that are not of the "
            f"model. Do without a copy: {ACCELERATE}"
        )
    new_optimizer.build([twins[id(variable)] for variable in trained])
    variables, new_variables = optimizer.variables, new_optimizer.variables
    if _shapes(variables) != _shapes(new_variables):
        raise ValueError(
            f"The copy of the optimizer {optimizer.name!r} through get_config and from_config differs "
            f"from it: {len(new_variables)} variables against {len(variables)}, or others. Give its "
            f"class a get_config that fits, or do without a copy: {ACCELERATE}"
        )
    for variable, new_variable in zip(variables, new_variables):
        new_variable.assign(variable)


def _carry_excluded(optimizer, new_optimizer, model, twins):
    """Carries what exclude_from_weight_decay was told, which is in no config."""
    inner = getattr(optimizer, "inner_optimizer", None)
    if inner is not None:
        _carry_excluded(inner, new_optimizer.inner_optimizer, model, twins)
    if hasattr(optimizer, "_exclude_from_weight_decay"):
        pattern = optimizer._exclude_from_weight_decay_pattern
        new_optimizer._exclude_from_weight_decay = {
            new_optimizer._var_key(twins[id(variable)])
            for variable in model.variables
            if optimizer._var_key(variable) in optimizer._exclude_from_weight_decay
            or (pattern is not None and pattern.search(_name_for(optimizer, variable)))
        }
        # Paths inside of a Bidirectional are others in a copy, so it is not asked about those.
        new_optimizer._exclude_from_weight_decay_pattern = None if model.built else pattern


def _name_for(optimizer, variable):
    """By what the optimizer knows a variable when it applies weight decay."""
    usual = keras.optimizers.Optimizer._apply_weight_decay
    of_tensorflow = type(optimizer)._apply_weight_decay is usual
    return variable.value.name if of_tensorflow else variable.name


def _fresh_metrics(metrics):
    """The same structure with new metric objects, for they count what they see."""
    if isinstance(metrics, dict):
        return {name: _fresh_metrics(value) for name, value in metrics.items()}
    if isinstance(metrics, (list, tuple)):
        return [_fresh_metrics(value) for value in metrics]
    if isinstance(metrics, keras.metrics.Metric):
        return through_config("metric", metrics)
    return metrics
