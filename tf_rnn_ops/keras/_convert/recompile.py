"""Compiles the copy of a model with the model's arguments of compile()."""

from typing import Any, Sequence

import keras

from tf_rnn_ops.keras._convert import slots
from tf_rnn_ops.keras._convert.carry import through_config
from tf_rnn_ops.keras._internals.models import compile_arguments
from tf_rnn_ops.keras._internals.optimizers import exclusion_of


def recompile(model: keras.Model, copy: keras.Model, variables: Sequence[tuple[Any, Any]]) -> None:
    """Compiles `copy` with the optimizer, its state, the loss and the metrics of `model`.

    Args:
        model: A compiled model.
        copy: Its copy.
        variables: Pairs (variable, copy) for all variables that the optimizer may train.

    Raises:
        ValueError: The optimizer or a metric cannot be copied.
    """
    if type(model).compile is not keras.Model.compile:
        # Only the user's class knows the arguments of its compile().
        copy.compile_from_config(model.get_compile_config())
        return
    arguments = compile_arguments(model)
    if not arguments.get("jit_compile"):
        # Keras may have changed "auto" to False for the layers of the model.
        arguments["jit_compile"] = "auto"
    for name in ("metrics", "weighted_metrics"):
        arguments[name] = keras.tree.map_structure(_fresh_metric, arguments.get(name))
    _rename_outputs(arguments, model, copy)
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None:
        arguments["optimizer"] = through_config("optimizer", optimizer)
    # WHY False: if the model scales its loss, the optimizer is already wrapped.
    copy.compile(**arguments, auto_scale_loss=False)
    if optimizer is not None:
        twins = {id(variable): twin for variable, twin in variables}
        _carry_excluded(optimizer, copy.optimizer, model, twins)
        if optimizer.built:
            paths = {variable.path for variable, _ in variables}
            slots.carry(optimizer, copy.optimizer, twins, paths)


def _rename_outputs(arguments: dict[str, Any], model: keras.Model, copy: keras.Model) -> None:
    """Replaces the model's names of outputs by the copy's names in dicts of losses and metrics."""
    names = getattr(model, "output_names", None)
    if names is None or isinstance(model.output, dict):
        return  # Keras uses the keys of the outputs.
    new = dict(zip(names, copy.output_names))
    for argument in ("loss", "loss_weights", "metrics", "weighted_metrics"):
        value = arguments.get(argument)
        if isinstance(value, dict):
            arguments[argument] = {new.get(name, name): entry for name, entry in value.items()}


def _carry_excluded(
    optimizer: keras.optimizers.Optimizer,
    new_optimizer: keras.optimizers.Optimizer,
    model: keras.Model,
    twins: dict[int, Any],
) -> None:
    """Copies the arguments of exclude_from_weight_decay, which are not in a config."""
    inner = getattr(optimizer, "inner_optimizer", None)
    if inner is not None:
        _carry_excluded(inner, new_optimizer.inner_optimizer, model, twins)
    if exclusion := exclusion_of(optimizer):
        excluded = {id(variable) for variable in model.variables if exclusion.excludes(variable)}
        # WHY not the pattern: paths inside of a Bidirectional are different in a copy.
        pattern = None if model.built else exclusion.pattern
        new_optimizer.exclude_from_weight_decay(
            var_list=[twins[key] for key in excluded if key in twins],
            var_names=None if pattern is None else [pattern.pattern],
        )


def _fresh_metric(metric: Any) -> Any:
    """A new object for a metric, since metrics have state. Names and functions stay as they are."""
    return through_config("metric", metric) if isinstance(metric, keras.metrics.Metric) else metric
