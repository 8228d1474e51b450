"""Private attributes of optimizers: their variables, and the exclusion from weight decay."""

import functools

import keras

from tf_rnn_ops.params.keras.internals import attribute

_STATE = "The state of an optimizer cannot be copied"
_DECAY = "The exclusion from weight decay cannot be copied"


def trained_variables(optimizer: keras.optimizers.Optimizer) -> list[keras.Variable]:
    """The list of the variables that a built optimizer trains.

    Needs _trainable_variables. Without it this raises RuntimeError.
    """
    return attribute(optimizer, "_trainable_variables", _STATE)


class Exclusion:
    """The arguments of exclude_from_weight_decay(), which are not in a config.

    Needs _exclude_from_weight_decay, _exclude_from_weight_decay_pattern, _var_key() and _apply_weight_decay(). Without
    them this raises RuntimeError.

    Attributes:
        pattern: A regular expression for names of variables, or None.
    """

    def __init__(self, optimizer: keras.optimizers.Optimizer) -> None:
        self.pattern = attribute(optimizer, "_exclude_from_weight_decay_pattern", _DECAY)
        self._keys = attribute(optimizer, "_exclude_from_weight_decay", _DECAY)
        self._key_of = attribute(optimizer, "_var_key", _DECAY)
        usual = attribute(keras.optimizers.Optimizer, "_apply_weight_decay", _DECAY)
        # Otherwise a user's class has overridden it, and passes Keras the names of Keras's variables.
        self._by_name_in_tensorflow = type(optimizer)._apply_weight_decay is usual

    def excludes(self, variable: keras.Variable) -> bool:
        """Whether the variable is excluded."""
        if self._key_of(variable) in self._keys:
            return True
        name = variable.value.name if self._by_name_in_tensorflow else variable.name
        return self.pattern is not None and self.pattern.search(name) is not None


def exclusion_of(optimizer: keras.optimizers.Optimizer) -> Exclusion | None:
    """The Exclusion of an optimizer, or None if exclude_from_weight_decay() was not called."""
    _check_exclusion()
    return Exclusion(optimizer) if hasattr(optimizer, "_exclude_from_weight_decay") else None


@functools.cache
def _check_exclusion() -> None:
    """Raises RuntimeError if exclude_from_weight_decay() stores its arguments under another name."""
    optimizer = keras.optimizers.SGD(name="sgd_of_tf_rnn_ops")
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    Exclusion(optimizer)
