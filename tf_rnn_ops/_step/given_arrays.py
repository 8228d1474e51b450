"""The arrays that callers give to a stepper: their order, conversion and errors."""

from typing import Any, Mapping, Protocol, Sequence, TypeVar

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]


class _Tensor(Protocol):
    """A tf_rnn_ops.stepper.Tensor."""

    def _replace(self: "_T", *, shape: tuple[int, ...]) -> "_T": ...

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def has_time(self) -> bool: ...


_T = TypeVar("_T", bound=_Tensor)


def in_order(argument: str, tensors: Sequence[_Tensor], values: Any) -> list[Any]:
    """The values for tensors, of an array, a list of arrays or a dict, which is the argument of a call."""
    names = [tensor.name for tensor in tensors]
    if isinstance(values, Mapping):
        if set(values) != set(names):
            raise ValueError(f"{argument} must have the names {names}, but it has {list(values)}.")
        return [values[name] for name in names]
    if isinstance(values, (list, tuple)):
        if len(values) != len(names):
            raise ValueError(
                f"{argument} must be a list of one array for each of {names}, but it has {len(values)} items. Make an "
                "array of a list of numbers with numpy.array()."
            )
        return list(values)
    if len(names) > 1:
        raise ValueError(
            f"{argument} must be a list or a dict with an array for each of {names}, but it is a {type(values).__name__}."
        )
    return [values]


def with_names_of(tensors: Sequence[_Tensor], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """States with the names of a stepper. Those of another model have other names, but perhaps the same order."""
    names = [tensor.name for tensor in tensors]
    unknown = [name for name in values if name not in names]
    if not unknown:
        return values
    message = f"states has {unknown[0]!r}, but the states are {names}"
    if len(unknown) < len(values) or len(values) != len(names):
        raise ValueError(
            f"{message}. Without any of these names, an array for each of them in this order is possible."
        )
    for tensor, name in zip(tensors, values):
        shape = _array("The state", tensor, values[name]).shape
        # WHY the ends: sorted names have another order, and h and c of an LSTM have one shape.
        if shape != tensor.shape or _end(name) != _end(tensor.name):
            raise ValueError(
                f"{message}. They are not the same in this order: {name!r} of the shape {list(shape)} cannot be "
                f"{tensor.name!r} of the shape {list(tensor.shape)}. Rename them as those of the stepper."
            )
    return dict(zip(names, values.values()))


def _end(name: str) -> str:
    """The part after the name of the layer in the name of a state: 'h', 'c' or 'x'."""
    end = str(name).rstrip("_0123456789").rpartition("_")[2]
    return end if end in ("h", "c", "x") else ""


def _array(what: str, tensor: _Tensor, value: Any) -> _Array:
    try:
        return np.asarray(value)
    except ValueError as error:  # lists of different lengths
        raise ValueError(
            f"{what} {tensor.name!r} must be an array, but it is not: {error}"
        ) from None


def converted(what: str, tensor: _Tensor, value: Any) -> _Array:
    """The value as a dense array of the type and shape of a tensor, which messages call `what`."""
    array = _array(what, tensor, value)
    named = f"{what} {tensor.name!r}"
    if array.dtype.kind == "V" and np.can_cast(array.dtype, np.float32):
        array = array.astype(np.float32)  # bfloat16 and others of ml_dtypes
    if array.dtype.kind not in "fiub":
        numbers = "numbers" if tensor.dtype == "float32" else "integers"
        raise ValueError(
            f"{named} must be an array of {numbers} ({tensor.dtype}), but its dtype is {array.dtype}."
        )
    if array.shape != tensor.shape:
        raise ValueError(
            f"{named} must have the shape {list(tensor.shape)}, {_sizes_of(tensor)}, but its shape is "
            f"{list(array.shape)}{_other_sizes(tensor, array.shape)}."
        )
    if tensor.dtype == "int32" and array.size:
        # An Input of Keras is float32 if nothing else is asked for, also for an Embedding.
        if array.dtype.kind == "f" and (wrong := array[array != np.floor(array)]).size:
            raise ValueError(f"{named} must be integers, but it has {wrong[0]}.")
        if not -(2**31) <= array.min() <= array.max() < 2**31:
            raise ValueError(
                f"{named} must fit int32, but its values are from {array.min()} to {array.max()}."
            )
    elif array.dtype.kind == "f" and array.dtype.itemsize > 4:
        with np.errstate(over="ignore"):
            overflows = np.isinf(array.astype(np.float32)) & np.isfinite(array)
        if (wrong := array[overflows]).size:
            raise ValueError(f"{named} must fit float32, but it has {wrong[0]}.")
    # A copy at another address: numpy may give a view of what is not aligned.
    return np.require(array, tensor.dtype, ["C", "A"])


def steps_of(tensors: Sequence[_Tensor], values: Sequence[Any], most: int) -> int:
    """The steps of a call: those of the inputs, if they are `most` at most, otherwise `most`."""
    for tensor, value in zip(tensors, values):
        if tensor.has_time:
            shape = _array("The input", tensor, value).shape
            return shape[1] if len(shape) > 1 and 1 <= shape[1] <= most else most
    return most


def with_steps(tensors: Sequence[_T], steps: int | None) -> list[_T]:
    """Tensors of a call with a number of steps, or without steps with None."""
    return [
        tensor._replace(
            shape=(tensor.shape[0], *([] if steps is None else [steps]), *tensor.shape[2:])
        )
        if tensor.has_time
        else tensor
        for tensor in tensors
    ]


def _sizes_of(tensor: _Tensor) -> str:
    """Words for B and T in the shape of a tensor."""
    batch, *rest = tensor.shape
    streams = "one stream" if batch == 1 else f"{batch} streams"
    if not tensor.has_time:
        return f"for {streams}"
    return f"{'one step' if rest[0] == 1 else f'{rest[0]} steps'} of {streams}"


def _other_sizes(tensor: _Tensor, shape: tuple[int, ...]) -> str:
    """The arguments of a stepper for which a shape is right, if there are any."""
    known = (len(tensor.shape), tensor.shape[2:])
    if not tensor.has_time or (len(shape), shape[2:]) != known or 0 in shape[:2]:
        return ""
    return f", which is that for batch_size={shape[0]} and time={shape[1]}"


def check_out(tensor: _Tensor, array: Any) -> None:
    fits = (
        isinstance(array, np.ndarray)
        and array.dtype == np.float32
        and array.shape == tensor.shape
        and array.flags.c_contiguous
        and array.flags.aligned
        and array.flags.writeable
    )
    if not fits:
        form = type(array).__name__
        if isinstance(array, np.ndarray):
            form = f"{array.dtype} array of the shape {list(array.shape)}"
            form += "" if array.flags.c_contiguous else " that is not contiguous"
            form += "" if array.flags.aligned else " that is not aligned"
            form += "" if array.flags.writeable else " that is read-only"
        raise ValueError(
            f"out must be a writable, aligned, contiguous float32 array of the shape {list(tensor.shape)} for {tensor.name!r}, but "
            f"it is a {form}."
        )
