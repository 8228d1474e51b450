"""Runs files for tf_rnn_ops.stepper as the other formats are run: with the states, if there are any, as inputs and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from tf_rnn_ops._formats.exported_layer import Arrays

if TYPE_CHECKING:
    from tf_rnn_ops.stepper import Stepper


def load(filepath: str) -> Callable[[Arrays], Arrays]:
    """The function of a file. Its calls give B and T."""
    # Here, because machines without its library write files too.
    from tf_rnn_ops import stepper

    tensors = stepper.load(filepath).inputs
    # The second size of a sequence is T, and B is the only open size of windows.
    first, sizes = next(((one, 2) for one in tensors if one.has_time), (tensors[0], 1))
    steppers: dict[tuple[int, ...], Stepper] = {}

    def call(inputs: Arrays) -> Arrays:
        shape = inputs[first.name].shape[:sizes]
        if shape not in steppers:
            steppers[shape] = stepper.load(filepath, *shape)
        model = steppers[shape]
        names = [tensor.name for tensor in model.inputs]
        model.states = {name: array for name, array in inputs.items() if name not in names}
        results = model({name: inputs[name] for name in names})
        if not isinstance(results, dict):
            results = {model.outputs[0].name: results}
        return results | {f"{name}_next": state for name, state in model.states.items()}

    return call
