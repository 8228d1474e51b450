"""Loops over time that can be differentiated any number of times.

Note [Derivatives of a recurrence]
s_t = f(z_t, s_{t-1}), where z_t has the input of a step and the weights. Let A_t = df/ds_{t-1}, and let
ds_t be the upstream gradient of s_t. The total gradient l_t of s_t needs one loop backwards over time,

    l_t = ds_t + A_{t+1}' l_{t+1}.

Then dz_t = (df/dz_t)' l_t is computed for all steps at once. To differentiate this loop, its adjoint is
needed, which is a loop forwards,

    m_t = u_t + A_t m_{t-1},

and a remainder: the derivative of the sum over t of l_t' A_t m_{t-1} with respect to z_t and s_{t-1}. It
is also computed for all steps at once. The adjoint of the second loop is the first loop, with the same
remainder. So three loops give the derivatives of every order, and no loop stores more than its results.

WHY not TensorFlow's gradients of tf.while_loop: the third derivative fails (the lists that AddN adds have
different shapes), and a step of the second derivative has almost twice as many ops, because every
intermediate value is written to a list and read from it.

A subclass of Loops may have faster loops, such as KernelLoops in autodiff/kernel_loops.py.
"""

from typing import Any, Callable, Sequence

import tensorflow as tf


def wide_type(dtype: Any) -> Any:
    """The type of the arithmetic, as in the ops."""
    return tf.float32 if dtype in (tf.float16, tf.bfloat16) else dtype


def size_of(tensor: tf.Tensor, axis: int) -> Any:
    """A size: a number if the graph knows it, as converters of graphs need it, otherwise a tensor."""
    known = tensor.shape[axis]
    return tf.shape(tensor)[axis] if known is None else known


def reverse_rows(x: tf.Tensor, lengths: tf.Tensor | None) -> tf.Tensor:
    """Reverses the valid steps of each sequence of [T, B, ...]. Steps beyond the length do not move."""
    if lengths is None:
        return tf.reverse(x, [0])
    return tf.reverse_sequence(x, lengths, seq_axis=0, batch_axis=1)


def matmul(x: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """The product of x [B, n] or [T, B, n] and weights [n, m], in one MatMul."""
    if x.shape.rank == 2:
        return tf.matmul(x, weights)
    flat = tf.matmul(tf.reshape(x, [-1, size_of(x, 2)]), weights)
    return tf.reshape(flat, [size_of(x, 0), size_of(x, 1), size_of(weights, 1)])


def clear_padding(x: tf.Tensor, lengths: tf.Tensor | None) -> tf.Tensor:
    """Sets the values beyond the length of each sequence of [T, B, n] to 0. They may be NaN."""
    if lengths is None:
        return x
    valid = tf.transpose(tf.sequence_mask(lengths, size_of(x, 0)))
    return tf.where(tf.expand_dims(valid, 2), x, tf.zeros([], x.dtype))


class Step:
    """The function of a cell in one step.

    Attributes:
        units: None, or a function that returns the new states. Its arguments are the product of the first
            state (h) and the first weights, and the lists of inputs, states and other weights. Each unit
            of a result depends only on the same unit of the arguments.
    """

    def __init__(
        self, new: Callable[..., Any] | None = None, units: Callable[..., Any] | None = None
    ) -> None:
        self._new: Any = new
        self.units: Any = units

    def __call__(
        self, inputs: list[tf.Tensor], states: list[tf.Tensor], weights: list[tf.Tensor]
    ) -> list[tf.Tensor]:
        """The list of new states, for one step of tensors [B, n] or for all steps of tensors [T, B, n]."""
        if self.units is None:
            return self._new(inputs, states, weights)
        return self.units(matmul(states[0], weights[0]), inputs, states, weights[1:])


def run_steps(
    step: Step,
    inputs: list[tf.Tensor],
    states: list[tf.Tensor],
    weights: list[tf.Tensor],
    lengths: tf.Tensor | None = None,
    loops: Any = None,
    hidden: tf.Tensor | None = None,
) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """Runs a cell over time.

    Args:
        step: A Step.
        inputs: Tensors [T, B, n].
        states: Initial states [B, n].
        weights: The other tensors that `step` reads. They do not change over time.
        lengths: The number of steps of each sequence, int32 [B]; None if all sequences have T steps.
        loops: The Loops for the gradients of Note [Derivatives of a recurrence]; None for the gradients of
            tf.while_loop. A graph that is written to a file loses the former.
        hidden: The result of loops.hidden.

    Returns:
        A pair of lists with a tensor for each state: the new states of every step, [T, B, n], 0 beyond the
        length of a sequence; and the final states, [B, n].
    """
    if lengths is not None:
        valid = tf.sequence_mask(lengths, size_of(inputs[0], 0), inputs[0].dtype)
        valid = tf.expand_dims(tf.transpose(valid), 2)
        inputs = [*inputs, valid]
        step = _carrying_over(step)
    recurrence = Recurrence(step, len(inputs), len(states), loops or Loops())
    if loops is None:
        sequences = recurrence.loop(inputs, states, weights)
    else:
        sequences = recurrence.run(inputs, states, weights, hidden)
    if inputs[0].shape[0]:
        final = [sequence[-1] for sequence in sequences]
    else:  # without a step, the final states are the initial states
        final = [tf.concat([s[None], seq], 0)[-1] for s, seq in zip(states, sequences)]
    if lengths is not None:
        sequences = [clear_padding(sequence, lengths) for sequence in sequences]
    return sequences, final


def _carrying_over(step: Step) -> Step:
    """The step with one more input, which tells which sequences run it. The others keep their states."""

    def choose(valid: tf.Tensor, new: list[tf.Tensor], states: list[tf.Tensor]) -> list[tf.Tensor]:
        return [tf.where(valid > 0, n, s) for n, s in zip(new, states)]

    def new(
        inputs: list[tf.Tensor], states: list[tf.Tensor], weights: list[tf.Tensor]
    ) -> list[tf.Tensor]:
        return choose(inputs[-1], step(inputs[:-1], states, weights), states)

    def units(
        sums: tf.Tensor, inputs: list[tf.Tensor], states: list[tf.Tensor], weights: list[tf.Tensor]
    ) -> list[tf.Tensor]:
        return choose(inputs[-1], step.units(sums, inputs[:-1], states, weights), states)

    return Step(new) if step.units is None else Step(units=units)


class Loops:
    """The loops over time of a Recurrence, in tf.while_loop, on values without gradients."""

    def hidden(
        self,
        rnn_mode: str,
        cell: Any,
        x: tf.Tensor,
        states: list[tf.Tensor],
        lengths: tf.Tensor | None,
    ) -> tf.Tensor | None:
        """The h of every step of cells.run_cell, if it can be computed without a loop.

        Returns:
            [T, B, H], or None. Beyond the length of a sequence it has the sequence's last h.
        """
        del rnn_mode, cell, x, states, lengths
        return None

    def states(
        self,
        recurrence: "Recurrence",
        inputs: list[tf.Tensor],
        initial: list[tf.Tensor],
        weights: list[tf.Tensor],
        hidden: tf.Tensor | None,
    ) -> list[tf.Tensor]:
        """The states after every step. `hidden` is the first state (h), if it is known."""
        del hidden
        return recurrence.loop(inputs, initial, weights)

    def adjoint(
        self, recurrence: "Recurrence", z: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> list[tf.Tensor]:
        """l_t = ds_t + A_{t+1}' l_{t+1}, where `upstream` is ds."""

        def step(
            zt: list[tf.Tensor], upstream: list[tf.Tensor], carried: list[tf.Tensor]
        ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
            adjoint = [u + c for u, c in zip(upstream, carried)]
            return adjoint, recurrence.transposed(zt, adjoint)

        return self._linear(recurrence, step, z, upstream, reverse=True)

    def tangent(
        self, recurrence: "Recurrence", z: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> list[tf.Tensor]:
        """m_t = u_t + A_t m_{t-1}, where `upstream` is u."""

        def step(
            zt: list[tf.Tensor], upstream: list[tf.Tensor], carried: list[tf.Tensor]
        ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
            tangent = [u + a for u, a in zip(upstream, recurrence.applied(zt, carried))]
            return tangent, tangent

        return self._linear(recurrence, step, z, upstream)

    def _linear(
        self,
        recurrence: "Recurrence",
        step: Callable[..., Any],
        z: list[tf.Tensor],
        upstream: list[tf.Tensor],
        reverse: bool = False,
    ) -> list[tf.Tensor]:
        inputs, states, weights = recurrence.split(z)
        count = len(inputs) + len(states)

        def read(
            sequences: list[tf.Tensor], carried: list[tf.Tensor]
        ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
            return step([*sequences[:count], *weights], sequences[count:], carried)

        initial = [tf.zeros(tf.shape(u)[1:], u.dtype) for u in upstream]
        for zero, u in zip(initial, upstream):
            zero.set_shape(u.shape[1:])
        return _loop(read, [*inputs, *states, *upstream], initial, reverse)


class Recurrence:
    """The derivatives of Note [Derivatives of a recurrence] for one Step.

    Arguments and results are lists of tensors. `z` has the inputs, the states before each step, and the
    weights.
    """

    def __init__(self, step: Step, num_inputs: int, num_states: int, loops: Loops) -> None:
        self.step = step
        self._num_inputs = num_inputs
        self._num_states = num_states
        self._loops = loops

    def loop(
        self, inputs: list[tf.Tensor], initial: list[tf.Tensor], weights: list[tf.Tensor]
    ) -> list[tf.Tensor]:
        """The states s_t, in tf.while_loop."""

        def step(
            inputs: list[tf.Tensor], states: list[tf.Tensor]
        ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
            new = self.step(inputs, states, weights)
            return new, new

        return _loop(step, inputs, initial)

    def run(
        self,
        inputs: list[tf.Tensor],
        initial: list[tf.Tensor],
        weights: list[tf.Tensor],
        hidden: tf.Tensor | None = None,
    ) -> list[tf.Tensor]:
        """The states s_t, with custom gradients."""
        # An op whose inputs are not watched does not store values for a gradient.
        values = self._loops.states(
            self, _constants(inputs), _constants(initial), _constants(weights), hidden
        )
        return self._states(values, inputs, initial, weights)

    def _states(
        self,
        values: list[tf.Tensor],
        inputs: list[tf.Tensor],
        initial: list[tf.Tensor],
        weights: list[tf.Tensor],
    ) -> list[tf.Tensor]:
        """The states with known values, and with gradients for inputs, initial states and weights."""

        def gradient(*upstream: tf.Tensor) -> list[tf.Tensor]:
            before = [tf.concat([s[None], seq], 0)[:-1] for s, seq in zip(initial, states)]
            z = [*inputs, *before, *weights]
            adjoint = self._linear(z, upstream, backwards=True)
            dinputs, dbefore, dweights = self.split(_vjp(self._new, z, z, adjoint))
            # The adjoint includes the gradients of the states between two steps.
            return [*dinputs, *(tf.reduce_sum(d[:1], 0) for d in dbefore), *dweights]

        states = _with_gradient(values, [*inputs, *initial, *weights], gradient)
        return states

    def _linear(
        self, z: list[tf.Tensor], upstream: Sequence[tf.Tensor], backwards: bool
    ) -> list[tf.Tensor]:
        """The loop backwards or forwards over time. The derivative of each is the other, and a remainder."""
        run = self._loops.adjoint if backwards else self._loops.tangent
        values = run(self, _constants(z), _constants(upstream))

        def gradient(*upstream_of_result: tf.Tensor) -> list[tf.Tensor]:
            other = self._linear(z, upstream_of_result, not backwards)
            adjoint, tangent = (result, other) if backwards else (other, result)
            return [*self._remainder(z, adjoint, tangent), *other]

        result = _with_gradient(values, [*z, *upstream], gradient)
        return result

    def _remainder(
        self, z: list[tf.Tensor], adjoint: list[tf.Tensor], tangent: list[tf.Tensor]
    ) -> list[tf.Tensor]:
        """The gradient of the sum over t of l_t' A_t m_{t-1} with respect to z."""
        before = [tf.concat([tf.zeros_like(m[:1]), m[:-1]], 0) for m in tangent]
        return _vjp(lambda z: self.transposed(z, adjoint), z, z, before)

    def transposed(self, z: list[tf.Tensor], adjoint: list[tf.Tensor]) -> list[tf.Tensor]:
        """A' times the adjoint, for one step or for all steps."""
        return _vjp(self._new, z, self.split(z)[1], adjoint)

    def applied(self, z: list[tf.Tensor], tangent: list[tf.Tensor]) -> list[tf.Tensor]:
        """A times the tangent, computed as the derivative of (A' times a vector) with respect to the vector."""
        anything = [tf.zeros_like(m) for m in tangent]
        return _vjp(lambda anything: self.transposed(z, anything), anything, anything, tangent)

    def _new(self, z: list[tf.Tensor]) -> list[tf.Tensor]:
        return self.step(*self.split(z))

    def split(self, z: list[tf.Tensor]) -> tuple[list[tf.Tensor], list[tf.Tensor], list[tf.Tensor]]:
        """The inputs, the states and the weights of z."""
        first = self._num_inputs + self._num_states
        return z[: self._num_inputs], z[self._num_inputs : first], z[first:]


def _constants(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    return [tf.stop_gradient(tensor) for tensor in tensors]


def _vjp(
    function: Callable[..., Any],
    arguments: Any,
    sources: list[tf.Tensor],
    upstream: list[tf.Tensor],
) -> list[tf.Tensor]:
    """The gradient of function(arguments) with respect to `sources`, some of the arguments."""
    with tf.GradientTape() as tape:
        tape.watch(sources)
        results = function(arguments)
    return tape.gradient(results, sources, output_gradients=upstream, unconnected_gradients="zero")


def _with_gradient(
    values: list[tf.Tensor], arguments: Any, gradient: tf.Tensor | None
) -> list[tf.Tensor]:
    """Tensors with known values and the given gradient with respect to the arguments."""

    @tf.custom_gradient
    def known(*arguments: tf.Tensor) -> Any:
        del arguments
        return [tf.identity(value) for value in values], gradient

    return list(known(*arguments))


def _loop(
    step: Callable[..., Any],
    sequences: list[tf.Tensor],
    carried: list[tf.Tensor],
    reverse: bool = False,
) -> list[tf.Tensor]:
    """Calls step([a step of each sequence], carried), which returns results and the next `carried`.

    WHY the ops of lists rather than tf.TensorArray: they accept dynamic sizes. LiteRT needs the sizes of
    the written elements, and an empty list does not have the batch size. WHY tf.expand_dims rather than
    x[:, None], here and elsewhere: LiteRT supports x[:, None] only for known sizes.

    Returns:
        The results of all steps, stacked.
    """
    steps, batch = size_of(sequences[0], 0), size_of(sequences[0], 1)
    if sequences[0].shape[0] == 1:
        results, _ = step([tf.squeeze(s, [0]) for s in sequences], carried)
        return [tf.expand_dims(result, 0) for result in results]
    shapes = [tf.stack([batch, size_of(c, 1)]) for c in carried]
    read = [
        tf.raw_ops.TensorListFromTensor(tensor=s, element_shape=tf.shape(s)[1:]) for s in sequences
    ]
    written = [
        tf.raw_ops.TensorListReserve(element_shape=e, num_elements=steps, element_dtype=c.dtype)
        for e, c in zip(shapes, carried)
    ]

    def body(k: Any, carried: list[tf.Tensor], written: list[tf.Tensor]) -> Any:
        t = steps - 1 - k if reverse else k
        results, carried = step([_item(r, t, s) for r, s in zip(read, sequences)], carried)
        written = [
            tf.raw_ops.TensorListSetItem(input_handle=w, index=t, item=r)
            for w, r in zip(written, results)
        ]
        return k + 1, carried, written

    _, _, written = tf.while_loop(
        lambda k, *_: k < steps,
        body,
        (tf.constant(0), list(carried), written),
        maximum_iterations=steps,
    )
    stacked = [
        tf.raw_ops.TensorListStack(
            input_handle=handle,
            element_shape=shape,
            element_dtype=c.dtype,
            num_elements=-1 if isinstance(steps, tf.Tensor) else steps,
        )
        for handle, shape, c in zip(written, shapes, carried)
    ]
    for results, c in zip(stacked, carried):
        results.set_shape([*sequences[0].shape[:2], c.shape[1]])
    return stacked


def _item(handle: tf.Tensor, t: tf.Tensor, sequence: tf.Tensor) -> tf.Tensor:
    """Step t of a list that was made of a sequence."""
    element = tf.raw_ops.TensorListGetItem(
        input_handle=handle,
        index=t,
        element_shape=tf.constant([-1 if n is None else n for n in sequence.shape[1:]]),
        element_dtype=sequence.dtype,
    )
    element.set_shape(sequence.shape[1:])
    return element
