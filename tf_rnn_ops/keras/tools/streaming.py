"""Models for streaming: the states of their recurrent layers are inputs and outputs."""

import contextlib
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops.keras.layers.stack_layer import CudnnStack
from tf_rnn_ops.keras.tools import signatures
from tf_rnn_ops.keras.tools.outputs import named
from tf_rnn_ops.params.keras_internals import flatten_layers

# The suffix of the output that has the next value of an input that is a state.
NEXT = "_next"


_ATTENTIONS = ("Attention", "AdditiveAttention", "MultiHeadAttention", "GroupedQueryAttention")
# The layers of Keras that combine the steps of [B, T, I].
_COMBINING = {
    *_ATTENTIONS,
    *("Conv1D", "Conv1DTranspose", "SeparableConv1D", "DepthwiseConv1D"),
    *("MaxPooling1D", "AveragePooling1D", "AdaptiveMaxPooling1D", "AdaptiveAveragePooling1D"),
    *("GlobalMaxPooling1D", "GlobalAveragePooling1D", "Flatten"),
    *("UpSampling1D", "ZeroPadding1D", "Cropping1D"),
    *("Conv2D", "Conv2DTranspose", "SeparableConv2D", "DepthwiseConv2D"),
    *("MaxPooling2D", "AveragePooling2D", "GlobalMaxPooling2D", "GlobalAveragePooling2D"),
    "ConvLSTM1D",
}


class Stream:
    """A model as a function of one or more steps.

    The states of each recurrent layer that begins at zero become inputs, named LAYER_h and LAYER_c, and
    outputs of the same names with '_next'. So do states that are inputs of the model, under their names.

    Attributes:
        signature: A list with a structure of tf.TensorSpec for each argument of the model. If there are
            states that are not arguments of the model, the last element is a dict of their specs.
        has_own_states: Whether there are such states.
        states: {name of an input that is a state: name of the model's output with the next state, or
            None}.
        sequences: The names of the inputs that may have any number of steps in the model.
    """

    def __init__(self, model: keras.Model, signature: list) -> None:
        """Finds the states.

        Args:
            model: The model. No other thread may call it while `function` runs.
            signature: The signature of its arguments. An open number of steps becomes 1.

        Raises:
            ValueError: A layer needs the whole sequence, not only the steps of a call; a layer gets a
                mask; the model computes the initial states of a layer; or the final states of a layer are
                not outputs.
        """
        self._model = model
        arguments = keras.tree.map_structure(_of_steps, signature)
        self._inputs = [spec.name for spec in keras.tree.flatten(arguments)]
        taken = getattr(model, "inputs", None) or keras.tree.flatten(signature)
        self.sequences = {
            name
            for name, tensor in zip(self._inputs, taken)
            if len(tensor.shape) > 1 and tensor.shape[1] is None
        }
        taken = {name.lower() for name in self._inputs}
        self._layers = {layer: _names(layer, taken) for layer in _recurrent_layers(model)}
        batch = next((s.shape[0] for s in keras.tree.flatten(arguments) if s.shape.rank), None)
        specs = {}
        for layer, names in self._layers.items():
            for name, state in zip(names, keras.tree.flatten(_initial(layer))):
                shape = [batch, *state.shape[1:]]
                specs[name] = tf.TensorSpec(shape, state.dtype, name)
        # If the initial states of a layer are inputs of the model, it needs no other states. The first
        # trace tells.
        self.signature, self.has_own_states = [*arguments, specs], True
        self.states: dict[str, Any] = {}
        tf.function(self.function, autograph=False).get_concrete_function(*self.signature)
        own = {name: spec for name, spec in specs.items() if name in self.states}
        self.has_own_states = bool(own)
        self.signature = [*arguments, own] if own else arguments

    def function(self, *arguments: Any) -> dict[str, Any]:
        """The function to export.

        Args:
            *arguments: The arguments of `signature`.

        Returns:
            The outputs of the model by their names in a signature, and the next states.
        """
        *own, states = arguments if self.has_own_states else (*arguments, {})
        given = keras.tree.flatten(own)
        calls = _Calls(given, states, self._layers)
        with calls.recorded():
            results = named(self._model(*own, training=False))
        self.states = dict.fromkeys(calls.new)
        next_states = {f"{name}{NEXT}": new for name, new in calls.new.items()}
        if names := sorted((results.keys() | set(self._inputs)) & next_states.keys()):
            raise ValueError(
                f"The input or output {names[0]!r} of the model has the name of the next value of a state: give it "
                "another name."
            )
        for layer, k, new in calls.given:
            name = self._inputs[k]
            if name in self.states:
                raise ValueError(
                    f"The input {name!r} is the initial state of several layers, so a stream would not know "
                    "which final state to pass on: give each layer an input of its own."
                )
            output = next((o for o, one in results.items() if _source(one) is _source(new)), None)
            if output is None:
                raise ValueError(
                    f"The states of the layer {layer.name!r} after the last step must be outputs of the "
                    f"model, because its initial state is the input {name!r}."
                )
            del results[output]
            self.states[name] = output
            next_states[f"{name}{NEXT}"] = tf.cast(new, given[k].dtype)
        return results | next_states


class _Calls:
    """The calls of recurrent layers while a model runs.

    Attributes:
        new: {name of a state: its value after the last step}, for the states that this object passed to
            layers.
        given: For each state that is an input of the model the layer, the number of the input, and the
            tensor after the last step.
    """

    def __init__(self, inputs, states, layers):
        """Stores the inputs and states for the calls.

        Args:
            inputs: The tensors that the model is called with.
            states: {name of a state: its tensor before the first step}.
            layers: {layer: names of its states}.
        """
        self._inputs, self._states, self._layers = inputs, states, layers
        self._seen = set()
        self.new, self.given = {}, []

    @contextlib.contextmanager
    def recorded(self):
        """Makes the layers begin with the states and return the final states."""
        options = {layer: (layer.stateful, layer.return_state) for layer in self._layers}
        try:
            for layer, names in self._layers.items():
                # WHY the dict: Keras tracks objects that are set as attributes.
                vars(layer)["call"] = self._instead_of(layer.call, layer, names)
                layer.stateful, layer.return_state = False, True
            yield
        finally:
            for layer, (stateful, return_state) in options.items():
                vars(layer).pop("call", None)
                layer.stateful, layer.return_state = stateful, return_state

    def _instead_of(self, original, layer, names):
        return_state = layer.return_state

        def call(sequences, initial_state=None, mask=None, training=None, **others):
            del training
            self._check(layer, mask)
            own = initial_state is None
            if own:
                flat = [self._states[name] for name in names]
                initial_state = keras.tree.pack_sequence_as(_initial(layer), flat)
            output, *new = original(
                sequences, initial_state=initial_state, training=False, **others
            )
            if own:
                self.new |= dict(zip(names, keras.tree.flatten(new)))
            else:
                self._note(layer, keras.tree.flatten(initial_state), keras.tree.flatten(new))
            return (output, *new) if return_state else output

        return call

    def _check(self, layer, mask):
        if mask is not None:
            raise ValueError(
                f"The layer {layer.name!r} gets a mask, but every step of a stream counts: build the model "
                "without the Masking layer, or without mask_zero of the Embedding."
            )
        if layer in self._seen:
            raise ValueError(
                f"The layer {layer.name!r} is called more than once, so a stream would not know which call "
                "its states belong to."
            )
        self._seen.add(layer)

    def _note(self, layer, initial, new):
        for state, after in zip(initial, new):
            source = _source(state)
            k = next((k for k, tensor in enumerate(self._inputs) if tensor is source), None)
            if k is None:
                raise ValueError(
                    f"The initial state of the layer {layer.name!r} is computed by the model, so a stream "
                    "could not pass it on: make it an input of the model."
                )
            self.given.append((layer, k, after))


def _source(tensor):
    """The tensor that Keras has cast to the type of a layer, or `tensor` itself."""
    while tensor.op.type in ("Cast", "Identity"):
        tensor = tensor.op.inputs[0]
    return tensor


def _recurrent_layers(model):
    """The layers with states. Raises ValueError for a layer that cannot stream."""
    found = []
    for layer in flatten_layers(model):
        reason = None
        if isinstance(layer, keras.layers.Bidirectional):
            reason = "it also reads its input backwards, from the last step"
        elif isinstance(layer, keras.layers.TimeDistributed) and _has_states(layer.layer):
            reason = f"{layer.layer.name!r} in it begins with zeros at each step"
        elif combining := _combines_steps(layer):
            reason = f"{combining} combines steps, of which the file sees only those of one call"
        elif isinstance(layer, (keras.layers.RNN, CudnnStack)):
            found.append(layer)
            if layer.go_backwards:
                reason = "it reads its input backwards, from the last step"
            elif getattr(layer, "direction", "") == "bidirectional":
                reason = "it also reads its input backwards, from the last step"
            elif getattr(layer, "time_major", False):
                reason = "its time comes before the batch (time_major=True)"
        if reason:
            raise ValueError(f"The layer {layer.name!r} cannot stream, because {reason}.")
    if not found:
        raise ValueError(
            f"The model {model.name!r} has no recurrent layer, so it has no states to stream."
        )
    return found


def _has_states(layer):
    return any(isinstance(one, (keras.layers.RNN, CudnnStack)) for one in flatten_layers(layer))


def _combines_steps(layer):
    """The name of the class of a layer that combines an open number of steps; empty for other layers."""
    name = type(layer).__name__
    if name not in _COMBINING:
        return ""
    windows = [getattr(layer, one, None) for one in ("kernel_size", "pool_size", "strides")]
    windows = [one for one in windows if one]
    if windows and all(np.ravel(one)[0] == 1 for one in windows):
        return ""
    try:
        inputs = keras.tree.flatten(layer.input)
    except (AttributeError, ValueError):  # it has no graph, or several calls
        return ""
    # An attention to a memory of known length is one step of its own.
    over = inputs[1] if name in _ATTENTIONS and len(inputs) > 1 else inputs[0]
    return name if len(over.shape) > 2 and over.shape[1] is None else ""


def _initial(layer):
    """The initial states for batch size 1."""
    return list(layer.get_initial_state(batch_size=1))


def _names(layer, taken):
    """The flat list of names of the states of a layer, in the order of its initial_state."""
    structure = _initial(layer)
    cells = structure if any(map(keras.tree.is_nested, structure)) else [structure]
    found = []
    for k, states in enumerate(cells):
        prefix = layer.name if cells[0] is structure else f"{layer.name}_{k}"
        letters = "hc" if isinstance(states, (list, tuple)) and len(states) <= 2 else None
        for n in range(len(keras.tree.flatten(states))):
            found.append(signatures.free_name(f"{prefix}_{letters[n] if letters else n}", taken))
    return found


def _of_steps(spec):
    """The spec with one step if the number of steps is open."""
    if len(spec.shape) < 2 or spec.shape[1] is not None:
        return spec
    return tf.TensorSpec([spec.shape[0], 1, *spec.shape[2:]], spec.dtype, spec.name)
