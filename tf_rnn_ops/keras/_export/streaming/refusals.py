"""Why a layer cannot stream."""

import keras

from tf_rnn_ops.keras._export.time_axes import Call, is_recurrent, reads_time
from tf_rnn_ops.keras._internals.layers import flatten_layers
from tf_rnn_ops.keras.layers.stack_layer import CudnnStack

_BACKWARDS = "it reads its input backwards, from the last step"
_BOTH = "it also reads its input backwards, from the last step"


def _classes(*names: str) -> tuple[type, ...]:
    """The classes of keras.layers with these names that this Keras has."""
    return tuple(getattr(keras.layers, name) for name in names if hasattr(keras.layers, name))


_OF_LISTS = _classes("Attention", "AdditiveAttention")
_OF_QUERIES = _classes("MultiHeadAttention", "GroupedQueryAttention")
_WINDOWS = _classes(
    *(f"{kind}{rank}D" for rank in (1, 2, 3) for kind in ("Conv", "MaxPooling", "AveragePooling")),
    *(
        f"{kind}{rank}D"
        for rank in (1, 2, 3)
        for kind in ("AdaptiveMaxPooling", "AdaptiveAveragePooling")
    ),
    *(f"Conv{rank}DTranspose" for rank in (1, 2, 3)),
    *(f"{kind}Conv{rank}D" for rank in (1, 2) for kind in ("Separable", "Depthwise")),
)
# The layers of causal convolutions that are made by hand.
_NOT_CAUSAL = _classes("Conv1D", "ZeroPadding1D")
# Those that combine all of their dimensions, but not the sequences of a batch.
_ALL = _classes(
    "Flatten",
    "GroupNormalization",
    *(f"Global{kind}Pooling{rank}D" for rank in (1, 2, 3) for kind in ("Max", "Average")),
    *("UpSampling1D", "ZeroPadding1D", "Cropping1D"),
)


def check(model: keras.Model, calls: list[Call]) -> None:
    """Raises ValueError for a layer that cannot stream.

    Args:
        model: A model.
        calls: The calls of its layers.
    """
    for call in calls:
        if reason := _reason_against(call):
            raise ValueError(
                f"The layer {call.layer.name!r} cannot stream, because {reason}. streaming=False is for whole sequences."
            )
    hidden = _hidden(model, calls)
    for call in calls:
        # A model may have layers that it does not use here.
        if isinstance(call.layer, keras.Model) or not any(call.first):
            continue
        if found := hidden & set(flatten_layers(call.layer)):
            raise ValueError(
                f"The layer {found.pop().name!r} cannot stream, because {call.layer.name!r} does not call the layer "
                "itself, but its method `call`."
            )


def _hidden(model: keras.Model, calls: list[Call]) -> set[keras.layers.Layer]:
    """The recurrent layers that are not called, without those that begin with zeros at each step."""
    layers = flatten_layers(model)
    found = {layer for layer in layers if is_recurrent(layer)} - {call.layer for call in calls}
    for layer in layers:
        if isinstance(layer, keras.layers.TimeDistributed):
            found -= set(flatten_layers(layer.layer))
    return found


def _reason_against(call: Call) -> str:
    """The reason why the layer of a call cannot stream, as a part of a sentence; empty if it can."""
    layer = call.layer
    if getattr(layer, "time_major", False):
        return "its time comes before the batch (time_major=True)"
    if is_recurrent(layer):
        return _of_recurrent(call)
    if isinstance(layer, keras.layers.Bidirectional):
        return _BOTH if 1 in set().union(*call.first[:1]) else ""
    if isinstance(layer, keras.layers.Conv1D) and layer.padding == "causal":
        return _of_causal(call)
    if not _combines(call):
        return ""
    name = _keras_name(layer)
    reason = f"{name} combines steps, of which the file sees only those of one call"
    if isinstance(layer, _NOT_CAUSAL):
        reason += "; a Conv1D with padding='causal' can"
    return reason


def _of_recurrent(call: Call) -> str:
    if not reads_time(call):
        return ""
    if call.shapes.get("sequence_lengths"):
        return "it gets sequence_lengths, and a stream has no steps beyond a length"
    if call.layer.go_backwards:
        return _BACKWARDS
    if has_own_call(call.layer):
        return f"its class {type(call.layer).__name__} has a method `call` of its own"
    both = isinstance(call.layer, CudnnStack) and call.layer.direction == "bidirectional"
    return _BOTH if both else ""


def has_own_call(layer: keras.layers.Layer) -> bool:
    """Whether the method `call` of a layer is that of a user."""
    return not type(layer).call.__module__.startswith(("keras.", "tf_rnn_ops."))


def _of_causal(call: Call) -> str:
    layer = call.layer
    growing = set().union(*call.first)
    if not growing:
        return ""
    if has_own_call(layer):
        return f"its class {type(layer).__name__} has a method `call` of its own"
    if layer.data_format != "channels_last":
        return "its time comes after the channels: give it data_format='channels_last'"
    if layer.strides[0] != 1:
        return f"it has an output for every {layer.strides[0]} steps only: give it strides=1"
    return ""


def _combines(call: Call) -> bool:
    """Whether a layer combines elements along a dimension that grows with the steps."""
    layer, growing = call.layer, set().union(*call.first)
    if isinstance(layer, (*_OF_LISTS, *_OF_QUERIES)):
        return _attends_to_steps(call)
    if isinstance(layer, _WINDOWS):
        return any(_has_window(layer, axis) for axis in growing)
    if isinstance(layer, _ALL):
        return bool(growing)
    return any(map(set.intersection, call.first, _axes(call)))


def _attends_to_steps(call: Call) -> bool:
    """Whether an attention has keys or values that grow, or queries that depend on their position."""
    if isinstance(call.layer, _OF_LISTS):
        axes, queries, others = {1}, call.first[:1], call.first[1:]
    else:
        axes = set(call.layer.get_config().get("attention_axes") or range(1, 9))
        queries = call.growing["query"]
        others = [one for name in ("value", "key") for one in call.growing.get(name, [])]
    if any(one & axes for one in others):
        return True
    return bool(any(queries) and call.options.get("use_causal_mask"))


def _has_window(layer: keras.layers.Layer, axis: int) -> bool:
    """Whether a layer with windows sees more than one element along an axis, or along all channels."""
    channels_last = layer.data_format == "channels_last"
    k = axis - (1 if channels_last else 2)
    sizes = [getattr(layer, name, None) for name in ("kernel_size", "pool_size", "strides")]
    windows = [(size,) if isinstance(size, int) else size for size in sizes if size]
    is_spatial = 0 <= k < min(map(len, windows), default=0)
    return not is_spatial or any(window[k] != 1 for window in windows)


def _axes(call: Call) -> list[set[int]]:
    """For each tensor the dimensions that the arguments `axis` or `axes` of a layer name, from 0."""
    shapes = next(iter(call.shapes.values()), [])
    axes = getattr(call.layer, "axis", getattr(call.layer, "axes", None))
    axes = list(axes) if isinstance(axes, (list, tuple)) else [axes]
    if not type(call.layer).__module__.startswith("keras.") or not all(map(_is_int, axes)):
        return [set() for _ in shapes]
    if isinstance(call.layer, keras.layers.Dot):  # an axis for each of the two tensors
        return [
            {axis % len(shape)} for axis, shape in zip(axes * 2 if len(axes) == 1 else axes, shapes)
        ]
    return [{axis % len(shape) for axis in axes if shape} for shape in shapes]


def _is_int(value: object) -> bool:
    return isinstance(value, int)


def _keras_name(layer: keras.layers.Layer) -> str:
    """The name of the class of Keras that a layer has, or that the class of a user is derived from."""
    return next(cls.__name__ for cls in type(layer).__mro__ if cls.__module__.startswith("keras."))
