"""Copies the variables of an optimizer to its copy."""

import itertools
from typing import Any

import keras

from tf_rnn_ops.keras._convert.carry import through_config
from tf_rnn_ops.keras._convert.pairs import ACCELERATE
from tf_rnn_ops.keras._internals.optimizers import trained_variables


def carry(
    optimizer: keras.optimizers.Optimizer,
    new_optimizer: keras.optimizers.Optimizer,
    twins: dict[int, Any],
    paths: set[str],
) -> None:
    """Builds the copy of an optimizer and sets its state.

    The copy does not train float weights that quantize() has replaced, which the optimizer still has.

    Args:
        optimizer: A built optimizer.
        new_optimizer: Its copy, which is not built.
        twins: {id of a variable: its copy}.
        paths: The paths of the variables of the model.

    Raises:
        ValueError: The optimizer trains variables without copies, or its copy has other variables.
    """
    trained = [variable for variable in _trained(optimizer) if id(variable) in twins]
    uncopied = [variable for variable in _trained(optimizer) if id(variable) not in twins]
    if any(variable.path not in paths for variable in uncopied):
        raise ValueError(
            f"convert: the optimizer {optimizer.name!r} also trains variables outside of the "
            f"model. Do not make a copy: {ACCELERATE}"
        )
    new_optimizer.build([twins[id(variable)] for variable in trained])
    variables, new_variables = optimizer.variables, new_optimizer.variables
    if uncopied:
        variables = _state_of(optimizer, trained)
    if _shapes(variables) != _shapes(new_variables):
        raise ValueError(
            f"The copy of the optimizer {optimizer.name!r} through get_config and from_config differs "
            f"from it: {len(new_variables)} variables rather than {len(variables)}, or other variables. Give its "
            f"class a suitable get_config, or do not make a copy: {ACCELERATE}"
        )
    for variable, new_variable in zip(variables, new_variables):
        new_variable.assign(variable)


def _trained(optimizer: keras.optimizers.Optimizer) -> list[keras.Variable]:
    # The variables of the last step, since layers may have been frozen later. In Keras 3.5 only the inner
    # optimizer of a LossScaleOptimizer has them.
    return trained_variables(getattr(optimizer, "inner_optimizer", optimizer))


def _state_of(
    optimizer: keras.optimizers.Optimizer, trained: list[keras.Variable]
) -> list[keras.Variable]:
    """The variables of an optimizer without those that belong to other variables than `trained`.

    The list is empty if the names do not tell which these are.
    """
    fresh_optimizer = through_config("optimizer", optimizer)
    fresh_optimizer.build(trained)
    forwards = _matching(optimizer.variables, fresh_optimizer.variables)
    backwards = _matching(optimizer.variables[::-1], fresh_optimizer.variables[::-1])[::-1]
    return forwards if list(map(id, forwards)) == list(map(id, backwards)) else []


def _matching(
    variables: list[keras.Variable], wanted: list[keras.Variable]
) -> list[keras.Variable]:
    """For each name and shape of a wanted variable the next variable that has them, if there is one."""
    remaining = iter(variables)
    matches: list[keras.Variable] = []
    for key in map(_name_and_shape, wanted):
        matches += itertools.islice((v for v in remaining if _name_and_shape(v) == key), 1)
    return matches


def _name_and_shape(variable: keras.Variable) -> tuple[str, tuple[int, ...]]:
    return variable.name, variable.shape


def _shapes(variables: list[keras.Variable]) -> list[tuple[int, ...]]:
    return [tuple(variable.shape) for variable in variables]
