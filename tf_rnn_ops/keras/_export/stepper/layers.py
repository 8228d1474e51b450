"""The layers that a stepper has nodes for, besides recurrent layers: from a layer of Keras to nodes of the file."""

from typing import Any, Callable

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops.keras._export.stepper.values import Nodes, Value

_Maker = Callable[[Nodes, keras.layers.Layer, Any, Any], Value]

ADVICE = (
    "export(model, folder) writes other models as a SavedModel, with streaming=True if the model streams, and most "
    "models for ONNX Runtime, LiteRT and OpenVINO too."
)
# {function of keras.activations: (activation of the file, its fields)}.
_ACTIVATIONS: dict[str, tuple[str, dict[str, float]]] = {
    **{name: (name, {}) for name in ("relu", "tanh", "sigmoid", "hard_sigmoid", "exponential")},
    **{name: (name, {}) for name in ("softplus", "softsign", "selu", "silu", "hard_silu", "mish")},
    **{name: (name, {}) for name in ("softmax", "log_softmax")},
    "relu6": ("relu", {"largest": 6.0}),
    "elu": ("elu", {"alpha": 1.0}),
    "leaky_relu": ("relu", {"alpha": 0.2}),
    "gelu": ("gelu", {}),
}
# Layers that change nothing in inference.
_IDENTITIES = (
    *("Dropout", "SpatialDropout1D", "GaussianNoise", "GaussianDropout", "AlphaDropout"),
    *("ActivityRegularization", "Identity", "InputLayer"),
)
# Layers that copy their inputs, or cast them to float32 before they compute.
_OF_ANY_DTYPE = (
    *_IDENTITIES,
    *("BatchNormalization", "Concatenate", "Dense", "Embedding", "Flatten", "Normalization"),
    *("Rescaling", "Reshape", "TimeDistributed"),
)
# {layer of Keras or op of TensorFlow: the function of a node "combine"}.
COMBINES = {
    **{"Add": "add", "Subtract": "subtract", "Multiply": "multiply"},
    **{"AddV2": "add", "Sub": "subtract", "Mul": "multiply"},
    **{"Average": "average", "Maximum": "maximum", "Minimum": "minimum"},
}


def maker_of(layer: keras.layers.Layer, is_window: bool) -> _Maker | None:
    """The function that adds the nodes of a layer to a graph, of windows or of a stream, and returns its output, or None.

    A class of a user is not one of Keras's, since its method `call` may do anything.
    """
    kind = type(layer)
    if not kind.__module__.startswith("keras."):
        return None
    if kind.__name__ in _IDENTITIES:
        return _identity
    if kind.__name__ in COMBINES:
        return _combine
    if is_window and kind.__name__ in _OF_WINDOWS:
        return _OF_WINDOWS[kind.__name__]
    return _MAKERS.get(kind.__name__)


def _input(graph: Nodes, layer: keras.layers.Layer, tensor: Any) -> Value:
    return graph.value(tensor, f"the layer {layer.name!r}")


def _refuse(layer: keras.layers.Layer, reason: str) -> ValueError:
    return ValueError(f"A stepper cannot run the layer {layer.name!r}, because {reason}. {ADVICE}")


def check_call(layer: keras.layers.Layer, *others: Any, **arguments: Any) -> None:
    """Raises ValueError unless a stepper computes a layer in its type, with the other arguments of a call."""
    if layer.compute_dtype != "float32":
        raise _refuse(layer, f"it computes in {layer.compute_dtype}, and a stepper in float32")
    for name, value in [*(("argument", value) for value in others), *arguments.items()]:
        if value is not None and value is not False:
            raise _refuse(layer, f"it is called with another {name} than its input")


def check_inputs(layer: keras.layers.Layer, inputs: Any) -> None:
    """Raises ValueError if a layer computes in the dtype of its inputs, and that is not float32."""
    kind = type(layer).__name__
    if kind in _OF_ANY_DTYPE or getattr(layer, "activation", None) is keras.activations.linear:
        return
    dtypes = [tensor.dtype for tensor in keras.tree.flatten(inputs)]
    if kind in COMBINES:  # Keras combines the first two inputs, and then each further one
        dtypes = [tf.as_dtype(keras.backend.result_type(*(dtype.name for dtype in dtypes[:2])))]
    for dtype in dtypes:
        if not (dtype == tf.float32 or (dtype.is_floating and layer.autocast)):
            raise _refuse(
                layer,
                f"it computes in {dtype.name}, the type of its input, and a stepper in float32: cast the input first, "
                "such as by a Rescaling",
            )


def _array(layer: keras.layers.Layer, name: str) -> np.ndarray:
    with tf.init_scope():  # the model is being traced, and LoRA computes the weights
        return keras.ops.convert_to_numpy(getattr(layer, name)).astype(np.float32)


def _identity(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    return _input(graph, layer, inputs)


def _combine(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    values = [_input(graph, layer, tensor) for tensor in inputs]
    if type(layer).__name__ in ("Maximum", "Minimum"):
        for tensor in inputs:  # masked steps do not count
            _check_unmasked(graph, layer, tensor)
    if any(tensor.shape != inputs[0].shape for tensor in inputs):
        raise _refuse(layer, f"its inputs have the shapes {[list(t.shape) for t in inputs]}")
    function = COMBINES[type(layer).__name__]
    return graph.add("combine", layer.name, values, values[0].has_time, function=function)


def _concatenate(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    values = [_input(graph, layer, tensor) for tensor in inputs]
    if layer.axis not in (-1, result.shape.rank - 1):
        if graph.is_window and 0 < layer.axis % result.shape.rank:
            return _concatenate_steps(graph, layer, inputs, values, result)
        raise _refuse(layer, f"it joins axis {layer.axis}; axis=-1 is possible")
    return graph.add("concatenate", layer.name, values, values[0].has_time)


def _activated(graph: Nodes, layer: keras.layers.Layer, value: Value, function: Any) -> Value:
    """Adds the node of an activation, a function of keras.activations."""
    name = getattr(function, "__name__", type(function).__name__)
    known = getattr(keras.activations, name, None) is function
    if name == "linear" and known:
        return value
    if not known or name not in _ACTIVATIONS:
        raise _refuse(
            layer, f"its activation is {name!r}; {', '.join(sorted(_ACTIVATIONS))} are possible"
        )
    activation, fields = _ACTIVATIONS[name]
    return graph.add(
        "activation",
        f"{layer.name}_{name}",
        [value],
        value.has_time,
        activation=activation,
        **fields,
    )


def _activation(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    return _activated(graph, layer, _input(graph, layer, inputs), layer.activation)


def _relu(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    value = _input(graph, layer, inputs)
    fields = {
        "alpha": float(layer.negative_slope),
        "threshold": float(getattr(layer, "threshold", 0)),
    }
    if getattr(layer, "max_value", None) not in (None, np.inf):
        fields["largest"] = float(layer.max_value)
    return graph.add("activation", layer.name, [value], value.has_time, activation="relu", **fields)


def _elu(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    value = _input(graph, layer, inputs)
    alpha = float(layer.alpha)
    return graph.add(
        "activation", layer.name, [value], value.has_time, activation="elu", alpha=alpha
    )


def _softmax(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    _check_last_axis(layer, result)
    value = _input(graph, layer, inputs)
    return graph.add("activation", layer.name, [value], value.has_time, activation="softmax")


def _softmax_unmasked(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    _check_unmasked(graph, layer, inputs)
    return _softmax(graph, layer, inputs, result)


def _check_unmasked(graph: Nodes, layer: keras.layers.Layer, inputs: Any) -> None:
    if graph.mask(layer, inputs) is not None:
        raise _refuse(layer, "it has a mask")


def _check_last_axis(layer: keras.layers.Layer, result: Any) -> None:
    axes = layer.axis if isinstance(layer.axis, (list, tuple)) else [layer.axis]
    if list(axes) not in ([-1], [result.shape.rank - 1]):
        raise _refuse(layer, f"it has axis={layer.axis}; axis=-1 is possible")


def _dense(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    value = _input(graph, layer, inputs)
    op, fields, weights = "dense", {}, {"kernel": _array(layer, "kernel")}
    if _is_int8(layer):
        scale = _array(layer, "kernel_scale")
        if (quantizer := layer.inputs_quantizer) is None:
            weights["kernel"] = weights["kernel"] / scale
        else:
            _check_quantizer(layer, quantizer)
            if not inputs.dtype.is_floating:
                raise _refuse(
                    layer, f"Keras quantizes its input, of {inputs.dtype.name}, in integers"
                )
            op, fields = "quantized_dense", {"epsilon": float(quantizer.epsilon)}
            weights = {"kernel": weights["kernel"].astype(np.int8), "kernel_scale": scale}
    if layer.use_bias:
        weights["bias"] = _array(layer, "bias")
    product = graph.add(op, layer.name, [value], value.has_time, weights=weights, **fields)
    return _activated(graph, layer, product, layer.activation)


def _is_int8(layer: keras.layers.Layer) -> bool:
    """Whether the weights of a layer are int8, by Keras's quantize(). Raises ValueError for other quantized weights."""
    mode = getattr(layer, "quantization_mode", None)
    if mode not in (None, "int8"):
        raise _refuse(layer, f"its weights are quantized as {mode}; int8 is possible")
    if mode is not None and layer.lora_enabled:
        raise _refuse(layer, "it has LoRA besides int8 weights")
    return mode is not None


def _check_quantizer(layer: keras.layers.Layer, quantizer: Any) -> None:
    """Raises ValueError unless a stepper quantizes the inputs of a Dense as its quantizer does."""
    usual = keras.quantizers.AbsMaxQuantizer()
    if type(quantizer) is not type(usual) or any(
        getattr(quantizer, name) != getattr(usual, name) for name in ("value_range", "output_dtype")
    ):
        raise _refuse(layer, "its inputs have another quantizer than AbsMaxQuantizer()")


def _conv(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    states, tensor = [], inputs
    if inputs.op.type == "ConcatV2" and (state := graph.state(inputs.op.inputs[0])) is not None:
        states, tensor = [state], inputs.op.inputs[1]
    value = _input(graph, layer, tensor)
    if not value.has_time or (layer.kernel_size[0] > 1 and not states):
        raise _refuse(layer, "it has no memory of the steps before: padding='causal' gives it one")
    weights = {"kernel": _array(layer, "kernel")}
    if layer.use_bias:
        weights["bias"] = _array(layer, "bias")
    fields = {
        "dilation": int(layer.dilation_rate[0]),
        "groups": int(layer.groups),
        "states": states,
    }
    product = graph.add("conv", layer.name, [value], True, weights=weights, **fields)
    return _activated(graph, layer, product, layer.activation)


def _batch_norm(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    _check_last_axis(layer, result)
    value = _input(graph, layer, inputs)
    factor = 1 / np.sqrt(_array(layer, "moving_variance") + np.float32(layer.epsilon))
    if layer.scale:
        factor = factor * _array(layer, "gamma")
    offset = -_array(layer, "moving_mean") * factor
    if layer.center:
        offset = offset + _array(layer, "beta")
    weights = {"scale": factor, "offset": offset}
    return graph.add("scale", layer.name, [value], value.has_time, weights=weights)


def _layer_norm(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    if getattr(layer, "rms_scaling", False):
        raise _refuse(layer, "it has rms_scaling=True; RMSNormalization is possible")
    size = result.shape[-1]
    weights = {
        "scale": _array(layer, "gamma") if layer.scale else np.ones(size),
        "offset": _array(layer, "beta") if layer.center else np.zeros(size),
    }
    return _norm(graph, layer, inputs, result, weights, centered=True)


def _rms_norm(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    weights = {"scale": _array(layer, "scale"), "offset": np.zeros(result.shape[-1])}
    return _norm(graph, layer, inputs, result, weights, centered=False)


def _norm(
    graph: Nodes,
    layer: keras.layers.Layer,
    inputs: Any,
    result: Any,
    weights: dict[str, np.ndarray],
    centered: bool,
) -> Value:
    _check_last_axis(layer, result)
    value = _input(graph, layer, inputs)
    fields = {"epsilon": float(layer.epsilon), "centered": centered}
    return graph.add("norm", layer.name, [value], value.has_time, weights=weights, **fields)


def _rescaling(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    value = _input(graph, layer, inputs)
    # One number a step has no features.
    size = 1 if value.has_time and result.shape.rank == 2 else result.shape[-1]
    numbers = {"scale": np.float32(layer.scale), "offset": np.float32(layer.offset)}
    if any(number.ndim > 1 or number.size not in (1, size) for number in numbers.values()):
        raise _refuse(layer, "its scale or offset is not a number or one for each feature")
    weights = {name: np.broadcast_to(number, [size]) for name, number in numbers.items()}
    return graph.add("scale", layer.name, [value], value.has_time, weights=weights)


def _normalization(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    value = _input(graph, layer, inputs)
    if layer.invert:
        raise _refuse(layer, "it has invert=True")
    size = 1 if value.has_time and result.shape.rank == 2 else result.shape[-1]
    mean, variance = _array(layer, "mean"), _array(layer, "variance")
    if mean.size != 1 and (mean.size, mean.shape[-1]) != (size, size):
        raise _refuse(layer, f"it has axis={layer.axis}; axis=-1 and axis=None are possible")
    factor = 1 / np.maximum(np.sqrt(variance), np.float32(keras.config.epsilon()))
    # Two nodes, because x * factor - mean * factor would cancel digits.
    for scale, offset in ((1, -mean), (factor, 0)):
        numbers = {"scale": scale, "offset": offset}
        weights = {name: np.broadcast_to(np.ravel(one), [size]) for name, one in numbers.items()}
        value = graph.add("scale", layer.name, [value], value.has_time, weights=weights)
    return value


def _embedding(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    value = graph.tokens(inputs, f"the layer {layer.name!r}")
    weights = {"table": _array(layer, "embeddings")}
    if _is_int8(layer):
        table = weights["table"].astype(np.int8)
        weights = {"table": table, "scale": _array(layer, "embeddings_scale")}
    return graph.add("embedding", layer.name, [value], value.has_time, weights=weights)


def _reshape(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    value = _input(graph, layer, inputs)
    target = getattr(layer, "target_shape", (-1,))
    if value.has_time and graph.time is None and target[:1] not in ((), (-1,)):
        raise _refuse(layer, f"its target shape {target} has a number of steps: use -1")
    first = 2 if value.has_time else 1
    dims = list(result.shape[first:])
    if inputs.shape[:first].as_list() != result.shape[:first].as_list() or None in dims:
        raise _refuse(
            layer,
            f"it changes the shape from {list(inputs.shape)} to {list(result.shape)}, with the steps of a call",
        )
    return graph.add("reshape", layer.name, [value], value.has_time, dims=dims)


def _flatten(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    if layer.data_format == "channels_first" and inputs.shape.rank > 2:
        raise _refuse(layer, "it has data_format='channels_first'")
    return _reshape(graph, layer, inputs, result)


def _time_distributed(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    make = maker_of(layer.layer, graph.is_window)
    value = _input(graph, layer, inputs)
    # These see the features of a step only, with time or without it.
    names = ("Dense", "Activation", "ReLU", "LeakyReLU", "ELU", "BatchNormalization", "Embedding")
    has_steps = value.has_time or graph.is_window
    if make is None or not has_steps or type(layer.layer).__name__ not in names:
        raise _refuse(
            layer, f"its layer is a {type(layer.layer).__name__}; {', '.join(names)} are possible"
        )
    check_call(layer.layer)
    check_inputs(layer.layer, inputs)
    if getattr(layer.layer, "quantization_mode", None) is not None:
        # Keras calls `call` of the layer, which takes the integers for the weights.
        raise _refuse(layer, "Keras's TimeDistributed ignores the scales of quantized weights")
    return make(graph, layer.layer, inputs, result)


# ---- Layers that combine the steps of a window ----


def _concatenate_steps(
    graph: Nodes, layer: keras.layers.Layer, inputs: Any, values: list[Value], result: Any
) -> Value:
    """Joins another axis than the last one: the rest of the axes is one in between."""
    axis = layer.axis % result.shape.rank
    flat = []
    for tensor, value in zip(inputs, values):
        dims = [*tensor.shape[1:axis], int(np.prod(tensor.shape[axis:]))]
        flat.append(graph.add("reshape", f"{layer.name}_in", [value], False, dims=dims))
    joined = graph.add("concatenate", layer.name, flat, False)
    return graph.add("reshape", f"{layer.name}_out", [joined], False, dims=list(result.shape[1:]))


def _check_sequence(layer: keras.layers.Layer, inputs: Any, rank: int = 3) -> None:
    if getattr(layer, "data_format", "channels_last") != "channels_last":
        raise _refuse(layer, "it has data_format='channels_first'")
    if inputs.shape.rank != rank:
        raise _refuse(layer, f"its input has the shape {list(inputs.shape)}")


def _padding(layer: keras.layers.Layer, steps: int, span: int, stride: int) -> list[int]:
    """The steps before and behind a sequence that a layer with `padding` reads."""
    if layer.padding == "causal":
        return [span - 1, 0]
    if layer.padding == "valid":
        return [0, 0]
    both = max(0, (-(-steps // stride) - 1) * stride + span - steps)
    return [both // 2, both - both // 2]


def _window_conv(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    _check_sequence(layer, inputs)
    value = _input(graph, layer, inputs)
    weights = {"kernel": _array(layer, "kernel")}
    if layer.use_bias:
        weights["bias"] = _array(layer, "bias")
    dilation, stride = int(layer.dilation_rate[0]), int(layer.strides[0])
    span = (layer.kernel_size[0] - 1) * dilation + 1
    fields = {
        "dilation": dilation,
        "groups": int(layer.groups),
        "stride": stride,
        "padding": _padding(layer, inputs.shape[1], span, stride),
    }
    product = graph.add("conv", layer.name, [value], False, weights=weights, **fields)
    return _activated(graph, layer, product, layer.activation)


def _depthwise(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    return _activated(graph, layer, _each_channel(graph, layer, "kernel", inputs), layer.activation)


def _each_channel(graph: Nodes, layer: keras.layers.Layer, kernel: str, inputs: Any) -> Value:
    """Adds a convolution of each channel, with a kernel [width, C, multiplier]."""
    _check_sequence(layer, inputs)
    array = _array(layer, kernel)
    width, channels, _ = array.shape
    dilation, stride = int(layer.dilation_rate[0]), int(layer.strides[0])
    span = (width - 1) * dilation + 1
    weights = {"kernel": array.reshape(width, 1, -1)}
    if layer.use_bias and kernel == "kernel":
        weights["bias"] = _array(layer, "bias")
    return graph.add(
        "conv",
        layer.name,
        [_input(graph, layer, inputs)],
        False,
        weights=weights,
        dilation=dilation,
        groups=channels,
        stride=stride,
        padding=_padding(layer, inputs.shape[1], span, stride),
    )


def _separable(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    each = _each_channel(graph, layer, "depthwise_kernel", inputs)
    weights = {"kernel": _array(layer, "pointwise_kernel")[0]}
    if layer.use_bias:
        weights["bias"] = _array(layer, "bias")
    product = graph.add("dense", layer.name, [each], False, weights=weights)
    return _activated(graph, layer, product, layer.activation)


def _pool(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    _check_sequence(layer, inputs)
    value = _input(graph, layer, inputs)
    width, stride = int(layer.pool_size[0]), int(layer.strides[0])
    return graph.add(
        "pool",
        layer.name,
        [value],
        False,
        function="maximum" if type(layer).__name__.startswith("Max") else "average",
        width=width,
        stride=stride,
        padding=_padding(layer, inputs.shape[1], width, stride),
    )


def _pool_all(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    _check_sequence(layer, inputs)
    value = _input(graph, layer, inputs)
    is_average = type(layer).__name__ == "GlobalAveragePooling1D"
    mask = graph.mask(layer, inputs) if is_average else None  # that of the maximum knows no mask
    pooled = graph.add(
        "pool",
        layer.name,
        [value] if mask is None else [value, mask],
        False,
        function="average" if is_average else "maximum",
        width=inputs.shape[1],
        stride=1,
        padding=[0, 0],
        **({} if mask is None else {"lengths": True}),
    )
    return _with_dims(graph, layer, pooled, result)


def _with_dims(graph: Nodes, layer: keras.layers.Layer, value: Value, result: Any) -> Value:
    return graph.add("reshape", f"{layer.name}_shape", [value], False, dims=list(result.shape[1:]))


def _repeat_vector(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    _check_sequence(layer, inputs, rank=2)
    value = _input(graph, layer, inputs)
    dims = [1, int(inputs.shape[-1])]
    one = graph.add("reshape", f"{layer.name}_shape", [value], False, dims=dims)
    return graph.add("repeat", layer.name, [one], False, times=int(layer.n))


def _up_sampling(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    _check_sequence(layer, inputs)
    return graph.add(
        "repeat", layer.name, [_input(graph, layer, inputs)], False, times=int(layer.size)
    )


def _cropping(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    _check_sequence(layer, inputs)
    value = _input(graph, layer, inputs)
    begin, count = int(layer.cropping[0]), int(result.shape[1])
    return graph.add("crop", layer.name, [value], False, begin=begin, count=count)


def _permute(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    order = [int(axis) - 1 for axis in layer.dims]
    return graph.add("permute", layer.name, [_input(graph, layer, inputs)], False, order=order)


def _masking(graph: Nodes, layer: keras.layers.Layer, inputs: Any, result: Any) -> Value:
    value = _input(graph, layer, inputs)
    lengths = graph.lengths(inputs, layer.mask_value, f"the layer {layer.name!r}")
    return graph.add("mask", layer.name, [value, lengths], False, lengths=True, hold=False)


_MAKERS: dict[str, _Maker] = {
    "Activation": _activation,
    "BatchNormalization": _batch_norm,
    "Concatenate": _concatenate,
    "Conv1D": _conv,
    "Dense": _dense,
    "ELU": _elu,
    "Embedding": _embedding,
    "Flatten": _flatten,
    "LayerNormalization": _layer_norm,
    "LeakyReLU": _relu,
    "Normalization": _normalization,
    "RMSNormalization": _rms_norm,
    "ReLU": _relu,
    "Rescaling": _rescaling,
    "Reshape": _reshape,
    "Softmax": _softmax,
    "TimeDistributed": _time_distributed,
}
# Those that differ in windows from the ones of a stream, or need a window.
_OF_WINDOWS: dict[str, _Maker] = {
    "AveragePooling1D": _pool,
    "Conv1D": _window_conv,
    "Cropping1D": _cropping,
    "DepthwiseConv1D": _depthwise,
    "GlobalAveragePooling1D": _pool_all,
    "GlobalMaxPooling1D": _pool_all,
    "Masking": _masking,
    "MaxPooling1D": _pool,
    "Permute": _permute,
    "RepeatVector": _repeat_vector,
    "SeparableConv1D": _separable,
    "Softmax": _softmax_unmasked,
    "UpSampling1D": _up_sampling,
}
