"""The graph of a model, layer by layer, for tf_rnn_ops.stepper."""

from __future__ import annotations

import inspect
from typing import Any, Callable, NamedTuple, Sequence

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops._step import file_format
from tf_rnn_ops.keras._export import time_axes
from tf_rnn_ops.keras._export.outputs import named
from tf_rnn_ops.keras._export.stepper import layers
from tf_rnn_ops.keras._export.stepper.values import Value
from tf_rnn_ops.keras._export.streaming.stream import NEXT, Stream

_PREFIX = "TfRnnOps>"
# BlockLSTMV2 as LayerRNN: the attributes that it does not have.
_OF_BLOCK_LSTM = {
    **{"rnn_mode": "lstm", "activation": "tanh", "recurrent_activation": "sigmoid"},
    **{"proj_clip": 0.0, "zoneout_h": 0.0, "zoneout_c": 0.0, "layer_norm_epsilon": 1e-3},
}
# {op: the op of the file with the same attributes and weights}.
_KINDS = {
    "LayerRNN": "LayerRNN",
    "LayerRNNPacked": "LayerRNN",
    "QuantizedLayerRNN": "QuantizedLayerRNN",
    "CudnnRNNV3": "CudnnRNNV3",
    "CudnnRNNV3Packed": "CudnnRNNV3",
    "BlockLSTMV2": "LayerRNN",
}
# The inputs of these ops that are not weights.
_NOT_WEIGHTS = ("input_h", "input_c", "input", "sequence_lengths", "packed", "seed", "input_mask")
_UNUSED = ("T", "is_training", "time_major", "dropout", "seed", "seed2")
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


class Graph:
    """The graph of a model.

    Attributes:
        nodes: A list with the nodes of the file.
        layers: A list of (name of a recurrent layer, its op).
        content: The content of the file.
        time: T of the file; None is any.
    """

    def __init__(self, stream: Stream, time: int | None) -> None:
        """Traces a stream. `time`: T of the file, or None."""
        self._stream, self.time = stream, time
        self.nodes: list[dict[str, Any]] = []
        self._arrays: dict[str, np.ndarray] = {}
        # Weights that are known when the traced function runs: {name: tensor}.
        self._computed: dict[str, tf.Tensor] = {}
        # {reference of a tensor: Value}, {reference: (node, number of an output)} for states after a call.
        self._values: dict[Any, Value] = {}
        self._states: dict[Any, tuple[dict[str, Any], int]] = {}
        self._state_names: dict[Any, str] = {}
        self._makers: dict[
            Any, str
        ] = {}  # {reference of an unknown tensor: the layer that made it}
        self._inside = False
        self._names: set[str] = set()
        self._limits: dict[str, tuple[int, int]] = {}  # {input: its smallest and largest integer}
        self.layers: list[tuple[str, str]] = []
        self.content = self._traced()

    def _traced(self) -> bytes:
        signature = self._stream.signature
        outputs: list[dict[str, str]] = []

        def trace(*arguments: Any) -> dict[str, tf.Tensor]:
            self._begin(arguments)
            self._stream.observe = self._run
            results = self._stream.function(*arguments)
            states = {f"{name}{NEXT}" for name in self._stream.states}
            for name, tensor in named(results).items():
                if name not in states:
                    if tensor.dtype != tf.float32:
                        raise ValueError(
                            f"A stepper cannot compute the output {name!r}, because it is {tensor.dtype.name}, and "
                            "a stepper computes float32."
                        )
                    value = self.value(tensor, f"the output {name!r}")
                    outputs.append({"name": name, "value": value.name})
            return dict(self._computed)

        function = tf.function(trace, autograph=False).get_concrete_function(*signature)
        if not outputs:
            raise ValueError(
                f"A stepper cannot run the model, because all of its outputs are states. {layers.ADVICE}"
            )
        weights = function(*keras.tree.map_structure(_zeros, signature))
        self._arrays |= {name: tensor.numpy() for name, tensor in weights.items()}
        self._cast(outputs)
        graph = {**self._sizes(), "inputs": self._inputs, "nodes": self.nodes, "outputs": outputs}
        return file_format.content(graph, self._arrays)

    def _cast(self, outputs: list[dict[str, str]]) -> None:
        """Adds the nodes of int32 inputs that are read as float32."""
        casts = []
        for name in [one["name"] for one in self._inputs if one["dtype"] == "int32"]:
            users = [node for node in self.nodes if node["op"] != "embedding"]
            lists = [node["inputs"] for node in users if name in node["inputs"]]
            if not lists and all(output["value"] != name for output in outputs):
                continue
            cast = self.name_for(f"{name}_float")
            for inputs in lists:
                inputs[:] = [cast if one == name else one for one in inputs]
            for output in outputs:
                output["value"] = cast if output["value"] == name else output["value"]
            smallest, largest = self._limits[name]
            node = {"op": "cast", "name": name, "inputs": [name], "outputs": [cast]}
            casts.append({**node, "smallest": smallest, "largest": largest})
        self.nodes[:0] = casts

    def _sizes(self) -> dict[str, int | None]:
        """The sizes that every stepper of the file has; None if it may have any."""
        specs = [spec for spec in keras.tree.flatten(self._stream.signature) if spec.shape.rank]
        batch = next((spec.shape[0] for spec in specs), None)
        return {"batch_size": batch, "time": self.time}

    def _begin(self, arguments: Sequence[Any]) -> None:
        """Names the inputs and the states."""
        self._inputs = []
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
            self._inputs.append(
                {"name": spec.name, "dtype": dtype, "has_time": has_time, "dims": dims}
            )
            self._limits[spec.name] = _LIMITS[spec.dtype if dtype == "int32" else tf.int32]
            self._names.add(spec.name)
            self._values[tensor.ref()] = Value(spec.name, has_time)

    def name_for(self, wanted: str) -> str:
        """A name that no other value has."""
        name, k = wanted, 1
        while name in self._names:
            name, k = f"{wanted}_{k}", k + 1
        self._names.add(name)
        return name

    def add(
        self, op: str, layer: str, inputs: Sequence[Value], has_time: bool, **fields: Any
    ) -> Value:
        """Adds a node with one output.

        Args:
            op: The op of the file.
            layer: The name of the layer.
            inputs: The inputs.
            has_time: Whether the output has time.
            **fields: The fields of the node, and `weights`, {name: array}.
        """
        name = self.name_for(layer)
        weights = {
            key: self._store(f"{name}/{key}", a) for key, a in fields.pop("weights", {}).items()
        }
        node = {"op": op, "name": layer, "inputs": [value.name for value in inputs]}
        self.nodes.append({**node, "outputs": [name], "weights": weights, **fields})
        return Value(name, has_time)

    def _store(self, name: str, array: Any) -> str:
        array = np.asarray(array)
        self._arrays[name] = array if array.dtype == np.int8 else array.astype(np.float32)
        return name

    def state(self, tensor: tf.Tensor) -> str | None:
        """The name of the state that a tensor is, or None."""
        return self._state_names.get(_source(tensor).ref())

    def value(self, tensor: Any, user: str) -> Value:
        """The Value of a tensor.

        Args:
            tensor: The tensor.
            user: The layer or output that needs the tensor, for a message.

        Raises:
            ValueError: A stepper has no node for what made it.
        """
        tensor = _source(tensor)
        if (found := self._values.get(tensor.ref())) is not None:
            return found
        if (state := self._state_names.get(tensor.ref())) is not None:
            raise ValueError(
                f"A stepper cannot run {user}, because it reads the input {state!r}, which is a state. {layers.ADVICE}"
            )
        if tensor.ref() in self._states:
            node, k = self._states[tensor.ref()]
            node["outputs"] += [""] * (k + 1 - len(node["outputs"]))
            node["outputs"][k] = self.name_for(f"{node['name']}_state_{k}")
            found = Value(node["outputs"][k], False)
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
        tensor = _source(tensor)
        if _casts_an_input(tensor.op):
            tensor = tensor.op.inputs[0]  # words are integers in any case
        value = self.value(tensor, user)
        own = [one for one in self._inputs if one["name"] == value.name]
        if not own:
            raise ValueError(
                f"A stepper cannot run {user}, because its input is computed by the model."
            )
        own[0]["dtype"] = "int32"
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
        if op.type in layers.COMBINES and op.inputs[0].shape == op.inputs[1].shape:
            inputs = [self.value(x, user) for x in op.inputs]
            return self.add(
                "combine",
                op.name,
                inputs,
                inputs[0].has_time,
                function=layers.COMBINES[op.type],
            )
        if op.type == "ConcatV2" and _is_last_axis(op):
            inputs = [self.value(x, user) for x in op.inputs[:-1]]
            return self.add("concatenate", op.name, inputs, inputs[0].has_time)
        raise ValueError(
            f"A stepper cannot run the operation {op.type} ({op.name}), which {user} needs: use a layer of Keras for it"
            f"{', such as Rescaling for x * scale + offset' if op.type in _ARITHMETIC else ''}. {layers.ADVICE}"
        )

    def _scaled(self, op: tf.Operation, user: str) -> Value | None:
        """The Value of an operation of a tensor and constants, one number or one for each feature, or None."""
        if (scaling := _scaling_of(op)) is None:
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

    def _run(self, original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        """Calls a layer, and adds its node."""
        if self._inside or isinstance(layer, keras.Model):
            return original(layer, *args, **kwargs)
        if time_axes.is_recurrent(layer):
            return self._run_recurrent(original, layer, *args, **kwargs)
        make = layers.maker_of(layer)
        if make is None:
            # Its layers may have nodes of their own.
            result = original(layer, *args, **kwargs)
            for tensor in keras.tree.flatten(result):
                if tf.is_tensor(tensor):
                    kind = type(layer).__name__
                    self._makers.setdefault(
                        _source(tensor).ref(), f"the layer {layer.name!r} ({kind})"
                    )
            return result
        self._inside = True
        try:
            result = original(layer, *args, **kwargs)
        finally:
            self._inside = False
        inputs, args, kwargs = _split(layer, args, kwargs)
        layers.check_call(layer, *args, **kwargs)
        layers.check_inputs(layer, inputs)
        self._values[_source(result).ref()] = make(self, layer, inputs, result)
        return result

    def _run_recurrent(
        self, original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any
    ) -> Any:
        layers.check_call(layer)
        graph = tf.compat.v1.get_default_graph()
        before = len(graph.get_operations())
        self._inside = True
        try:
            result = original(layer, *args, **kwargs)
        finally:
            self._inside = False
        kind = f"the layer {layer.name!r} ({type(layer).__name__})"
        ops = [
            op for op in graph.get_operations()[before:] if op.type.removeprefix(_PREFIX) in _KINDS
        ]
        results = keras.tree.flatten(result)
        for tensor in results:
            self._makers.setdefault(_source(tensor).ref(), kind)
        inputs, _, kwargs = _split(layer, args, kwargs)
        value = self.value(inputs, kind)
        states = [
            self.state(state) for state in keras.tree.flatten(kwargs.get("initial_state", []))
        ]
        made: list[tuple[dict[str, Any], int]] = []
        for k, op in enumerate(ops):
            if k and _before(op) is not ops[k - 1]:
                raise ValueError(
                    f"A stepper cannot run {kind}, because its cells are not in a row. {layers.ADVICE}"
                )
            # The states of the cells are in a row.
            node, value = self._add_recurrent(layer, op, value, states[len(made) :])
            made += [(node, j) for j in range(1, len(node["states"]) + 1)]
        if not ops or len(made) != len(states):
            raise ValueError(
                f"A stepper cannot run {kind}, because it runs Keras's implementation: explain(model) tells why. {layers.ADVICE}"
            )
        if not layer.return_sequences:
            value = self.add("last_step", f"{layer.name}_last", [value], False)
        self._values[_source(results[0]).ref()] = value
        self._states |= {_source(tensor).ref(): one for tensor, one in zip(results[1:], made)}
        return result

    def _add_recurrent(
        self, layer: keras.layers.Layer, op: tf.Operation, x: Value, states: list[str | None]
    ) -> tuple[dict[str, Any], Value]:
        """Adds the node of an op, whose states are the first ones of `states`."""
        kind = op.type.removeprefix(_PREFIX)
        name = self.name_for(layer.name)
        inputs = _inputs_of(op)
        attrs = {attr.name: _attribute(op.get_attr(attr.name)) for attr in op.op_def.attr}
        if kind == "BlockLSTMV2":
            inputs, attrs = _of_block_lstm(inputs, attrs)
        states = states[: 2 if attrs["rnn_mode"] == "lstm" else 1]
        if not states or None in states:
            raise ValueError(
                f"A stepper cannot run the layer {layer.name!r}, because it does not read the steps of the stream. {layers.ADVICE}"
            )
        node: dict[str, Any] = {"op": "rnn", "name": layer.name, "kind": _KINDS[kind]}
        node |= {"inputs": [x.name], "outputs": [name], "states": states}
        node["attrs"] = {key: value for key, value in attrs.items() if key not in _UNUSED}
        if "params" in inputs:
            directions = 2 if attrs["direction"] == "bidirectional" else 1
            node |= {"num_layers": int(inputs["input_h"].shape[1]) // directions}
            node |= {"num_units": int(layer.units)}
        node["weights"] = {
            key: f"{name}/{key}"
            for key, tensor in inputs.items()
            if key not in _NOT_WEIGHTS and tensor.shape != [0]
        }
        for key, stored in node["weights"].items():
            self._computed[stored] = tf.identity(inputs[key])
        self.nodes.append(node)
        self.layers.append((layer.name, kind))
        return node, Value(name, True)


def _of_block_lstm(
    inputs: dict[str, tf.Tensor], attrs: dict[str, Any]
) -> tuple[dict[str, tf.Tensor], dict[str, Any]]:
    """The weights and attributes of LayerRNN for those of BlockLSTMV2, which has the same order of gates."""
    input_size = inputs["x"].shape[-1]
    weights = {
        "kernel": inputs["w"][:input_size],
        "recurrent_kernel": inputs["w"][input_size:],
        "bias": inputs["b"],
    }
    if attrs["use_peephole"]:
        weights["peepholes"] = tf.stack([inputs["wci"], inputs["wcf"], inputs["wco"]])
    return weights, {**_OF_BLOCK_LSTM, "cell_clip": max(0.0, attrs["cell_clip"])}


def _inputs_of(op: tf.Operation) -> dict[str, tf.Tensor]:
    return {arg.name: tensor for arg, tensor in zip(op.op_def.input_arg, op.inputs)}


def _before(op: tf.Operation) -> tf.Operation:
    """The op whose output an op reads as its sequences."""
    inputs = _inputs_of(op)
    tensor = _source(inputs["x"] if "x" in inputs else inputs["input"])
    while tensor.op.type == "Transpose":
        tensor = _source(tensor.op.inputs[0])
    return tensor.op


def _split(
    layer: keras.layers.Layer, args: tuple, kwargs: dict[str, Any]
) -> tuple[Any, tuple, dict[str, Any]]:
    """The input of a call of a layer, and its other arguments."""
    if args:
        return args[0], args[1:], kwargs
    first = next(iter(inspect.signature(layer.call).parameters))
    return kwargs[first], (), {name: value for name, value in kwargs.items() if name != first}


class _Scaling(NamedTuple):
    """x * scale + offset."""

    x: tf.Tensor
    scale: Any
    offset: Any


def _scaling_of(op: tf.Operation) -> _Scaling | None:
    """The _Scaling that an operation of a tensor and a constant computes, such as 1 - x or x / 3, or None."""
    if op.outputs[0].dtype != tf.float32:
        return None
    if op.type == "Neg":
        return _Scaling(op.inputs[0], -1.0, 0.0)
    is_bias = op.type == "BiasAdd" and op.get_attr("data_format") == b"NHWC"
    if op.type not in ("AddV2", "Sub", "Mul", "RealDiv") and not is_bias:
        return None
    x, c = op.inputs[0], _constant(op.inputs[1])
    of_constant = c is None  # whether the constant comes first
    if of_constant:
        x, c = op.inputs[1], _constant(op.inputs[0])
    if c is None or _constant(x) is not None:
        return None
    if is_bias or op.type == "AddV2":
        return _Scaling(x, 1.0, c)
    if op.type == "Sub":
        return _Scaling(x, -1.0, c) if of_constant else _Scaling(x, 1.0, -c)
    if op.type == "Mul":
        return _Scaling(x, c, 0.0)
    return None if of_constant or not np.all(c) else _Scaling(x, 1.0 / c, 0.0)


def _constant(tensor: tf.Tensor) -> np.ndarray | None:
    """The numbers of a constant, which Keras squeezes for BiasAdd, or None."""
    if tensor.op.type == "Squeeze":
        value = tf.get_static_value(tensor.op.inputs[0])
        return None if value is None else value.reshape(tensor.shape)
    return tf.get_static_value(tensor)


def _attribute(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _is_last_axis(op: tf.Operation) -> bool:
    axis = tf.get_static_value(op.inputs[-1])
    rank = op.outputs[0].shape.rank
    return axis is not None and int(axis) in (-1, rank - 1) and rank > 1


def _zeros(spec: tf.TensorSpec) -> tf.Tensor:
    return tf.zeros([1 if size is None else size for size in spec.shape], spec.dtype)


def _source(tensor: Any) -> tf.Tensor:
    """The tensor behind copies, and casts that change no number."""
    while tensor.op.type in ("Identity", "StopGradient", "EnsureShape") or _keeps_numbers(
        tensor.op
    ):
        tensor = tensor.op.inputs[0]
    return tensor


def _casts_an_input(op: tf.Operation) -> bool:
    """Whether an operation makes integers of an input of floats."""
    is_cast = op.type == "Cast" and op.inputs[0].op.type == "Placeholder"
    return is_cast and op.inputs[0].dtype.is_floating and op.outputs[0].dtype.is_integer


def _keeps_numbers(op: tf.Operation) -> bool:
    if op.type != "Cast":
        return False
    before, after = op.inputs[0].dtype, op.outputs[0].dtype
    if before.is_integer and after == tf.int32:
        # A stepper checks the range of an input.
        return before.size < 4 or op.inputs[0].op.type == "Placeholder"
    if (before, after) == (tf.float64, tf.float32):
        return op.inputs[0].op.type == "Placeholder"  # a stepper casts an input
    return before == after or ((before.is_integer or before.is_bool) and after.is_floating)
