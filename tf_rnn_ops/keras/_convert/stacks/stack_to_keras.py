"""The layers of Keras that replace a stack: their calls, weights and states."""

import inspect

import keras
import numpy as np

from tf_rnn_ops.keras._convert.stacks import counterparts
from tf_rnn_ops.keras.dispatch import eligibility
from tf_rnn_ops.keras.layers import jit_flag
from tf_rnn_ops.params import to_keras
from tf_rnn_ops.params.keras.internals import call_of, mask_of


class KerasStack:
    """The layers that replace a stack. A call has the stack's arguments, with symbolic tensors.

    Level k has the layers of Keras for layer k of the stack: one layer, a Bidirectional, or two layers for
    the two directions if Bidirectional is not suitable.

    Attributes:
        stack: The stack.
        levels: A list of lists of layers.
        dropouts: The Dropout layers between the levels; empty without dropout.
    """

    def __init__(self, stack, maskable_model=None, used_names=()):
        """Creates the layers. They are not built.

        Args:
            stack: A layer of one of STACKS without a reason_against.
            maskable_model: Name of the model around the stack if the model gets masks only at run time.
            used_names: Names that the layers must not have.

        """
        self.stack = stack
        self._maskable_model = maskable_model
        self._with_states = stack.return_state or (stack.stateful and not stack.return_sequences)
        # WHY two layers if stateful: Bidirectional of Keras 3.15 fails with return_state, stateful and a mask.
        in_two = stack.go_backwards or (stack.stateful and self._with_states)
        prefix = stack.name
        self._make_layers(prefix, in_two)
        while any(layer.name in used_names for layer in self.layers):
            prefix += "_"
            self._make_layers(prefix, in_two)
        self._names = 0

    def _make_layers(self, prefix, in_two):
        stack = self.stack
        self.levels = [
            counterparts.level(stack, k, self._with_states, in_two, prefix)
            for k in range(stack.num_layers)
        ]
        gaps = range(stack.num_layers - 1 if stack.seed_generator is not None else 0)
        self.dropouts = [counterparts.dropout(stack, k, prefix) for k in gaps]

    @property
    def layers(self):
        """All layers in the order in which they run."""
        found = list(self.levels[0])
        for dropout, level in zip(self.dropouts or [None] * len(self.levels), self.levels[1:]):
            found += [*([] if dropout is None else [dropout]), *level]
        return found

    @property
    def is_chain(self):
        """Whether a keras.Sequential of `layers` computes the same function."""
        backwards = self.stack.go_backwards and len(self.cells) > 1
        return not (backwards or self._with_states)

    @property
    def cells(self):
        """The recurrent layers. Element k*D + d belongs to layer k and direction d."""
        return [
            one
            for level in self.levels
            for layer in level
            for one in (
                [layer.forward_layer, layer.backward_layer]
                if isinstance(layer, keras.layers.Bidirectional)
                else [layer]
            )
        ]

    def __call__(self, *args, **kwargs):
        """Calls the layers.

        Args:
            *args: The arguments of the stack.
            **kwargs: The arguments of the stack.

        Returns:
            The results of the stack.

        Raises:
            ValueError: The call has a dropout_seed, which Keras's layers do not have, or the layers need a
                dynamic mask.
        """
        stack = self.stack
        given = inspect.signature(stack.call).bind(*args, **kwargs).arguments
        if given.get("dropout_seed") is not None:
            raise ValueError(
                f"The layer {stack.name!r} is called with a dropout_seed, which Keras's Dropout does "
                "not accept."
            )
        x = given["sequences"]
        lengths = given.get("sequence_lengths")
        mask = given.get("mask", given.get("sequences_mask"))
        if lengths is not None:
            mask = self._mask_of_lengths(x, lengths)
        elif mask is None:
            mask = mask_of(x)
        if mask is None:
            self._check_that_no_mask_comes(given.get("initial_state") is not None)
        elif len(mask.shape) == 3:
            mask = self._op(keras.ops.squeeze, mask, axis=2)
        call = {"mask": mask, "training": given.get("training")}
        call = {name: value for name, value in call.items() if value is not None}
        initial = self._initial_states(given.get("initial_state"))
        states = []
        for k in range(len(self.levels)):
            x, new = self._run_level(k, x, initial, call)
            states += new
            if k < len(self.dropouts):
                x = self.dropouts[k](
                    x, **({"training": call["training"]} if "training" in call else {})
                )
        if stack.return_sequences:
            # WHY multiply: Keras's layers pass on the mask that is made of the lengths, but the stack does
            # not.
            x = x if lengths is None else self._op(keras.ops.multiply, x, 1)
        else:
            x = self._last(x, states, initial, mask)
        if not stack.return_state:
            return x
        return x, *(self._op(keras.ops.stack, list(each), axis=1) for each in zip(*states))

    def _check_that_no_mask_comes(self, has_initial_state):
        """Raises ValueError for a mask at run time, which functions of keras.ops between layers would drop."""
        if self._maskable_model is not None and (has_initial_state or not self.is_chain):
            raise ValueError(
                f"The layer {self.stack.name!r} cannot become layers of Keras, because its mask comes "
                f"from outside of the model {self._maskable_model!r}. Put the layer into the model that makes "
                "the mask."
            )

    def _op(self, function, *args, **kwargs):
        """Calls a function of keras.ops, with a name that contains the name of the stack."""
        result = function(*args, **kwargs)
        if not isinstance(result, keras.KerasTensor):
            return result  # all arguments are constants
        _, operation, _ = call_of(result)
        operation.name = f"{self.stack.name}_{operation.name}_{self._names}"
        self._names += 1
        return result

    def _mask_of_lengths(self, x, lengths):
        """The mask of the valid steps. It does not use the number of steps, which a graph may not know."""
        if not isinstance(lengths, keras.KerasTensor):
            lengths = np.asarray(lengths)
        ones = self._op(keras.ops.take, x, 0, axis=2)
        ones = self._op(keras.ops.ones_like, ones, dtype="int32")
        steps = self._op(keras.ops.cumsum, ones, axis=1)
        if isinstance(lengths, keras.KerasTensor):
            lengths = self._op(keras.ops.expand_dims, lengths, axis=1)
        else:
            lengths = lengths[:, None]
        return self._op(keras.ops.less_equal, steps, lengths)

    def _initial_states(self, given):
        """The initial states of each cell, or None."""
        if given is None:
            return None
        given = given if isinstance(given, (list, tuple)) else [given]
        return [
            [self._op(keras.ops.take, state, k, axis=1) for state in given]
            for k in range(self.stack.num_layers * self.stack.num_directions)
        ]

    def _run_level(self, k, x, initial, call):
        """The output of a level, and the final states of its cells if the layers return states."""
        level, directions = self.levels[k], self.stack.num_directions
        own = None if initial is None else initial[k * directions : (k + 1) * directions]
        if len(level) == 1:
            begin = {} if own is None else {"initial_state": sum(own, [])}
            y, new = self._split(level[0](x, **begin, **call), directions)
            if self.stack.go_backwards and k + 1 < len(self.levels):
                y = self._flip(y)
            return y, new
        results = [
            self._split(layer(x, **({} if own is None else {"initial_state": own[d]}), **call), 1)
            for d, layer in enumerate(level)
        ]
        sequences = level[0].return_sequences
        y = [
            self._flip(y) if sequences and layer.go_backwards else y
            for layer, (y, _) in zip(level, results)
        ]
        y = self._op(keras.ops.concatenate, y, axis=-1)
        if self.stack.go_backwards and sequences and k + 1 == len(self.levels):
            y = self._flip(y)
        return y, results[0][1] + results[1][1]

    def _split(self, result, directions):
        """The output of a layer, and its states by direction."""
        if not self._with_states:
            return result, []
        y, *states = result
        count = len(states) // directions
        return y, [states[count * d : count * (d + 1)] for d in range(directions)]

    def _flip(self, x):
        return self._op(keras.ops.flip, x, axis=1)

    def _last(self, x, states, initial, mask):
        """The last output. In a row without a valid step it is the initial state, but Keras returns 0."""
        if mask is None:
            return x
        final = [state[0] for state in states[-self.stack.num_directions :]]
        if not final and initial is not None:
            before = [state[0] for state in initial[-self.stack.num_directions :]]
            before = (
                before[0] if len(before) == 1 else self._op(keras.ops.concatenate, before, axis=-1)
            )
            steps = self._op(keras.ops.any, mask, axis=1, keepdims=True)
            return self._op(keras.ops.where, steps, x, before)
        if not final:
            return x
        return final[0] if len(final) == 1 else self._op(keras.ops.concatenate, final, axis=-1)

    @property
    def replaced(self):
        """The replaced stack, and its replacements in the copy."""
        return [self.stack, *self.layers]

    @property
    def old(self):
        """The weight of the stack."""
        return [self.stack.params] if self.stack.built else []

    @property
    def new(self):
        """The weights of all cells."""
        return [variable for layer in self.cells for variable in layer.weights]

    def values(self):
        """The values of `new`, arrays."""
        buffer = keras.ops.convert_to_numpy(self.stack.params)
        levels = to_keras(self.stack.layout, buffer, use_bias=self.stack.use_bias)
        return [array for level in levels for array in level]

    def carry_flags(self):
        """Copies the states and the flags `trainable` and `supports_jit` of the stack to the layers."""
        stack = self.stack
        if eligibility.xla_reason() is None:  # otherwise supports_jit is False for every stack
            jit_flag.carry([stack], self.layers)
        for k, layer in enumerate(self.cells):
            for state, of_stack in zip(layer.states or (), stack.states or ()):
                state.assign(of_stack[:, k])
        trained = stack.params.trainable if stack.built else stack.trainable
        for layer in self.layers:
            if layer.trainable != trained:
                layer.trainable = trained
