"""Finds the dimensions of tensors in a model that grow with the number of steps.

A model is traced with several lengths of its inputs, and the shapes of the arguments of its layers are
compared. So the result does not depend on the classes of the layers and models.
"""

import collections
import functools
import inspect
from typing import Any, Callable, Iterator, NamedTuple

import keras
import tensorflow as tf

from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.keras._convert import layer_calls, pairs
from tf_rnn_ops.keras.layers.stack_layer import CudnnStack

# The numbers of calls whose steps replace an open number of steps. The larger numbers are for layers with windows.
_FACTORS = (2, 24, 600)


class Call(NamedTuple):
    """A call of a layer.

    Attributes:
        layer: The layer.
        options: {name of an argument: value}.
        shapes: {name of an argument: the shape of each tensor in it}.
        growing: {name of an argument: for each tensor in it, the set of the dimensions that grow}.
    """

    layer: keras.layers.Layer
    options: dict[str, Any]
    shapes: dict[str, list]
    growing: dict[str, list[set[int]]]

    @property
    def first(self) -> list[set[int]]:
        """The growing dimensions of the tensors in the first argument."""
        return next(iter(self.growing.values()), [])


_Trace = Callable[[dict[str, int]], list[Call]]


class TimeAxes(NamedTuple):
    """The result of `find`.

    Attributes:
        calls: A list of Call, in the order of the model.
        sequences: The names of the inputs with the steps of a stream, which reach the time of a recurrent
            layer or of a causal Conv1D. Each call of a stream needs all other inputs whole.
        longer: The names of the sequences that may have more steps than the model or the signature tells.
        reason: The error of the model for more steps, if there are sequences but none may have more.
    """

    calls: list[Call]
    sequences: set[str]
    longer: set[str]
    reason: Exception | None = None


def of_any_length(model: keras.Model) -> Callable:
    """The function that calls a model, with another number of steps than its Input layers have too."""
    if not pairs.is_graph(model):
        return model.__call__

    def call(*args: Any, **kwargs: Any) -> Any:
        # WHY: a functional model compares shapes with those of its Input layers, but not in `call`.
        with tf.name_scope(model.name):
            return model.call(*args, **kwargs)

    return call


def without_states(model: keras.Model) -> Callable:
    """The same, where a stateful layer begins with zeros and keeps no states."""

    def instead(original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        return original(stateless(layer), *args, **kwargs)

    def call(*args: Any, **kwargs: Any) -> Any:
        with layer_calls.replaced(instead):
            return of_any_length(model)(*args, **kwargs)

    return call


def stateless(layer: keras.layers.Layer) -> keras.layers.Layer:
    """A layer that begins each call with zeros, and keeps no states."""
    keeps = is_recurrent(layer) and layer.stateful
    return layer_calls.variant(layer, stateful=False) if keeps else layer


def is_recurrent(layer: keras.layers.Layer) -> bool:
    """Whether a layer has states."""
    return isinstance(layer, (keras.layers.RNN, CudnnStack))


def memory_of(layer: keras.layers.Layer) -> int:
    """The number of previous inputs that a causal Conv1D needs; 0 for another layer."""
    if not isinstance(layer, keras.layers.Conv1D) or layer.padding != "causal":
        return 0
    return (layer.kernel_size[0] - 1) * layer.dilation_rate[0]


def reads_time(call: Call) -> bool:
    """Whether the layer is recurrent or a causal Conv1D, and its time grows."""
    has_states = is_recurrent(call.layer) or memory_of(call.layer)
    return bool(has_states) and 1 in set().union(*call.first[:1])


def find(model: keras.Model, signature: list, time: int | None = None) -> TimeAxes:
    """Finds the sequences of a model, and the dimensions that grow with them.

    Args:
        model: The model.
        signature: A list with a structure of tf.TensorSpec for each argument.
        time: The number of steps of a call for sequences of an open number of steps, or None.

    Raises:
        ValueError: The model cannot be called with the signature.
    """
    trace = functools.partial(_traced, model, signature)
    lengths, calls = _first(trace, model, signature, time)
    longer, failed, reasons = _longer(trace, lengths, calls)
    if groups := [group for group in longer if group.reaches_time]:
        names = _names_of(groups)
        return TimeAxes(_joined(calls, groups), names, names)
    # No input may be longer: the model is of one length, and its time is a dimension of this size.
    groups = [_Group([name], _of_size(calls, lengths[name])) for name in failed]
    groups = [group for group in groups if group.reaches_time]
    reason = reasons[-1] if reasons else None
    return TimeAxes(_joined(calls, groups), _names_of(groups), set(), reason)


class _Group(NamedTuple):
    """Inputs that are longer together.

    Attributes:
        names: Their names.
        calls: The calls with the dimensions that grow with these inputs.
    """

    names: list[str]
    calls: list[Call]

    @property
    def reaches_time(self) -> bool:
        """Whether the time of a layer grows."""
        return any(map(reads_time, self.calls))


def _names_of(groups: list[_Group]) -> set[str]:
    return {name for group in groups for name in group.names}


def _longer(
    trace: _Trace, lengths: dict[str, int], calls: list[Call]
) -> tuple[list[_Group], list[str], list[Exception]]:
    """Finds the inputs that may be longer.

    Args:
        trace: _traced of the model.
        lengths: {name of an input: its second size} of a call.
        calls: The calls of layers with these lengths.

    Returns:
        A _Group for all inputs that may be longer, the names of the other inputs, and the errors of the model.
    """
    groups: list[_Group] = []
    errors: list[Exception] = []

    def may_be_longer(names: list[str]) -> bool:
        try:
            longer = trace(lengths | {name: 2 * lengths[name] for name in names})
        except Exception as error:  # the layers of a model raise errors of any kind
            errors.append(error)
            return False
        groups.append(_Group(names, _growing(calls, longer)))
        return True

    failed = [name for name in lengths if not may_be_longer([name])]
    for names in _of_one_length(lengths, failed):
        if may_be_longer(names):
            failed = [name for name in failed if name not in names]
    return groups, failed, errors


def _of_one_length(lengths: dict[str, int], failed: list[str]) -> list[list[str]]:
    """Lists of those inputs of one length that cannot be longer without the others."""
    by_length = collections.defaultdict(list)
    for name in failed:
        by_length[lengths[name]].append(name)
    return [names for names in by_length.values() if len(names) > 1]


def _joined(calls: list[Call], groups: list[_Group]) -> list[Call]:
    """The calls with the dimensions that grow with any group."""
    if not groups:
        return calls
    joined = []
    for k, call in enumerate(calls):
        growing = {
            name: [set().union(*axes) for axes in zip(*(g.calls[k].growing[name] for g in groups))]
            for name in call.growing
        }
        joined.append(call._replace(growing=growing))
    return joined


def _first(
    trace: _Trace, model: keras.Model, signature: list, time: int | None
) -> tuple[dict[str, int], list[Call]]:
    """Lengths that a model accepts, {name of an input: its second size}, and the calls with them."""
    specs = keras.tree.flatten(signature)
    second = {spec.name: spec.shape[1] for spec in specs if (spec.shape.rank or 0) > 1}
    errors: list[Exception] = []
    for size in _sizes(second, time):
        lengths = {name: known or size for name, known in second.items()}
        try:
            return lengths, trace(lengths)
        except Exception as error:  # the layers of a model raise errors of any kind
            errors.append(error)
    advice = "" if pairs.is_graph(model) else " Give the specs of its arguments as input_signature."
    raise ValueError(
        f"The model cannot be called with the inputs {signature}: {one_line(errors[0])}{advice}"
    ) from errors[0]


def _sizes(second: dict[str, int | None], time: int | None) -> Iterator[int]:
    """Sizes for the second sizes that are open, in the order in which they are tried."""
    known = {size for size in second.values() if size is not None}

    def unlike(factor: int) -> int:
        # WHY another size than the known ones: it tells which dimensions are the steps.
        sizes = ((time or 1) * k for k in range(factor, factor + len(second) + 1))
        return next(size for size in sizes if size not in known)

    yield from map(unlike, _FACTORS)
    # An open sequence may be combined with one of a known number of steps.
    yield from known
    # For models of one length. WHY last: a sequence of one step would fit any other one.
    yield unlike(1)


def _growing(calls: list[Call], longer: list[Call]) -> list[Call]:
    """The calls with the dimensions that have another size in the calls with longer inputs."""
    numbers = _numbered(longer)
    return [_marked(call, numbers.get(key, call)) for key, call in _numbered(calls).items()]


def _marked(call: Call, longer: Call) -> Call:
    growing = {
        name: [
            set(map(int, _changed(*both))) for both in zip(shapes, longer.shapes.get(name, shapes))
        ]
        for name, shapes in call.shapes.items()
    }
    return call._replace(growing=growing)


def _of_size(calls: list[Call], length: int) -> list[Call]:
    """The calls with the second dimensions of a size as those that grow."""
    return [
        call._replace(
            growing={
                name: [{1} if shape[1:2] == [length] else set() for shape in shapes]
                for name, shapes in call.shapes.items()
            }
        )
        for call in calls
    ]


def _traced(model: keras.Model, signature: list, lengths: dict[str, int]) -> list[Call]:
    """The calls of layers in a call of a model, in which nothing grows.

    Args:
        model: The model.
        signature: The signature of its arguments.
        lengths: {name of an input: its second size}.
    """
    calls = []

    def record(original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        calls.append(_call(layer, args, kwargs))
        return original(stateless(layer), *args, **kwargs)

    def function(*arguments: Any) -> Any:
        with layer_calls.replaced(record):
            return of_any_length(model)(*arguments, training=False)

    first = (spec.shape[0] for spec in keras.tree.flatten(signature) if spec.shape.rank)
    batch_size = next((size for size in first if size), 2)
    specs = keras.tree.map_structure(
        lambda spec: _of_known_size(spec, batch_size, lengths), signature
    )
    tf.function(function, autograph=False).get_concrete_function(*specs)
    return calls


def _numbered(calls: list[Call]) -> dict[tuple[int, int], Call]:
    """{(layer, number of its call): call}. A wrapper may call a layer once for each step."""
    found: dict[tuple[int, int], Call] = {}
    counts: collections.Counter[int] = collections.Counter()
    for call in calls:
        found[id(call.layer), counts[id(call.layer)]] = call
        counts[id(call.layer)] += 1
    return found


def _changed(before: list, after: list) -> list[int]:
    """The dimensions of other sizes, and those of unknown sizes."""
    return [k for k, (a, b) in enumerate(zip(before, after)) if k and (a != b or a is None)]


def _call(layer: keras.layers.Layer, args: tuple, kwargs: dict[str, Any]) -> Call:
    try:
        options = inspect.signature(layer.call).bind_partial(*args, **kwargs).arguments
    except TypeError:  # Keras gives `training` to functional models, and they to every layer
        options = {"inputs": args, **kwargs}
    shapes = {
        name: [one.shape.as_list() for one in keras.tree.flatten(value) if _has_shape(one)]
        for name, value in options.items()
    }
    growing: dict[str, list[set[int]]] = {
        name: [set() for _ in one] for name, one in shapes.items()
    }
    return Call(layer, dict(options), shapes, growing)


def _has_shape(value: Any) -> bool:
    return (
        isinstance(getattr(value, "shape", None), tf.TensorShape) and value.shape.rank is not None
    )


def _of_known_size(spec: tf.TensorSpec, batch_size: int, lengths: dict[str, int]) -> tf.TensorSpec:
    """The spec with a number for each open size, since TensorFlow does not tell open sizes apart."""
    if not spec.shape.rank:
        return spec
    # Dimensions after the second one are those of windows, such as the letters of a word.
    sizes = [batch_size, lengths.get(spec.name), *[2] * (spec.shape.rank - 2)]
    shape = [size if known is None else known for known, size in zip(spec.shape, sizes)]
    if spec.name in lengths:
        shape[1] = lengths[spec.name]
    return tf.TensorSpec(shape, spec.dtype, spec.name)
