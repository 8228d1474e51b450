"""Carries the variables of an optimizer to its copy."""

import keras

from tf_rnn_ops.keras.tools.advice import ACCELERATE


def carry(optimizer, new_optimizer, twins, stacks):
    """Builds the copy of an optimizer and gives it the state of the optimizer.

    Args:
        optimizer: A built optimizer.
        new_optimizer: Its copy, which is not built.
        twins: {id of a variable: a list of its copies}; more than one only for the weight of a stack.
        stacks: A list of KerasStack, whose layers the copy has in the place of stacks.

    Raises:
        ValueError: The optimizer trains variables without copies, its copy has other variables, or what
            it keeps for a stack cannot be divided among layers.
    """
    # Those of the last step: layers may have been frozen since then.
    trained = optimizer._trainable_variables
    if any(id(variable) not in twins for variable in trained):
        raise ValueError(
            f"convert: the optimizer {optimizer.name!r} also trains variables that are not of the "
            f"model. Do without a copy: {ACCELERATE}"
        )
    new_optimizer.build([twin for variable in trained for twin in twins[id(variable)]])
    divided = {id(stack.stack.params): stack for stack in stacks if stack.stack.built}
    if any(id(variable) in divided for variable in trained):
        _carry_divided(optimizer, new_optimizer, divided)
        return
    variables, new_variables = optimizer.variables, new_optimizer.variables
    if _shapes(variables) != _shapes(new_variables):
        raise ValueError(
            f"The copy of the optimizer {optimizer.name!r} through get_config and from_config differs "
            f"from it: {len(new_variables)} variables against {len(variables)}, or others. Give its "
            f"class a get_config that fits, or do without a copy: {ACCELERATE}"
        )
    for variable, new_variable in zip(variables, new_variables):
        new_variable.assign(variable)


def _shapes(variables):
    return [tuple(variable.shape) for variable in variables]


def _carry_divided(optimizer, new_optimizer, divided):
    """Carries slots of the shapes of their variables, those of stacks in parts.

    Args:
        optimizer: The optimizer.
        new_optimizer: Its copy, built.
        divided: {id of the weight of a stack: its KerasStack}.
    """
    inner = getattr(optimizer, "inner_optimizer", None)
    carried = []
    if inner is not None:
        carried += _carry_divided(inner, new_optimizer.inner_optimizer, divided)
    trained = optimizer._trainable_variables
    for name, value in vars(optimizer).items():
        if isinstance(value, keras.Variable):
            getattr(new_optimizer, name).assign(value)
            carried.append(value)
        elif (
            name != "_trainable_variables"
            and isinstance(value, list)
            and len(value) == len(trained)
        ):
            new = iter(getattr(new_optimizer, name))
            for slot, variable in zip(value, trained):
                stack = divided.get(id(variable))
                if not isinstance(slot, keras.Variable) or slot.shape != variable.shape:
                    break
                summed = name == "_model_variables_moving_average"
                parts = [slot] if stack is None else stack.split(slot, summed)
                for part in parts:
                    next(new).assign(part)
                carried.append(slot)
    left = {id(one) for one in optimizer.variables} - set(map(id, carried))
    if left:
        names = [stack.stack.name for stack in divided.values()]
        raise ValueError(
            f"convert: what the optimizer {optimizer.name!r} of class {type(optimizer).__name__} keeps "
            f"for the stack {names[0]!r} cannot be divided among layers of Keras: load the model with "
            "compile=False, and compile the copy."
        )
    return carried
