"""Copies the variables of an optimizer to its copy."""

from tf_rnn_ops.keras._convert.advice import ACCELERATE
from tf_rnn_ops.keras._convert.pairs import variable_class
from tf_rnn_ops.keras._internals.optimizers import moving_averages, trained_variables


def carry(optimizer, new_optimizer, twins, groups):
    """Builds the copy of an optimizer and sets its state.

    Args:
        optimizer: A built optimizer.
        new_optimizer: Its copy, which is not built.
        twins: {id of a variable: list of its copies}. Only variables in `groups` do not have exactly one
            copy.
        groups: A list of KerasStack and Chain, whose weights have other shapes in the copy.

    Raises:
        ValueError: The optimizer trains variables without copies or only a part of a group, its copy has
            other variables, or its state for a group has no counterpart.
    """
    # The variables of the last step, since layers may have been frozen later. In Keras 3.5 only the inner
    # optimizer of a LossScaleOptimizer has them.
    trained = trained_variables(getattr(optimizer, "inner_optimizer", optimizer))
    if any(id(variable) not in twins for variable in trained):
        raise ValueError(
            f"convert: the optimizer {optimizer.name!r} also trains variables outside of the "
            f"model. Do not make a copy: {ACCELERATE}"
        )
    ids = set(map(id, trained))
    _check_groups(optimizer, ids, groups)
    new_optimizer.build([twin for variable in trained for twin in twins[id(variable)]])
    groups = [group for group in groups if ids & set(map(id, group.old))]
    if groups:
        _carry_groups(optimizer, new_optimizer, groups)
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


def _check_groups(optimizer, ids, groups):
    """Raises ValueError if the optimizer trains only some of the weights that become one weight."""
    for group in groups:
        if 0 < sum(id(variable) in ids for variable in group.old) < len(group.old):
            raise ValueError(
                f"convert: the optimizer {optimizer.name!r} trains only a part of the chain that begins "
                f"with {group.replaced[0].name!r}, since the other layers of the chain were frozen when the "
                "model was compiled: compile the model again first."
            )


def _shapes(variables):
    return [tuple(variable.shape) for variable in variables]


def _carry_groups(optimizer, new_optimizer, groups):
    """Copies slots with the shapes of their variables, and variables of the optimizer itself.

    Args:
        optimizer: The optimizer.
        new_optimizer: Its copy, built.
        groups: The groups with variables that the optimizer trains.

    Returns:
        The variables that were copied.
    """
    inner = getattr(optimizer, "inner_optimizer", None)
    carried = [] if inner is None else _carry_groups(inner, new_optimizer.inner_optimizer, groups)
    trained, averages = trained_variables(optimizer), moving_averages(optimizer)
    for name, value in vars(optimizer).items():
        if isinstance(value, variable_class()):
            getattr(new_optimizer, name).assign(value)
            carried.append(value)
        elif value is not trained and isinstance(value, list):
            slots = {id(variable): slot for variable, slot in zip(trained, value)}
            if len(value) == len(trained) and _are_slots(value, trained):
                summed = value is averages
                _carry_list(trained, slots, getattr(new_optimizer, name), groups, summed)
                carried += value
    if {id(one) for one in optimizer.variables} - set(map(id, carried)):
        raise ValueError(
            f"convert: the optimizer {optimizer.name!r} of class {type(optimizer).__name__} has "
            f"state for {groups[0].replaced[0].name!r} without a counterpart in the copy: load the "
            "model with compile=False, and compile the copy."
        )
    return carried


def _are_slots(values, trained):
    return all(
        isinstance(slot, variable_class()) and slot.shape == variable.shape
        for slot, variable in zip(values, trained)
    )


def _carry_list(trained, slots, new_slots, groups, summed):
    """Copies one slot of each variable, to a list in the order of the copies."""
    new_slots = iter(new_slots)
    group_of = {id(variable): group for group in groups for variable in group.old}
    for variable in trained:
        group = group_of.get(id(variable))
        if group is None:
            next(new_slots).assign(slots[id(variable)])
        elif variable is group.old[0]:
            for value in group.transfer([slots[id(one)] for one in group.old], summed):
                next(new_slots).assign(value)
