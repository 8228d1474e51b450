"""Copies the variables of an optimizer to its copy."""

from tf_rnn_ops.keras._convert.advice import ACCELERATE
from tf_rnn_ops.keras._internals.optimizers import trained_variables


def carry(optimizer, new_optimizer, twins, groups):
    """Builds the copy of an optimizer and sets its state.

    Args:
        optimizer: A built optimizer.
        new_optimizer: Its copy, which is not built.
        twins: {id of a variable: list of its copies}. Only variables in `groups` have not exactly one copy.
        groups: A list of KerasStack, whose weights have other shapes in the copy. If the optimizer trained
            one, its copy keeps its config but no state.

    Raises:
        ValueError: The optimizer trains variables without copies, or its copy has other variables.
    """
    trained = _trained(optimizer)
    if any(id(variable) not in twins for variable in trained):
        raise ValueError(
            f"convert: the optimizer {optimizer.name!r} also trains variables outside of the "
            f"model. Do not make a copy: {ACCELERATE}"
        )
    new_optimizer.build([twin for variable in trained for twin in twins[id(variable)]])
    if has_trained(optimizer, (variable for group in groups for variable in group.old)):
        return
    variables, new_variables = optimizer.variables, new_optimizer.variables
    if _shapes(variables) != _shapes(new_variables):
        raise ValueError(
            f"The copy of the optimizer {optimizer.name!r} through get_config and from_config differs "
            f"from it: {len(new_variables)} variables rather than {len(variables)}, or other variables. Give its "
            f"class a suitable get_config, or do not make a copy: {ACCELERATE}"
        )
    for variable, new_variable in zip(variables, new_variables):
        new_variable.assign(variable)


def has_trained(optimizer, variables):
    """Whether a built optimizer has trained one of some variables."""
    return not set(map(id, _trained(optimizer))).isdisjoint(map(id, variables))


def _trained(optimizer):
    # The variables of the last step, since layers may have been frozen later. In Keras 3.5 only the inner
    # optimizer of a LossScaleOptimizer has them.
    return trained_variables(getattr(optimizer, "inner_optimizer", optimizer))


def _shapes(variables):
    return [tuple(variable.shape) for variable in variables]
