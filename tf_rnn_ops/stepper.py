"""Calls a model step by step with numpy arrays, without TensorFlow.

tf_rnn_ops.keras.stepper(model)     a stepper of a Keras model
tf_rnn_ops.keras.export(model, "model.rnn", streaming=True)
                                    a file of it
tf_rnn_ops.stepper.load(path)       a stepper of the file, which needs only numpy
"""

import os
import pathlib
from collections.abc import Iterable
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np
import numpy.typing as npt

from tf_rnn_ops import _atomic_write, _lazy
from tf_rnn_ops.native import loader

try:
    from tf_rnn_ops import _tf_rnn_ops_step_python as _native
except ImportError as _error:
    raise ImportError(loader.why_no_stepper(_error)) from _error

__all__ = ["Stepper", "Tensor", "isa", "load"]

_Array = npt.NDArray[Any]


class Tensor(NamedTuple):
    """An input, an output or a state of a stepper.

    Attributes:
        name: Its name.
        dtype: 'float32' or 'int32'.
        shape: Its shape; B comes first.
        has_time: Whether T comes second.

    Example:
        >>> from tf_rnn_ops.stepper import Tensor
        >>> Tensor("frames", "float32", (1, 1, 40), has_time=True).shape
        (1, 1, 40)
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    has_time: bool


class Stepper:
    """A model that processes T steps of B streams in each call, and keeps the states in between.

    A stepper has a copy of the weights: it does not see later changes of a model. One thread may use a
    stepper at a time; several steppers run side by side. A stepper can be copied and pickled, with its states.

    Attributes:
        inputs: A list of Tensor.
        outputs: A list of Tensor.
        batch_size: B.
        time: T, the steps of a call.
        threads: The most threads of a call.

    Example:
        >>> import keras
        >>> import numpy as np
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4, return_sequences=True)])
        >>> stepper = tf_rnn_ops.keras.stepper(model)
        >>> stepper(np.zeros((1, 1, 3), "float32")).shape
        (1, 1, 4)
    """

    def __init__(
        self,
        content: bytes,
        batch_size: int | None = None,
        time: int | None = None,
        threads: int = 1,
    ) -> None:
        """Reads the content of a file.

        Args:
            content: The bytes of a file that tf_rnn_ops.keras.export wrote as 'rnn'.
            batch_size: B. None is that of the file, or 1 if the file works with any.
            time: T. None is that of the file, or 1 if the file works with any.
            threads: The most threads of a call, including the caller's.

        Raises:
            ValueError: The content is not that of such a file, or a number does not fit it.
        """
        _check_number("batch_size", 1 if batch_size is None else batch_size)
        _check_number("time", 1 if time is None else time)
        _check_number("threads", threads)
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise ValueError(
                f"content must be the bytes of a file, but it is a {type(content).__name__}."
            )
        self._content = bytes(content)
        self._native = _native.new(
            self._content, int(batch_size or 0), int(time or 0), int(threads)
        )
        self.batch_size, self.time, *lists = _native.describe(self._native)
        self.inputs, self.outputs, self._states = (
            [
                Tensor(name, dtype, tuple(shape), has_time)
                for name, dtype, shape, has_time in tensors
            ]
            for tensors in lists
        )
        self.threads = int(threads)
        # The shape of the result of a call with one input and one output.
        self._shape = self.outputs[0].shape if len(lists[0]) == len(lists[1]) == 1 else None

    def __call__(self, inputs: Any, out: Any = None) -> Any:
        """Runs the next T steps of every stream.

        Args:
            inputs: An array, a list of arrays in the order of `inputs`, or {name: array}. Other dtypes are
                converted as numpy converts to the same kind, float64 to float32, and floats without a fraction to int32.
            out: Arrays for the results, in the same forms: float32, of the shapes of `outputs`, contiguous and
                aligned. They must not overlap the inputs. None makes new ones.

        Returns:
            The output, an array; or with several outputs {name: array}.

        Raises:
            ValueError: An array does not fit. The states are then those before the call.
            RuntimeError: Another thread uses the stepper.
        """
        if self._shape is not None:
            result = np.empty(self._shape, np.float32) if out is None else out
            if _native.call(self._native, inputs, result):
                return result
        return self._call_converted(inputs, out)

    def _call_converted(self, inputs: Any, out: Any) -> Any:
        arrays = [
            _converted("The input", tensor, value)
            for tensor, value in zip(self.inputs, _in_order("inputs", self.inputs, inputs))
        ]
        if out is None:
            results = [np.empty(tensor.shape, np.float32) for tensor in self.outputs]
        else:
            results = _in_order("out", self.outputs, out)
            for tensor, array in zip(self.outputs, results):
                _check_out(tensor, array)
        if not _native.call(self._native, *arrays, *results):
            raise RuntimeError("The kernels do not accept the arrays of this call.")
        if len(results) == 1:
            return results[0]
        return {tensor.name: array for tensor, array in zip(self.outputs, results)}

    def reset(self, rows: Iterable[int] | int | None = None) -> None:
        """Begins new streams, whose states are zeros.

        Args:
            rows: A row of the batch, or several; None is all rows.

        Raises:
            ValueError: A row is not one of the batch.
        """
        if rows is None:
            return _native.reset(self._native)
        if isinstance(rows, Iterable) and not isinstance(
            rows, (np.ndarray, Mapping, str, bytes, bytearray)
        ):
            rows = list(rows)
        try:
            numbers = np.atleast_1d(np.asarray(rows))
        except ValueError:  # lists of different lengths
            numbers = np.empty((0, 0))
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise ValueError(
                f"rows must be an integer or a list of integers, but they are {rows!r}."
            )
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < self.batch_size:
            raise ValueError(
                f"rows must be from 0 to {self.batch_size - 1}, but they are {rows!r}."
            )
        return _native.reset(self._native, np.ascontiguousarray(numbers, np.int64))

    @property
    def states(self) -> dict[str, _Array]:
        """Copies of the states: {name: array of the shape [B, ...]}.

        A dict that is assigned sets the states that it names. Raises ValueError if a name or a shape is wrong.
        """
        found = {}
        for k, tensor in enumerate(self._states):
            found[tensor.name] = np.empty(tensor.shape, np.float32)
            _native.get_state(self._native, k, found[tensor.name])
        return found

    @states.setter
    def states(self, values: Mapping[str, Any]) -> None:
        if not isinstance(values, Mapping):
            raise ValueError(
                f"states must be a dict of arrays, but it is a {type(values).__name__}."
            )
        numbers = {tensor.name: k for k, tensor in enumerate(self._states)}
        if unknown := [name for name in values if name not in numbers]:
            raise ValueError(f"states has {unknown[0]!r}, but the states are {list(numbers)}.")
        arrays = {
            name: _converted("The state", self._states[numbers[name]], values[name])
            for name in values
        }
        for name, array in arrays.items():
            _native.set_state(self._native, numbers[name], array)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file for load(), without the states.

        Args:
            path: The file, which must not exist. Its parent folders are created.

        Raises:
            FileExistsError: The file exists.
            OSError: It cannot be written.
        """
        with _atomic_write.atomic_write(pathlib.Path(path).expanduser()) as unfinished:
            unfinished.write_bytes(self._content)

    def update(self, model: Any) -> None:
        """Takes over a model, such as one with the weights of further training. The values of the states stay.

        Args:
            model: The Keras model that this stepper was made of, or one whose inputs, outputs and states are the same
                in the same order. Their names may be others, and are those of the stepper then.

        Raises:
            TypeError: model is not a Keras 3 model.
            ValueError: The model has other inputs, outputs or states, or has them in another order.
        """
        from tf_rnn_ops.keras._export import stepping

        other = Stepper(
            stepping.content(model),
            self.batch_size,
            self.time,
            self.threads,
        )
        for name in ("inputs", "outputs", "_states"):
            if not _agree(getattr(self, name), getattr(other, name)):
                raise ValueError(
                    f"model must have the {name.strip('_')} {getattr(self, name)}, but it has {getattr(other, name)}."
                )
        other.states = dict(zip((tensor.name for tensor in other._states), self.states.values()))
        self._content, self._native = other._content, other._native
        self.inputs, self.outputs, self._states = other.inputs, other.outputs, other._states

    def __repr__(self) -> str:
        inputs = ", ".join(f"{tensor.name}: {list(tensor.shape)}" for tensor in self.inputs)
        outputs = ", ".join(f"{tensor.name}: {list(tensor.shape)}" for tensor in self.outputs)
        return f"<Stepper ({inputs}) -> ({outputs}), states {[t.name for t in self._states]}>"

    def __getstate__(self) -> dict[str, Any]:
        sizes = {"batch_size": self.batch_size, "time": self.time, "threads": self.threads}
        return {"content": self._content, **sizes, "states": self.states}

    def __setstate__(self, state: dict[str, Any]) -> None:
        states = state.pop("states")
        self.__init__(**state)  # type: ignore[misc]
        self.states = states


def load(
    path: str | os.PathLike[str],
    batch_size: int | None = None,
    time: int | None = None,
    threads: int = 1,
) -> Stepper:
    """Makes a stepper of a file. This imports neither TensorFlow nor Keras.

    Args:
        path: A file that tf_rnn_ops.keras.export or Stepper.save wrote.
        batch_size: B, the number of streams. None is that of the file, or 1 if the file works with any.
        time: T, the steps of a call. None is that of the file, or 1 if the file works with any.
        threads: The most threads of a call, including the caller's. A call of some microseconds uses one.

    Returns:
        A Stepper, whose states are zeros.

    Raises:
        ValueError: The file is not such a file, or a number does not fit it.
        OSError: The file cannot be read.

    Example:
        >>> import os
        >>> import tempfile
        >>> import keras
        >>> import tf_rnn_ops.keras
        >>> import tf_rnn_ops.stepper
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.GRU(4, name="gru")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.rnn")
        ...     tf_rnn_ops.keras.stepper(model).save(path)
        ...     stepper = tf_rnn_ops.stepper.load(path, batch_size=2)
        >>> stepper.batch_size, list(stepper.states)
        (2, ['gru_h'])
    """
    content = pathlib.Path(path).expanduser().read_bytes()
    try:
        return Stepper(content, batch_size, time, threads)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def isa() -> str:
    """The instruction set of the kernels: 'avx512', 'avx2' or 'baseline'.

    Example:
        >>> from tf_rnn_ops import stepper
        >>> stepper.isa() in ("avx512", "avx2", "baseline")
        True
    """
    return str(_native.isa())


def _check_number(name: str, size: Any) -> None:
    is_number = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
    if not is_number or not 0 < size < 2**31:
        raise ValueError(f"{name} must be a positive integer, but it is {size!r}.")


def _in_order(what: str, tensors: Sequence[Tensor], values: Any) -> list[Any]:
    """The values for tensors, of an array, a list or a dict."""
    names = [tensor.name for tensor in tensors]
    if isinstance(values, Mapping):
        if set(values) != set(names):
            raise ValueError(f"{what} must have the names {names}, but it has {list(values)}.")
        return [values[name] for name in names]
    if len(names) == 1 and not isinstance(values, (list, tuple)):
        return [values]
    if not isinstance(values, (list, tuple)):
        raise ValueError(
            f"{what} must be a list or a dict with an array for each of {names}, but it is a {type(values).__name__}."
        )
    # A list of numbers may be one array.
    if len(names) == 1 and not (
        len(values) == 1 and _array("The input", tensors[0], values[0]).shape == tensors[0].shape
    ):
        return [values]
    if len(values) != len(names):
        raise ValueError(
            f"{what} must have {len(names)} arrays, for {names}, but it has {len(values)}."
        )
    return list(values)


def _agree(tensors: list[Tensor], others: list[Tensor]) -> bool:
    """Whether all are equal except for their names. Keras numbers its names, so an equal model may have others."""
    names = {tensor.name for tensor in tensors}
    return len(tensors) == len(others) and all(
        a[1:] == b[1:] and (a.name == b.name or b.name not in names)
        for a, b in zip(tensors, others)
    )


def _array(what: str, tensor: Tensor, value: Any) -> _Array:
    try:
        return np.asarray(value)
    except ValueError as error:  # lists of different lengths
        raise ValueError(
            f"{what} {tensor.name!r} must be an array, but it is not: {error}"
        ) from None


def _converted(what: str, tensor: Tensor, value: Any) -> _Array:
    """The value as a dense array of the type and shape of a tensor, which messages call `what`."""
    array = _array(what, tensor, value)
    named = f"{what} {tensor.name!r}"
    if array.dtype.kind not in "fiub":
        numbers = "numbers" if tensor.dtype == "float32" else "integers"
        raise ValueError(
            f"{named} must be an array of {numbers} ({tensor.dtype}), but its dtype is {array.dtype}."
        )
    if array.shape != tensor.shape:
        raise ValueError(
            f"{named} must have the shape {list(tensor.shape)}, but its shape is {list(array.shape)}."
        )
    if tensor.dtype == "int32" and array.size:
        # An Input of Keras is float32 if nothing else is asked for, also for an Embedding.
        if array.dtype.kind == "f" and (wrong := array[array != np.floor(array)]).size:
            raise ValueError(f"{named} must be integers, but it has {wrong[0]}.")
        if not -(2**31) <= array.min() <= array.max() < 2**31:
            raise ValueError(
                f"{named} must fit int32, but its values are from {array.min()} to {array.max()}."
            )
    # A copy at another address: numpy may give a view of what is not aligned.
    return np.require(array, tensor.dtype, ["C", "A"])


def _check_out(tensor: Tensor, array: Any) -> None:
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


__getattr__, __dir__ = _lazy.attach(__name__, __all__)
