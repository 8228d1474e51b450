"""Models for streaming: the states of their recurrent layers and causal convolutions are inputs and outputs."""

import dataclasses
import functools
from typing import Any, Callable, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.keras._convert import layer_calls
from tf_rnn_ops.keras._export import signatures, time_axes
from tf_rnn_ops.keras._export.outputs import named
from tf_rnn_ops.keras._export.streaming import refusals
from tf_rnn_ops.keras._internals.tensors import mask_of

# The suffix of the output that has the next value of an input that is a state.
NEXT = "_next"


@dataclasses.dataclass(frozen=True, eq=False)
class Stream:
    """A model as a function of one or more steps.

    The states of each recurrent layer that begins at zero become inputs, named LAYER_h and LAYER_c, and
    outputs of the same names with '_next'. So do the previous inputs of each causal Conv1D, named LAYER_x,
    and states that are inputs of the model, under their names.

    Attributes:
        model: The model. It does not change.
        signature: A list with a structure of tf.TensorSpec for each argument of the model. If there are
            states that are not arguments of the model, the last element is a dict of their specs.
        layers: {layer with states: _State}.
        states: {name of an input that is a state: name of the model's output with the next state, or
            None}.
        has_own_states: Whether there are states that are not arguments of the model.
        sequences: The names of the inputs that may have any number of steps in the model.
        all_sequences: The names of all inputs with the steps of the stream.
        opened: The number of steps of the signature, if it counted as open; otherwise None.
        observe: A function for layer_calls.replaced that `function` calls layers with, or None.
    """

    model: keras.Model
    signature: list
    layers: dict[keras.layers.Layer, "_State"]
    states: dict[str, str | None]
    has_own_states: bool
    sequences: set[str]
    all_sequences: set[str]
    opened: int | None
    observe: Callable | None = None

    def observed_by(self, observe: Callable) -> "Stream":
        """The same stream, whose layers `observe` calls."""
        return dataclasses.replace(self, observe=observe)

    def of_steps(self, steps: int) -> "Stream":
        """The same stream with another number of steps in a call."""
        signature = signatures.with_size(self.signature, 1, steps, self.all_sequences)
        return dataclasses.replace(self, signature=signature)

    def function(self, *arguments: Any) -> dict[str, Any]:
        """The function to export.

        Args:
            *arguments: The arguments of `signature`.

        Returns:
            The outputs of the model by their names in a signature, and the next states.
        """
        *own, states = arguments if self.has_own_states else (*arguments, {})
        return _run(self.model, self.layers, own, states, self.signature, self.observe)[0]


def stream_of(model: keras.Model, signature: list, time: int | None, opens: bool = False) -> Stream:
    """The Stream of a model.

    Args:
        model: The model.
        signature: The signature of its arguments.
        time: The number of steps of a call. None is that of the signature, or 1 where it is open.
        opens: Whether a number of steps in the signature counts as open if the model accepts others.

    Raises:
        ValueError: A layer needs the whole sequence, not only the steps of a call. A layer gets a
            mask, or is called more than once. The model computes the initial states of a layer. The
            initial states of a layer are inputs, but its final states are not outputs. The model does not accept
            `time`.
    """
    try:
        return _stream_of(model, signature, time, opens)
    except Exception as error:  # layers raise errors of any kind, and Keras adds lines to them
        raise ValueError(one_line(error)) from error


def _stream_of(model: keras.Model, signature: list, time: int | None, opens: bool) -> Stream:
    axes = time_axes.find(model, signature, time)
    refusals.check(model, axes.calls)
    arguments = _of_steps(signature, axes, time, opens)
    known = [s.shape[1] for s in keras.tree.flatten(signature) if s.name in axes.longer]
    inputs = keras.tree.flatten(arguments)
    batch = next((spec.shape[0] for spec in inputs if spec.shape.rank), None)
    taken = {spec.name.lower() for spec in inputs}
    layers = {
        call.layer: _State.of(call, batch, taken)
        for call in axes.calls
        if time_axes.reads_time(call)
    }
    if not layers:
        raise ValueError(
            f"The model {model.name!r} cannot stream, because it has no recurrent layer and no causal Conv1D over "
            "the steps of an input: streaming=False is for whole sequences."
        )
    specs = {spec.name: spec for state in layers.values() for spec in state.specs}
    # Layers whose initial states are inputs of the model need no other states.
    states = _states_in_use(model, layers, arguments, specs)
    own = {name: spec for name, spec in specs.items() if name in states}
    return Stream(
        model=model,
        signature=[*arguments, own] if own else arguments,
        layers=layers,
        states=states,
        has_own_states=bool(own),
        sequences=axes.longer,
        all_sequences=axes.sequences,
        opened=next(filter(None, known), None) if opens and time is None else None,
    )


def _states_in_use(
    model: keras.Model,
    layers: dict[keras.layers.Layer, "_State"],
    arguments: list,
    specs: dict[str, tf.TensorSpec],
) -> dict[str, str | None]:
    """The attribute `states` of a Stream, by a trace with a state for every layer."""
    found: dict[str, str | None] = {}

    def run(*tensors: Any) -> dict[str, Any]:
        *own, states = tensors
        results, names = _run(model, layers, own, states, arguments)
        found.update(names)
        return results

    tf.function(run, autograph=False).get_concrete_function(*arguments, specs)
    return found


def _run(
    model: keras.Model,
    layers: dict[keras.layers.Layer, "_State"],
    own: list,
    states: dict[str, Any],
    signature: list,
    observe: Callable | None = None,
) -> tuple[dict[str, Any], dict[str, str | None]]:
    """Runs a model.

    Args:
        model: The model.
        layers: {layer with states: _State}.
        own: The arguments of the model.
        states: {name of a state that is not an argument: tensor}.
        signature: The specs of the arguments, for their names; others may follow.
        observe: See Stream.

    Returns:
        The results of Stream.function, and its attribute `states`.
    """
    given = keras.tree.flatten(own)
    inputs = [spec.name for spec in keras.tree.flatten(signature)[: len(given)]]
    calls = _Calls(given, states, layers)

    def run(original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        observed = functools.partial(observe, original) if observe else original
        return calls.run(observed, layer, *args, **kwargs)

    with layer_calls.replaced(run):
        results = named(time_axes.of_any_length(model)(*own, training=False))
    names: dict[str, str | None] = dict.fromkeys(calls.new)
    next_states = {f"{name}{NEXT}": new for name, new in calls.new.items()}
    if taken := sorted((results.keys() | set(inputs)) & next_states.keys()):
        raise ValueError(
            f"The input or output {taken[0]!r} of the model has the name of the next value of a state: give it "
            "another name."
        )
    for layer, k, new in calls.given:
        name = inputs[k]
        if name in names:
            raise ValueError(
                f"The input {name!r} must be the initial state of one layer, but it is that of several layers: "
                "give each layer an input of its own."
            )
        names[name] = output = _output_of_state(layer, name, new, results)
        del results[output]
        next_states[f"{name}{NEXT}"] = tf.cast(new, given[k].dtype)
    return results | next_states, names


def _output_of_state(
    layer: keras.layers.Layer, name: str, new: tf.Tensor, results: dict[str, Any]
) -> str:
    """The name of the output that is the final state of a layer, whose initial state is the input `name`."""
    # The last: the outputs of a layer that returns its last step come before its states.
    for output in reversed(results):
        if _source(results[output]) is _source(new):
            return output
    raise ValueError(
        f"The layer {layer.name!r} cannot stream, because its initial state is the input {name!r}, but its "
        "state after the last step is not an output: add the state to the outputs of the model."
    )


class _State(NamedTuple):
    """The state of a layer.

    Attributes:
        specs: A list of tf.TensorSpec.
        structure: The structure of the initial states of a recurrent layer.
    """

    specs: list
    structure: Any

    @classmethod
    def of(cls, call: time_axes.Call, batch: int | None, taken: set[str]) -> "_State":
        """The state of the layer of a call.

        Args:
            call: A time_axes.Call.
            batch: B, or None.
            taken: The names that are used, in lower case.
        """
        layer = call.layer
        if not time_axes.is_recurrent(layer):
            steps, channels = time_axes.memory_of(layer), next(iter(call.shapes.values()))[0][-1]
            name = signatures.free_name(f"{layer.name}_x", taken)
            return cls([tf.TensorSpec([batch, steps, channels], layer.compute_dtype, name)], None)
        structure = list(layer.get_initial_state(batch_size=1))
        states = keras.tree.flatten(structure)
        if any(np.any(keras.ops.convert_to_numpy(state)) for state in states):
            raise ValueError(
                f"The layer {layer.name!r} cannot stream, because its cell begins with other states than zeros: make "
                "the states inputs of the model."
            )
        names = _names(layer, structure, taken)
        shapes = [[batch, *state.shape[1:]] for state in states]
        return cls(list(map(tf.TensorSpec, shapes, (s.dtype for s in states), names)), structure)


class _Calls:
    """The calls of layers with states while a model runs.

    Attributes:
        new: {name of a state: its value after the last step}, for the states that this object passed to
            layers.
        given: For each state that is an input of the model the layer, the number of the input, and the
            tensor after the last step.
    """

    def __init__(
        self, inputs: list, states: dict[str, Any], layers: dict[keras.layers.Layer, _State]
    ) -> None:
        """Stores the inputs and states for the calls.

        Args:
            inputs: The tensors that the model is called with.
            states: {name of a state: its tensor before the first step}.
            layers: {layer: _State}.
        """
        self._inputs, self._states, self._layers = inputs, states, layers
        self._seen: set[keras.layers.Layer] = set()
        self.new: dict[str, Any] = {}
        self.given: list[tuple[keras.layers.Layer, int, Any]] = []

    def run(self, original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        """Calls a layer. One with states begins with them, and its final states are kept."""
        if layer not in self._layers:
            return original(layer, *args, **kwargs)
        if layer in self._seen:
            raise ValueError(
                f"The layer {layer.name!r} cannot stream, because it is called more than once and has one state: use "
                "a layer for each call."
            )
        self._seen.add(layer)
        call = self._recurrent if time_axes.is_recurrent(layer) else self._convolution
        return call(original, layer, *args, **kwargs)

    def _convolution(
        self, original: Callable, layer: keras.layers.Layer, inputs: Any, **others: Any
    ) -> Any:
        """Calls a causal convolution on the previous inputs and the steps."""
        (spec,) = self._layers[layer].specs
        inputs = tf.concat([self._states[spec.name], tf.cast(inputs, spec.dtype)], 1)
        self.new[spec.name] = inputs[:, -spec.shape[1] :]
        return original(layer_calls.variant(layer, padding="valid"), inputs, **others)

    def _recurrent(
        self,
        original: Callable,
        layer: keras.layers.Layer,
        sequences: Any,
        initial_state: Any = None,
        mask: Any = None,
        *_: Any,
        **others: Any,
    ) -> Any:
        """Calls a recurrent layer, which begins with the states and returns the final states."""
        own = initial_state is None
        if mask is None and own:  # Keras gives the mask of the sequences to a call without states
            mask = mask_of(sequences)
        if mask is not None:
            raise ValueError(
                f"The layer {layer.name!r} cannot stream, because it gets a mask: build the model without the Masking "
                "layer, or without mask_zero of the Embedding, or give streaming=False for whole sequences."
            )
        specs, structure = self._layers[layer]
        if own:
            flat = [self._states[spec.name] for spec in specs]
            initial_state = keras.tree.pack_sequence_as(structure, flat)
        begun = layer_calls.variant(layer, stateful=False, return_state=True)
        others |= {"initial_state": initial_state, "training": False}
        output, *new = original(begun, sequences, **others)
        if own:
            self.new |= dict(zip((spec.name for spec in specs), keras.tree.flatten(new)))
        else:
            self._note(layer, keras.tree.flatten(initial_state), keras.tree.flatten(new))
        return (output, *new) if layer.return_state else output

    def _note(self, layer: keras.layers.Layer, initial: list, new: list) -> None:
        for state, after in zip(initial, new):
            source = _source(state)
            k = next((k for k, tensor in enumerate(self._inputs) if tensor is source), None)
            if k is None:
                raise ValueError(
                    f"The layer {layer.name!r} cannot stream, because its initial state is computed by the model: make "
                    "the state an input of the model."
                )
            self.given.append((layer, k, after))


def _source(tensor: Any) -> tf.Tensor:
    """The tensor that Keras has cast to the type of a layer, or `tensor` itself."""
    while tensor.op.type in ("Cast", "Identity"):
        tensor = tensor.op.inputs[0]
    return tensor


def _names(layer: keras.layers.Layer, structure: list, taken: set[str]) -> list[str]:
    """The flat list of names of the states of a recurrent layer, in the order of its initial_state."""
    cells = structure if any(map(keras.tree.is_nested, structure)) else [structure]
    found = []
    for k, states in enumerate(cells):
        prefix = layer.name if cells[0] is structure else f"{layer.name}_{k}"
        letters = "hc" if isinstance(states, (list, tuple)) and len(states) <= 2 else None
        for n in range(len(keras.tree.flatten(states))):
            found.append(signatures.free_name(f"{prefix}_{letters[n] if letters else n}", taken))
    return found


def _of_steps(signature: list, axes: time_axes.TimeAxes, time: int | None, opens: bool) -> list:
    """The signature of a call. See Stream for the arguments."""
    specs = [spec for spec in keras.tree.flatten(signature) if spec.name in axes.sequences]
    known = [spec.shape[1] for spec in specs if spec.shape[1] is not None and not opens]
    for spec in specs:
        steps = spec.shape[1]
        accepts_others = steps is None or spec.name in axes.longer
        if time not in (None, steps) and not accepts_others:
            raise ValueError(
                f"time must be {steps} or None, because the model does not accept more steps of the input {spec.name!r}, but "
                f"it is {time}. The error for more steps: {one_line(axes.reason) if axes.reason else 'none.'}"
            ) from axes.reason
        if accepts_others and (steps is None or time is not None or opens):
            steps = time or next(iter(known), 1)
            signature = signatures.with_size(signature, 1, steps, [spec.name])
    return signature
