"""The base of the saveables: named tensors computed from variables, and back."""

import warnings
import weakref

import tensorflow as tf

from tf_rnn_ops.native.tf_internals import checkpoints


def as_variables(variables):
    """A list of tf.Variables; a keras.Variable is replaced by the tf.Variable that it holds."""
    return [v if isinstance(v, tf.Variable) else getattr(v, "value", v) for v in variables]


class TransformedSaveable(checkpoints.Saveable):
    """Saves tensors computed from variables, and sets the variables from the tensors read.

    An object of this class can be in the var_list of a tf.compat.v1.train.Saver, in the collection
    SAVEABLE_OBJECTS, or an attribute of a tf.train.Checkpoint.
    """

    def __init__(self, names, name, variables):
        """Builds the specifications. The attributes that `to_tensors` needs must be set before.

        Args:
            names: Names of the tensors in the checkpoint.
            name: Name of the object. A Saver saves only the last object of each name. None
                joins the names of the variable and of the first tensor. In a graph of tf.compat.v1
                it takes only the name of the tensor.
            variables: The variables. The tensors have the type and the device of the first variable.
        """
        variables = as_variables(variables)
        self._graph_tensors = self._graph_initializer = None
        repeated = sorted({n for n in names if names.count(n) > 1})
        if repeated:
            raise ValueError(f"Two tensors would be saved under the same name {repeated[0]!r}.")
        tensors = {n: lambda k=k: self._spec_tensor(k) for k, n in enumerate(names)}
        super().__init__(name or _default_name(variables[0], names[0]), tensors, variables)

    @property
    def tensor_names(self):
        """Names of the tensors in the checkpoint."""
        return [spec.name for spec in self.specs]

    @property
    def initializer(self):
        """In a graph, the operation that initializes the variables that are not initialized yet."""
        if tf.executing_eagerly():
            return None
        if self._graph_initializer is None:
            with tf.init_scope():
                self._graph_initializer = tf.group(*map(_initialize_once, self.variables))
        return self._graph_initializer

    def read_buffer(self):
        """The value of the first variable."""
        variable = self.variables[0]
        if not tf.inside_function() or not variable.shape.is_fully_defined():
            return (
                variable.read_value()
            )  # respects control dependencies, also for reference variables
        # tf.saved_model.load runs the saving function before it restores the variable.
        return tf.cond(
            variable.is_initialized(),
            lambda: tf.convert_to_tensor(variable),
            lambda: tf.zeros(variable.shape, variable.dtype),
        )

    def to_tensors(self):
        """Computes the tensors to save, in the order of their names."""
        raise NotImplementedError

    def assign(self, tensors):
        """Sets the variables from tensors in the order of to_tensors(); returns the operation."""
        raise NotImplementedError

    def restore(self, restored_tensors, restored_shapes):
        """Called by Saver.

        Raises:
            tf.errors.InvalidArgumentError: A tensor does not have the shape that the model needs. No
                variable has changed in this case.
        """
        del restored_shapes
        return self.assign(restored_tensors)

    def checkpoint_tensors(self):
        """See checkpoints.Part."""
        return dict(zip(self._local_names(), self.to_tensors(), strict=True))

    def restore_checkpoint(self, tensors):
        """See checkpoints.Part."""
        return self.assign([tensors[name] for name in self._local_names()])

    def _spec_tensor(self, k):
        if tf.executing_eagerly() or tf.inside_function():
            return self.to_tensors()[k]  # the values may be different at each save
        if self._graph_tensors is None:
            self._graph_tensors = self.to_tensors()
        return self._graph_tensors[k]

    def _local_names(self):
        # tf.train.Checkpoint escapes '/' and '.' twice when it saves and once when it restores.
        return [name.replace("/", "|").replace(".", ",") for name in self.tensor_names]


# {graph of tf.compat.v1: {name of a saveable: name of its variable}}.
_variables_in: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _default_name(variable, tensor):
    """The name of a saveable whose first tensor has the name `tensor`.

    A Saver saves only the last of several objects with one name. In a graph of tf.compat.v1, saveables
    with equal names of tensors get the same name, as in TensorFlow 1. A Saver of all variables still
    saves every buffer, but a Saver of only these saveables leaves a buffer out, so this function warns.
    Outside of such a graph the saveables get different names, and a Saver of both fails.
    """
    of = checkpoints.name_of_variable(variable)
    if not in_v1_graph():
        return f"{of}_saveable_of_{tensor}"
    name = f"saveable_of_{tensor}"
    known = _variables_in.setdefault(tf.compat.v1.get_default_graph(), {})
    if known.setdefault(name, of) != of:
        warnings.warn(
            f"The saveables of {known[name]} and {of} give their tensors the same names, such as {tensor!r}: a "
            "Saver saves only the tensors of the last saveable. Give each saveable its own scope to save both.",
            stacklevel=4,
        )
    return name


def in_v1_graph():
    """Whether the caller builds a graph of tf.compat.v1, also in a branch or function of the graph."""
    with tf.init_scope():
        return not tf.executing_eagerly()


def _initialize_once(variable):
    """Initializes a variable of a graph unless it is initialized."""
    v1 = tf.compat.v1
    is_reference = variable.dtype != variable.dtype.base_dtype
    if is_reference and v1.control_flow_v2_enabled():
        return tf.no_op()  # branches cannot assign the variable
    return v1.cond(
        v1.is_variable_initialized(variable),
        tf.no_op,
        lambda: assign_all([variable], [variable.initial_value]),
    )


def check_shape(tensor, shape, name, configurations=""):
    """Returns the tensor with a check of its shape.

    The shape is often not known before the checkpoint is read, so the check is an operation.

    Args:
        tensor: The tensor.
        shape: The shape that it must have.
        name: Its name in the checkpoint.
        configurations: A string tensor that ends the error message.

    Returns:
        A tensor of that shape.
    """
    wanted = ", ".join(map(str, shape))
    actual = tf.strings.reduce_join(tf.as_string(tf.shape(tensor)), separator=", ")
    text = f"The checkpoint has {name} with another shape than the [{wanted}] of this model: ["
    check = tf.debugging.Assert(
        tf.equal(actual, wanted), [tf.strings.join([text, actual, "]. ", configurations])]
    )
    with tf.control_dependencies([check] if check is not None else []):
        return tf.reshape(tensor, shape)


def assign_all(variables, values):
    """Assigns values of any shape; returns one operation."""
    return tf.group(
        *[
            tf.compat.v1.assign(variable, value, validate_shape=False)
            for variable, value in zip(variables, values, strict=True)
        ]
    )
