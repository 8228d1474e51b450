"""Objects that TensorFlow saves in checkpoints, and the private methods that it calls."""

import copy
import functools
from typing import Any, Callable

import tensorflow as tf

from tf_rnn_ops.native.tf_internals.lookup import base_class, find, missing, need

_LOSS = "tf_rnn_ops.contrib cannot save and restore checkpoints"
_TRACKING = "tensorflow:__internal__.tracking."
_SAVEABLE = "tensorflow.python.training.saving.saveable_object:"

_Trackable: Any = base_class(
    f"{_TRACKING}Trackable",
    _LOSS,
    ("_serialize_to_tensors", "_restore_from_tensors", "_export_to_saved_model_graph"),
)
_SaveableObject: Any = base_class(f"{_SAVEABLE}SaveableObject", _LOSS)
_Module: Any = base_class(
    "tensorflow:Module", _LOSS, ("_trackable_children", "_handle_deferred_dependencies")
)


class Part(_Trackable):
    """An object with tensors in a tf.train.Checkpoint.

    Needs Trackable of tf.__internal__.tracking, whose _serialize_to_tensors() and _restore_from_tensors() TensorFlow
    calls. Without them the constructor raises RuntimeError.
    """

    def checkpoint_tensors(self) -> Any:
        """{name: tensor} to save."""
        raise NotImplementedError

    def restore_checkpoint(self, tensors: Any) -> None:
        """Sets the object from {name: tensor}; returns the operation."""
        raise NotImplementedError

    def _serialize_to_tensors(self) -> Any:
        return self.checkpoint_tensors()

    def _restore_from_tensors(self, restored_tensors: Any) -> None:
        return self.restore_checkpoint(restored_tensors)


class Saveable(_SaveableObject, Part):
    """A Part that can also be in a tf.compat.v1.train.Saver and in the collection SAVEABLE_OBJECTS.

    Needs SaveableObject and SaveSpec of training.saving.saveable_object, for which TensorFlow has no
    public name although Saver accepts such objects. Without them the constructor raises RuntimeError.

    Attributes:
        variables: The tf.Variables whose values the tensors are computed from.
    """

    def __init__(self, name: str, tensors: Any, variables: Any) -> None:
        """Makes the specifications.

        Args:
            name: The name of the object.
            tensors: {name of a tensor: function that computes the tensor}.
            variables: tf.Variables. The tensors have the type and the device of the first variable.
        """
        spec = need(f"{_SAVEABLE}SaveSpec", _LOSS)
        dtype, device = variables[0].dtype.base_dtype, variables[0].device
        specs = [spec(f, "", n, dtype=dtype, device=device) for n, f in tensors.items()]
        super().__init__(None, specs, name)
        self.variables = variables

    def _export_to_saved_model_graph(
        self, object_map: Any, tensor_map: Any, options: Any, **kwargs: Any
    ) -> Any:
        # In a SavedModel the copies of the variables are saved, not the variables.
        resources = []
        for variable in self.variables:
            if variable not in object_map:
                resources += variable._export_to_saved_model_graph(
                    object_map=object_map, tensor_map=tensor_map, options=options, **kwargs
                )
        object_map[self] = copy.copy(self)
        object_map[self].variables = [object_map[variable] for variable in self.variables]
        return resources


class Module(_Module):
    """A tf.Module with the dependencies in a checkpoint that `dependencies` returns.

    Needs the methods _trackable_children(), which TensorFlow calls, and _handle_deferred_dependencies() of tf.Module.
    Without them the constructor raises RuntimeError.
    """

    def dependencies(self, in_checkpoint: Any) -> Any:
        """{name: object}, in addition to the attributes; `in_checkpoint` is False for a SavedModel."""
        raise NotImplementedError

    def restore_deferred(self, dependencies: Any) -> None:
        """Restores dependencies that did not exist when the checkpoint was read."""
        for name, child in dependencies.items():
            self._handle_deferred_dependencies(name, child)

    def _trackable_children(self, save_type: Any = "checkpoint", **kwargs: Any) -> Any:
        children = super()._trackable_children(save_type, **kwargs)
        return {**children, **self.dependencies(save_type == "checkpoint")}


def untracked(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a method of a Module. Attributes that it sets are not dependencies.

    Needs no_automatic_dependency_tracking of tf.__internal__.tracking. Without it the method raises RuntimeError.
    """
    name = f"{_TRACKING}no_automatic_dependency_tracking"
    decorator = find(name)
    if decorator is not None:
        return decorator(method)

    @functools.wraps(method)
    def fail(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(missing(name, _LOSS))

    return fail


def name_of_variable(variable: tf.Variable) -> str:
    """A unique name of a variable, since the names of eager variables are not unique.

    Needs _unique_id of a tf.Variable, which reference variables lack. Without it the name in the graph is
    used, and an eager variable raises RuntimeError.
    """
    unique = getattr(variable, "_unique_id", None)
    if unique:
        return unique
    try:
        return variable.op.name
    except AttributeError as error:  # an eager variable has no op
        raise RuntimeError(missing("tensorflow:Variable._unique_id", _LOSS)) from error
