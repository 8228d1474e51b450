"""Compiles the copy of a model as the model was compiled."""

import keras

from tf_rnn_ops.keras.tools import slots
from tf_rnn_ops.keras.tools.carry import through_config


def recompile(model, copy, variables, stacks):
    """Compiles `copy` with the optimizer, its state, the loss and the metrics of `model`.

    Args:
        model: A compiled model.
        copy: Its copy.
        variables: Pairs (variable, copy), of all that the optimizer may train.
        stacks: A list of KerasStack, whose layers the copy has in the place of stacks.

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
        twins = {id(variable): [twin] for variable, twin in variables}
        twins.update(
            {id(stack.stack.params): stack.variables for stack in stacks if stack.stack.built}
        )
        _carry_excluded(optimizer, copy.optimizer, model, twins)
        if optimizer.built and copy.built:
            slots.carry(optimizer, copy.optimizer, twins, stacks)


def _carry_excluded(optimizer, new_optimizer, model, twins):
    """Carries what exclude_from_weight_decay was told, which is in no config."""
    inner = getattr(optimizer, "inner_optimizer", None)
    if inner is not None:
        _carry_excluded(inner, new_optimizer.inner_optimizer, model, twins)
    if hasattr(optimizer, "_exclude_from_weight_decay"):
        pattern = optimizer._exclude_from_weight_decay_pattern
        new_optimizer._exclude_from_weight_decay = {
            new_optimizer._var_key(twin)
            for variable in model.variables
            for twin in twins.get(id(variable), ())
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
