"""Traces a model, layer by layer, into the graph of a stepper."""

from __future__ import annotations

import inspect
from typing import Any, Callable, NamedTuple, Sequence

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops.keras._export import time_axes
from tf_rnn_ops.keras._export.outputs import named
from tf_rnn_ops.keras._export.stepper import layers, operations, recurrent
from tf_rnn_ops.keras._export.stepper.graph import Graph
from tf_rnn_ops.keras._export.stepper.values import Value
from tf_rnn_ops.keras._export.stepper.window import Window
from tf_rnn_ops.keras._export.streaming.refusals import has_own_call
from tf_rnn_ops.keras._export.streaming.stream import NEXT, Stream
from tf_rnn_ops.keras._internals.tensors import mask_of
from tf_rnn_ops.keras.layers.reversed import Reversed
from tf_rnn_ops.keras.layers.stack_layer import CudnnStack

_ACTIVATION_OPS = {
    **{"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Softmax": "softmax"},
    **{
        "Elu": "elu",
        "Selu": "selu",
        "Softplus": "softplus",
        "Softsign": "softsign",
        "Exp": "exponential",
    },
}
_ARITHMETIC = ("AddV2", "Sub", "Mul", "RealDiv", "BiasAdd", "Neg", "Reciprocal", "Square", "Pow")
# {dtype of an input whose numbers are integers: the smallest and the largest one of a stepper}.
_LIMITS: dict[Any, tuple[int, int]] = {
    dtype: (max(dtype.min, tf.int32.min), min(dtype.max, tf.int32.max))
    for dtype in (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64)
} | {tf.bool: (0, 1)}


class Traced(NamedTuple):
    """The result of `trace`.

    Attributes:
        content: The content of the file.
        layers: A list of (name of a recurrent layer, its op).
    """

    content: bytes
    layers: list[tuple[str, str]]


def trace(stream: Stream | Window, time: int | None) -> Traced:
    """Traces a model, layer by layer.

    Args:
        stream: The Stream, or the Window.
        time: T of the file; None is any.

    Raises:
        ValueError: A stepper has no node for a layer, an operation or an output.
    """
    tracer = Tracer(stream, time)

    def run(*arguments: Any) -> None:
        tracer.begin(arguments)
        tracer.end(stream.observed_by(tracer.run).function(*arguments))

    tf.function(run, autograph=False).get_concrete_function(*stream.signature)
    specs = [spec for spec in keras.tree.flatten(stream.signature) if spec.shape.rank]
    batch_size = next((spec.shape[0] for spec in specs), None)
    sizes = {"window" if tracer.is_window else "time": time}
    return Traced(tracer.graph.content(batch_size=batch_size, **sizes), tracer.graph.layers)


class Tracer:
    """Adds the nodes of layers to a graph while they are called.

    Attributes:
        graph: The Graph.
        time: T of the file; None is any.
        is_window: Whether the model is one of windows.
    """

    def __init__(self, stream: Stream | Window, time: int | None) -> None:
        """Begins with an empty graph."""
        self.graph, self.time = Graph(), time
        self.is_window = isinstance(stream, Window)
        self._stream = stream
        # {reference of a tensor: Value}, {reference: (node, number of an output)} for states after a call.
        self._values: dict[Any, Value] = {}
        self._states: dict[Any, tuple[dict[str, Any], int]] = {}
        self._state_names: dict[Any, str] = {}
        # {reference of an unknown tensor: the layer that made it}
        self._makers: dict[Any, str] = {}
        # {(name of a sequence, number of its masked steps): lengths}, and the mask of the present call.
        self._lengths: dict[tuple[str, float | None], Value] = {}
        self._mask_argument: Any = None
        mask_of(None)  # WHY here: its check calls a layer
        self._inside = False
        self.add = self.graph.add

    def begin(self, arguments: Sequence[Any]) -> None:
        """Names the inputs and the states."""
        stream = self._stream
        for spec, tensor in zip(*map(keras.tree.flatten, (stream.signature, arguments))):
            if spec.name in stream.states:
                self._state_names[tensor.ref()] = spec.name
                continue
            has_time = spec.name in stream.all_sequences
            dims = list(spec.shape[2 if has_time else 1 :])
            if None in dims:
                raise ValueError(
                    f"The input {spec.name!r} must have known sizes, because its second dimension is not that of the steps "
                    f"of the stream, but it has {spec.shape}: give them in keras.Input or input_signature."
                )
            if spec.dtype not in (tf.float32, tf.float64) and spec.dtype not in _LIMITS:
                raise ValueError(
                    f"A stepper cannot run the model, because its input {spec.name!r} is {spec.dtype.name}; float32, "
                    f"float64, bool and integers are possible. {layers.ADVICE}"
                )
            # tokens() makes float ones of Embedding int32.
            dtype = "int32" if spec.dtype in _LIMITS else "float32"
            limits = _LIMITS.get(spec.dtype, _LIMITS[tf.int32])
            self._values[tensor.ref()] = self.graph.add_input(
                spec.name, dtype, has_time, dims, limits
            )

    def end(self, results: Any) -> None:
        """Names the outputs, from the results of the stream."""
        states = {f"{name}{NEXT}" for name in self._stream.states}
        for name, tensor in named(results).items():
            if name in states:
                continue
            if tensor.dtype != tf.float32:
                raise ValueError(
                    f"A stepper cannot compute the output {name!r}, because it is {tensor.dtype.name}, and "
                    "a stepper computes float32."
                )
            value = self.value(tensor, f"the output {name!r}")
            self.graph.outputs.append({"name": name, "value": value.name})
        if not self.graph.outputs:
            raise ValueError(
                f"A stepper cannot run the model, because all of its outputs are states. {layers.ADVICE}"
            )

    def state(self, tensor: tf.Tensor) -> str | None:
        """The name of the state that a tensor is, or None."""
        return self._state_names.get(operations.source(tensor).ref())

    def value(self, tensor: Any, user: str) -> Value:
        """The Value of a tensor.

        Args:
            tensor: The tensor.
            user: The layer or output that needs the tensor, for a message.

        Raises:
            ValueError: A stepper has no node for what made it.
        """
        tensor = operations.source(tensor)
        if (found := self._values.get(tensor.ref())) is not None:
            return found
        if (state := self._state_names.get(tensor.ref())) is not None:
            raise ValueError(
                f"A stepper cannot run {user}, because it reads the input {state!r}, which is a state. {layers.ADVICE}"
            )
        if tensor.ref() in self._states:
            found = self.graph.state_after(*self._states[tensor.ref()])
        elif (maker := self._makers.get(tensor.ref())) is not None:
            try:
                found = self._of_op(tensor, user)
            except ValueError as error:
                raise ValueError(f"A stepper cannot run {maker}. {layers.ADVICE}") from error
        else:
            found = self._of_op(tensor, user)
        self._values[tensor.ref()] = found
        return found

    def tokens(self, tensor: Any, user: str) -> Value:
        """The Value of a tensor of whole numbers, which must be an input: a float one becomes int32."""
        tensor = operations.source(tensor)
        if operations.casts_an_input(tensor.op):
            tensor = tensor.op.inputs[0]  # words are integers in any case
        value = self.value(tensor, user)
        if not self.graph.read_as_tokens(value):
            raise ValueError(
                f"A stepper cannot run {user}, because its input is computed by the model."
            )
        return value

    def _of_op(self, tensor: tf.Tensor, user: str) -> Value:
        """The Value of an operation outside of the layers, such as x + y."""
        op = tensor.op
        computes = op.type in _ACTIVATION_OPS or op.type in layers.COMBINES
        if computes and tensor.dtype != tf.float32:
            raise ValueError(
                f"A stepper cannot run the operation {op.type} ({op.name}), which {user} needs, because it computes in "
                f"{tensor.dtype.name}, and a stepper in float32. {layers.ADVICE}"
            )
        if op.type in _ACTIVATION_OPS:
            x = self.value(op.inputs[0], user)
            fields = {"alpha": 1.0} if op.type == "Elu" else {}
            return self.add(
                "activation",
                op.name,
                [x],
                x.has_time,
                activation=_ACTIVATION_OPS[op.type],
                **fields,
            )
        if (scaled := self._scaled(op, user)) is not None:
            return scaled
        if self.is_window and (part := operations.steps_of(op)) is not None:
            value = self.add(
                part.node, op.name, [self.value(op.inputs[0], user)], False, **part.fields
            )
            dims = list(op.outputs[0].shape[1:])
            return self.add("reshape", f"{op.name}_shape", [value], False, dims=dims)
        if op.type in layers.COMBINES and op.inputs[0].shape == op.inputs[1].shape:
            inputs = [self.value(x, user) for x in op.inputs]
            return self.add(
                "combine",
                op.name,
                inputs,
                inputs[0].has_time,
                function=layers.COMBINES[op.type],
            )
        if op.type == "ConcatV2" and operations.is_last_axis(op):
            inputs = [self.value(x, user) for x in op.inputs[:-1]]
            return self.add("concatenate", op.name, inputs, inputs[0].has_time)
        raise ValueError(
            f"A stepper cannot run the operation {op.type} ({op.name}), which {user} needs: use a layer of Keras for it"
            f"{', such as Rescaling for x * scale + offset' if op.type in _ARITHMETIC else ''}. {layers.ADVICE}"
        )

    def _scaled(self, op: tf.Operation, user: str) -> Value | None:
        """The Value of an operation of a tensor and constants, one number or one for each feature, or None."""
        if (scaling := operations.scaling_of(op)) is None:
            return None
        x = self.value(scaling.x, user)
        rank = scaling.x.shape.rank
        size = scaling.x.shape[-1] if rank > 1 + x.has_time else 1
        weights = {}
        for name in ("scale", "offset"):
            constant = np.asarray(getattr(scaling, name), np.float32)
            of_features = constant.shape[-1:] == (size,) and constant.size == size
            if constant.ndim > rank or not (of_features or constant.size == 1):
                raise ValueError(
                    f"A stepper cannot run the operation {op.type} ({op.name}), which {user} needs, because its constant "
                    f"has the shape {list(constant.shape)}: one number, or one for each of the {size} features, is "
                    f"possible. {layers.ADVICE}"
                )
            weights[name] = np.broadcast_to(constant.reshape(-1), [size])
        return self.add("scale", op.name, [x], x.has_time, weights=weights)

    def run(self, original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        """Calls a layer, and adds its node."""
        if self._inside or isinstance(layer, keras.Model):
            return original(layer, *args, **kwargs)
        if time_axes.is_recurrent(layer):
            run = self._run_window if self.is_window else self._run_recurrent
            return run(original, layer, *args, **kwargs)
        if self.is_window and type(layer) in (keras.layers.Bidirectional, Reversed):
            return self._run_window(original, layer, *args, **kwargs)
        make = layers.maker_of(layer, self.is_window)
        if make is None:
            # Its layers may have nodes of their own.
            result = original(layer, *args, **kwargs)
            for tensor in keras.tree.flatten(result):
                if tf.is_tensor(tensor):
                    kind = type(layer).__name__
                    self._makers.setdefault(
                        operations.source(tensor).ref(), f"the layer {layer.name!r} ({kind})"
                    )
            return result
        self._inside = True
        try:
            result = original(layer, *args, **kwargs)
        finally:
            self._inside = False
        inputs, args, kwargs = _split(layer, args, kwargs)
        # Functional models pass masks on as arguments.
        self._mask_argument = kwargs.pop("mask", None) if self.is_window else None
        layers.check_call(layer, *args, **kwargs)
        layers.check_inputs(layer, inputs)
        self._values[operations.source(result).ref()] = make(self, layer, inputs, result)
        return result

    def _run_recurrent(
        self, original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any
    ) -> Any:
        result, results = self._called(original, layer, *args, **kwargs)
        kind = _kind(layer)
        nodes = _nodes_of(layer)
        inputs, _, kwargs = _split(layer, args, kwargs)
        value = self.value(inputs, kind)
        given = keras.tree.flatten(kwargs.get("initial_state", []))
        states = [name for name in map(self.state, given) if name is not None]
        if not states or len(states) < len(given):
            raise ValueError(
                f"A stepper cannot run the layer {layer.name!r}, because it does not read the steps of the stream. {layers.ADVICE}"
            )
        made: list[tuple[dict[str, Any], int]] = []
        for node in nodes:
            # The states of the cells are in a row.
            names = states[len(made) : len(made) + node.states]
            value, added = self.graph.add_recurrent(layer.name, node, [value], names)
            made += [(added, k) for k in range(1, len(names) + 1)]
        if not layer.return_sequences:
            value = self.add("last_step", f"{layer.name}_last", [value], False)
        self._values[operations.source(results[0]).ref()] = value
        self._states |= {
            operations.source(tensor).ref(): one for tensor, one in zip(results[1:], made)
        }
        return result

    def _called(
        self, original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any
    ) -> tuple[Any, list]:
        """Calls a recurrent layer. The result, and its tensors."""
        layers.check_call(layer)
        self._inside = True
        try:
            result = original(layer, *args, **kwargs)
        finally:
            self._inside = False
        results = keras.tree.flatten(result)
        for tensor in results:
            self._makers.setdefault(operations.source(tensor).ref(), _kind(layer))
        return result, results

    # ---- Windows ----

    def mask(self, layer: keras.layers.Layer, inputs: Any) -> Value | None:
        """The lengths that are the mask of the input of a layer of a window, or None."""
        if not self.is_window:
            return None
        mask = mask_of(inputs) if self._mask_argument is None else self._mask_argument
        return None if mask is None else self._lengths_of(mask, _kind(layer))

    def _lengths_of(self, mask: tf.Tensor, user: str) -> Value | None:
        """The lengths that a tensor of bools [B, T] is the mask of, or None if all steps are valid."""
        op, inputs = operations.source(mask).op, list(operations.source(mask).op.inputs)
        if op.type in ("ExpandDims", "BroadcastTo", "Squeeze"):
            return self._lengths_of(inputs[0], user)
        if op.type == "NotEqual" and mask.shape.rank == 2:
            if tf.get_static_value(inputs[1]) == 0:
                return self.lengths(inputs[0], None, user)
        if op.type == "Any" and inputs[0].op.type == "NotEqual":
            x, number = inputs[0].op.inputs
            return self.lengths(x, float(tf.get_static_value(number)), user)
        if op.type == "Any" and inputs[0].op.type == "ConcatV2":  # of Concatenate
            op, inputs = inputs[0].op, list(inputs[0].op.inputs[:-1])
            if any(map(operations.is_true, inputs)):  # of an input without a mask
                return None
            if not operations.is_last_axis(op):
                raise _several_sequences(user)
        elif op.type not in ("LogicalOr", "LogicalAnd"):
            raise ValueError(
                f"A stepper cannot run {user}, because its mask is computed by the model ({op.type}): Masking, and "
                f"mask_zero of the Embedding of an input, make masks for a stepper. {layers.ADVICE}"
            )
        found = {self._lengths_of(one, user) for one in inputs if not operations.is_false(one)}
        if len(found) > 1:
            raise _several_sequences(user)
        return found.pop()

    def lengths(self, sequence: Any, number: float | None, user: str) -> Value:
        """The lengths of a sequence in which steps of one number are masked, or words of 0 with None."""
        words = number is None
        if not words and not np.isfinite(np.float32(number)):
            raise ValueError(
                f"A stepper cannot run {user}, because its mask_value {number} is not a number of float32. {layers.ADVICE}"
            )
        x = self.tokens(sequence, user) if words else self.value(sequence, user)
        if (found := self._lengths.get((x.name, number))) is None:
            fields = {} if words else {"value": float(np.float32(number))}
            found = self.add("lengths", f"{x.name}_lengths", [x], False, words=words, **fields)
            self._lengths[x.name, number] = found
        return found

    def _run_window(
        self, original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any
    ) -> Any:
        """Calls a recurrent layer or a wrapper of it, which begins with zeros or with given states."""
        result, results = self._called(original, layer, *args, **kwargs)
        options = inspect.signature(layer.call).bind_partial(*args, **kwargs).arguments
        inputs, kind = options.pop("sequences"), _kind(layer)
        for name in options.keys() - {"initial_state", "mask", "training"}:
            if options[name] is not None:
                raise ValueError(
                    f"A stepper cannot run {kind}, because it is called with {name}. {layers.ADVICE}"
                )
        given = keras.tree.flatten([options.get("initial_state")])
        self._mask_argument, mask = options.get("mask"), None
        # Keras passes on the mask of the input of a call that has no other tensors.
        if self._mask_argument is not None or not any(map(tf.is_tensor, given)):
            mask = self.mask(layer, inputs)
        x = self.value(inputs, kind)
        initial = [self.value(tensor, kind) for tensor in given if tensor is not None]
        if isinstance(layer, keras.layers.Bidirectional):
            values, states = self._both(layer, x, initial, mask)
        else:
            is_reversed = isinstance(layer, Reversed)
            one = layer.layer if is_reversed else layer
            value, states = self._one_way(one, x, initial, mask, flips=is_reversed)
            values = [value]
        for tensor, value in zip(results, values):
            self._values[operations.source(tensor).ref()] = value
        for tensor, state in zip(results[len(values) :], states):
            self._states[operations.source(tensor).ref()] = state
        return result

    def _both(
        self,
        layer: keras.layers.Bidirectional,
        x: Value,
        initial: list[Value],
        mask: Value | None,
    ) -> tuple[list[Value], list]:
        """The outputs and the states of a Bidirectional."""
        forward, backward = layer.forward_layer, layer.backward_layer
        if forward.go_backwards or not backward.go_backwards:
            raise ValueError(
                f"A stepper cannot run {_kind(layer)}, because its first layer goes backwards. {layers.ADVICE}"
            )
        half = len(initial) // 2
        y, states = self._one_way(forward, x, initial[:half], mask)
        z, more = self._one_way(backward, x, initial[half:], mask, flips=True)
        if layer.merge_mode is None:
            return [y, z], [*states, *more]
        if layer.merge_mode == "concat":
            both = self.add("concatenate", layer.name, [y, z], False)
        else:
            function = {"sum": "add", "ave": "average", "mul": "multiply"}[layer.merge_mode]
            both = self.add("combine", layer.name, [y, z], False, function=function)
        return [both], [*states, *more]

    def _one_way(
        self,
        layer: keras.layers.Layer,
        x: Value,
        initial: list[Value],
        mask: Value | None,
        flips: bool = False,
    ) -> tuple[Value, list[tuple[dict[str, Any], int]]]:
        """The output and the states of a recurrent layer of a window.

        Args:
            layer: The layer.
            x: Its input.
            initial: Its initial states; none are zeros.
            mask: Its mask, or None.
            flips: Whether the output of a layer with go_backwards is in the order of the input.
        """
        is_stack, kind = isinstance(layer, CudnnStack), _kind(layer)
        reason = ""
        if has_own_call(layer):
            reason = f"its class {type(layer).__name__} has a method `call` of its own"
        elif getattr(layer, "time_major", False):
            reason = "its time comes before the batch (time_major=True)"
        elif mask is not None and layer.go_backwards and layer.return_sequences and not flips:
            reason = "it returns sequences backwards, and has a mask"
        if reason:
            raise ValueError(f"A stepper cannot run {kind}, because {reason}. {layers.ADVICE}")
        lengths = [] if mask is None else [mask]

        def add(op: str, value: Value, **fields: Any) -> Value:
            known = {"lengths": True} if lengths else {}
            return self.add(op, f"{layer.name}_{op}", [value, *lengths], False, **known, **fields)

        value = add("reverse", x) if layer.go_backwards else x
        made: list[tuple[dict[str, Any], int]] = []
        for node in _nodes_of(layer):
            begin = initial[len(made) : len(made) + node.states]
            value, added = self.graph.add_recurrent(layer.name, node, [value, *begin], [], mask)
            made += [(added, k) for k in range(1, node.states + 1)]
        if not layer.return_sequences:
            if is_stack:
                return self._last(layer, made), made
            if layer.zero_output_for_mask and not layer.go_backwards:
                lengths = []  # Keras returns the output of step T - 1, which is 0 if it is masked
            return add("last_step", value), made
        if layer.go_backwards and flips:
            value = add("reverse", value)
        if lengths and not is_stack and not layer.zero_output_for_mask:
            value = add("mask", value, hold=True)  # layers of Keras repeat the last valid step
        return value, made

    def _last(self, stack: CudnnStack, made: list) -> Value:
        """The final h of the last layer of a stack, in all its directions."""
        directions = 2 if stack.direction == "bidirectional" else 1
        state = self.graph.state_after(*made[0])
        begin, name = directions * (int(stack.num_layers) - 1), f"{stack.name}_last"
        last = self.add("crop", name, [state], False, begin=begin, count=directions)
        return self.add("reshape", name, [last], False, dims=[directions * _size_of_state(stack)])


def _kind(layer: keras.layers.Layer) -> str:
    return f"the layer {layer.name!r} ({type(layer).__name__})"


def _nodes_of(layer: keras.layers.Layer) -> list[recurrent.Recurrent]:
    nodes, reason = recurrent.nodes_of(layer)
    if not nodes:
        raise ValueError(
            f"A stepper cannot run {_kind(layer)}, because it runs Keras's implementation: {reason}. {layers.ADVICE}"
        )
    return nodes


def _size_of_state(stack: CudnnStack) -> int:
    return int(stack.num_proj or stack.units)


def _split(
    layer: keras.layers.Layer, args: tuple, kwargs: dict[str, Any]
) -> tuple[Any, tuple, dict[str, Any]]:
    """The input of a call of a layer, and its other arguments."""
    if args:
        return args[0], args[1:], kwargs
    first = next(iter(inspect.signature(layer.call).parameters))
    return kwargs[first], (), {name: value for name, value in kwargs.items() if name != first}


def _several_sequences(user: str) -> ValueError:
    return ValueError(
        f"A stepper cannot run {user}, because its mask is that of several sequences. {layers.ADVICE}"
    )
