"""The loops over time of tf_rnn_ops.plain as single ops, on the CPU."""

from typing import Any

import tensorflow as tf

from tf_rnn_ops.native import loader
from tf_rnn_ops.plain.cells import GATES, KERAS_GATES, Cell, reorder_gates
from tf_rnn_ops.plain.recurrence import Loops, Recurrence, matmul
from tf_rnn_ops.raw_ops import layer_rnn


class KernelLoops(Loops):
    """Loops of cells with one product in a step. Other cells run in tf.while_loop.

    The derivative of a step acts on each unit separately, except for the product with the recurrent
    weights. So LinearRecurrence needs only the derivatives of the units, which TensorFlow computes for all
    steps at once.
    """

    def hidden(
        self,
        rnn_mode: str,
        cell: Cell,
        x: tf.Tensor,
        states: list[tf.Tensor],
        lengths: tf.Tensor | None,
    ) -> tf.Tensor | None:
        """See Loops; from LayerRNN."""
        if cell.w is None:
            return None

        def ours(tensor: tf.Tensor, axis: int = -1) -> tf.Tensor:
            """The tensor without gradient, with the gates in Keras's order."""
            tensor = tf.stop_gradient(tensor)
            gates = GATES[rnn_mode], KERAS_GATES[rnn_mode]
            return reorder_gates(tensor, *gates, axis)

        bias = tf.stack([cell.bw, cell.br]) if rnn_mode == "gru" else cell.bw + cell.br
        result = layer_rnn.LayerRNN(
            input=tf.stop_gradient(x),
            input_h=tf.stop_gradient(states[0]),
            input_c=tf.stop_gradient(states[-1]),
            kernel=ours(cell.w),
            recurrent_kernel=ours(cell.r),
            bias=ours(bias),
            sequence_lengths=() if lengths is None else lengths,
            input_mask=() if cell.input_mask is None else ours(cell.input_mask, 0),
            rnn_mode=rnn_mode,
            activation=cell.activation,
            recurrent_activation=cell.recurrent_activation,
            is_training=False,
        )
        if lengths is None:
            return result.output
        valid = tf.transpose(tf.sequence_mask(lengths, tf.shape(x)[0]))
        return tf.where(valid[:, :, None], result.output, result.output_h)

    def states(
        self,
        recurrence: "Recurrence",
        inputs: list[tf.Tensor],
        initial: list[tf.Tensor],
        weights: list[tf.Tensor],
        hidden: tf.Tensor | None,
    ) -> list[tf.Tensor]:
        """See Loops."""
        if hidden is None:
            return super().states(recurrence, inputs, initial, weights, hidden)
        if len(initial) == 1:
            return [hidden]
        # A new c is kept * (the previous c) + added, where `added` is the new c for a previous c of 0.
        h, c = initial
        before, zero = tf.concat([h[None], hidden], 0)[:-1], tf.zeros_like(hidden)
        sums = matmul(before, weights[0])
        with tf.GradientTape() as tape:
            tape.watch(zero)
            _, added = recurrence.step.units(sums, inputs, [before, zero], weights[1:])
        kept = tape.gradient(added, zero)
        added = tf.concat([added[:1] + kept[:1] * c, added[1:]], 0)
        slopes = {"c_by_c": kept}
        return [hidden, _linear([zero, added], weights[0], slopes, transposed=False)[1]]

    def adjoint(
        self, recurrence: "Recurrence", z: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> list[tf.Tensor]:
        """See Loops."""
        if recurrence.step.units is None:
            return super().adjoint(recurrence, z, upstream)
        return _linear(upstream, recurrence.split(z)[2][0], _slopes(recurrence, z), transposed=True)

    def tangent(
        self, recurrence: "Recurrence", z: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> list[tf.Tensor]:
        """See Loops."""
        if recurrence.step.units is None:
            return super().tangent(recurrence, z, upstream)
        return _linear(
            upstream, recurrence.split(z)[2][0], _slopes(recurrence, z), transposed=False
        )


def _slopes(recurrence: "Recurrence", z: list[tf.Tensor]) -> dict[str, tf.Tensor]:
    """The derivatives of the new states, with the names of the inputs of LinearRecurrence."""
    inputs, states, weights = recurrence.split(z)
    sums = matmul(states[0], weights[0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([sums, *states])
        new = recurrence.step.units(sums, inputs, states, weights[1:])
    slopes = {}
    for state, name in zip(new, "hc"):
        by_gates, *by_states = tape.gradient(state, [sums, *states])
        slopes[f"{name}_by_gates"] = by_gates
        slopes |= {f"{name}_by_{other}": slope for slope, other in zip(by_states, "hc")}
    return slopes


def _linear(
    added: list[tf.Tensor], recurrent_kernel: Any, slopes: dict[str, tf.Tensor], transposed: bool
) -> list[tf.Tensor]:
    """The results of LinearRecurrence. `added`: the terms added to h and, in an LSTM, to c at each step."""
    units = recurrent_kernel.shape[0]
    gates = recurrent_kernel.shape[1] // units
    mode = "lstm" if len(added) == 2 else {3: "gru", 1: "rnn_tanh"}[gates]
    names = [f"{a}_by_{b}" for a in "hc" for b in ("gates", "h", "c")]
    none = tf.zeros([0], added[0].dtype)
    outputs = loader.ops().tf_rnn_ops_linear_recurrence(
        input=added[0],
        cell_input=added[-1],
        recurrent_kernel=recurrent_kernel,
        **{n: none if slopes.get(n) is None else slopes[n] for n in names},
        rnn_mode=mode,
        transposed=transposed,
    )
    return list(outputs[: len(added)])
