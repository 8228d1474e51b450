"""Calls a model step by step with numpy arrays, without TensorFlow.

tf_rnn_ops.keras.stepper(model)     a stepper of a Keras model
tf_rnn_ops.keras.export(model, "model.rnn", streaming=True)
                                    a file of it
tf_rnn_ops.stepper.load(path)       a stepper of the file, which needs only numpy
"""

import itertools
import os
import pathlib
import sys
import threading
from collections.abc import Iterable
from typing import Any, Mapping, NamedTuple, NoReturn, Sequence, overload

import numpy as np
import numpy.typing as npt

from tf_rnn_ops._python import atomic_write, checks
from tf_rnn_ops._python import lazy as _lazy
from tf_rnn_ops._step import file_format, given_arrays, models
from tf_rnn_ops.native import loader

_native = loader.stepper_library()

__all__ = ["Stepper", "Tensor", "isa", "load"]

_Array = npt.NDArray[Any]
_Result = npt.NDArray[np.float32]
# An array, an array for each input, or {name of an input: array}.
_Inputs = npt.ArrayLike | Sequence[npt.ArrayLike] | Mapping[str, npt.ArrayLike]


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


class _States(dict[str, _Array]):
    """Copies of the states of a stepper. A change would not change the stepper, so every change raises an error."""

    def _raise(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "The states of a stepper are copies that cannot be changed. Assign a dict to `states` of the stepper, such "
            "as {name: array}, which sets the states that it names."
        )

    __setitem__ = __delitem__ = _raise
    clear = pop = popitem = setdefault = update = _raise

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies of it are dicts of their owner.
        return dict, (dict(self),)


class Stepper:
    """A model that processes T steps of B streams in each call, and keeps the states in between.

    A stepper has a copy of the weights: it does not see later changes of a model. One thread may use a
    stepper at a time; several steppers run side by side, and any thread may update() a stepper. A stepper can be
    copied and pickled, with its states. A process that is forked while another thread calls or updates a stepper
    cannot use that stepper.

    Attributes:
        inputs: A tuple of Tensor.
        outputs: A tuple of Tensor.
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
        checks.check_size("batch_size", 1 if batch_size is None else batch_size)
        checks.check_size("time", 1 if time is None else time)
        checks.check_size("threads", threads)
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise ValueError(
                f"content must be the bytes of a file, but it is a {type(content).__name__}."
            )
        self._content = bytes(content)
        self._native = _native.new(
            self._content, int(batch_size or 0), int(time or 0), int(threads)
        )
        batch, steps, *lists = _native.describe(self._native)
        self._batch_size, self._time = int(batch), int(steps)
        self._inputs, self._outputs, self._states = (
            tuple(
                Tensor(name, dtype, tuple(shape), has_time)
                for name, dtype, shape, has_time in tensors
            )
            for tensors in lists
        )
        self._threads = int(threads)
        # The shape of the result of a call with one input and one output.
        self._shape = self._outputs[0].shape if len(lists[0]) == len(lists[1]) == 1 else None
        self._lock, self._process = threading.Lock(), os.getpid()

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        return self._outputs

    @property
    def batch_size(self) -> int:
        return self._batch_size

    @property
    def time(self) -> int:
        return self._time

    @property
    def threads(self) -> int:
        return self._threads

    @overload
    def __call__(self, inputs: _Inputs, out: _Result) -> _Result: ...

    @overload
    def __call__(
        self, inputs: _Inputs, out: Sequence[_Result] | Mapping[str, _Result] | None = None
    ) -> _Result | dict[str, _Result]: ...

    def __call__(self, inputs: Any, out: Any = None) -> Any:
        """Runs the next T steps of every stream.

        Args:
            inputs: An array, a list of arrays in the order of `inputs`, or {name: array}. Other dtypes are
                converted as numpy converts to the same kind, float64 and bfloat16 to float32, and floats without a
                fraction to int32.
            out: Arrays for the results, in the same forms: float32, of the shapes of `outputs`, contiguous and
                aligned. They must not overlap the inputs. None makes new ones.

        Returns:
            The output, an array; or with several outputs {name: array}.

        Raises:
            ValueError: An array does not fit. The states are then those before the call.
            RuntimeError: Another thread uses the stepper. An update() of another thread raises no error.
        """
        if self._shape is not None:
            result = np.empty(self._shape, np.float32) if out is None else out
            if _native.call(self._native, inputs, result):
                return result
        return self._call_converted(inputs, out)

    def _call_converted(self, inputs: Any, out: Any) -> Any:
        of_list = "In the list of arrays, the" if isinstance(inputs, (list, tuple)) else "The"
        arrays = [
            given_arrays.converted(f"{of_list} input", tensor, value)
            for tensor, value in zip(
                self._inputs, given_arrays.in_order("inputs", self._inputs, inputs)
            )
        ]
        if out is None:
            results = [np.empty(tensor.shape, np.float32) for tensor in self._outputs]
        else:
            results = given_arrays.in_order("out", self._outputs, out)
            for tensor, array in zip(self._outputs, results):
                given_arrays.check_out(tensor, array)
        if not _native.call(self._native, *arrays, *results):
            raise RuntimeError("The kernels do not accept the arrays of this call.")
        if len(results) == 1:
            return results[0]
        return {tensor.name: array for tensor, array in zip(self._outputs, results)}

    def reset(self, rows: Iterable[int] | int | None = None) -> None:
        """Begins new streams, whose states are zeros.

        Args:
            rows: A row of the batch, or several, or a mask: an array of B bools. None is all rows.

        Raises:
            ValueError: A row is not one of the batch.
            RuntimeError: Another thread uses the stepper.
        """
        if rows is None:
            _native.reset(self._native)
            return
        if isinstance(rows, Iterable) and not isinstance(
            rows, (np.ndarray, Mapping, str, bytes, bytearray)
        ):
            rows = list(rows)
        try:
            numbers = np.asarray(rows)
        except ValueError:  # lists of different lengths
            numbers = np.empty((0, 0))
        if numbers.dtype == bool and numbers.shape == (self._batch_size,):
            numbers = np.flatnonzero(numbers)
        numbers = np.atleast_1d(numbers)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise ValueError(
                f"rows must be an integer, a list of integers or an array of {self._batch_size} bools, but they are "
                f"{rows!r}."
            )
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < self._batch_size:
            raise ValueError(
                f"rows must be from 0 to {self._batch_size - 1}, but they are {rows!r}."
            )
        _native.reset(self._native, np.ascontiguousarray(numbers, np.int64))

    @property
    def states(self) -> Mapping[str, _Array]:
        """Copies of the states, a dict {name: array of the shape [B, ...]} that cannot be changed.

        A dict that is assigned sets the states that it names, all between the same two calls. If it has an array for
        each state and none of the names, as the states of a model that was built again, the order counts.

        Raises ValueError if a name or a shape is wrong, and RuntimeError if another thread uses the stepper.
        """
        states = self._copy_states()
        for array in states.values():
            array.setflags(write=False)
        return _States(states)

    @states.setter
    def states(self, values: Mapping[str, Any]) -> None:
        if not isinstance(values, Mapping):
            raise ValueError(
                f"states must be a dict of arrays, but it is a {type(values).__name__}."
            )
        values = given_arrays.with_names_of(self._states, values)
        arrays = [
            (k, values[tensor.name])
            for k, tensor in enumerate(self._states)
            if tensor.name in values
        ]
        if not _native.set_states(self._native, *itertools.chain.from_iterable(arrays)):
            converted = [
                (k, given_arrays.converted("The state", self._states[k], a)) for k, a in arrays
            ]
            _native.set_states(self._native, *itertools.chain.from_iterable(converted))

    def _copy_states(self) -> dict[str, _Array]:
        states = {tensor.name: np.empty(tensor.shape, np.float32) for tensor in self._states}
        _native.get_states(self._native, *states.values())
        return states

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file for load(), without the states.

        The file works with every B and T that the model accepts, also if this stepper has other ones: `export` with
        `batch_size` and `time` writes a file that has only these.

        Args:
            path: The file, which must not exist. Its parent folders are created.

        Raises:
            FileExistsError: The file exists.
            OSError: It cannot be written.
        """
        content = self._current_content()
        with atomic_write.atomic_write(pathlib.Path(path).expanduser()) as unfinished:
            unfinished.write_bytes(content)

    def update(self, model: Any) -> None:
        """Takes over a model, such as one with the weights of further training. The values of the states stay.

        Any thread may update a stepper that another one calls. No call raises an error for it, and no step is lost:
        a call that runs ends with the old model, and the next one uses the new model. Calls run while the update
        prepares the model. For a file, that takes as long as load(); a Keras model is traced first, which takes some
        tenths of a second or more. Then a call copies the states, or waits until they are copied.

        Args:
            model: A Keras model, or a file, its content as bytes, or a Stepper, which need neither TensorFlow nor
                Keras. The states of a stepper are not taken. It must accept B and T of this stepper, and its inputs,
                outputs and states must agree with those of this stepper in number, type and shape, in the same order.
                Their names may differ; those of this stepper stay.

        Raises:
            TypeError: model is none of these.
            ValueError: The model has other inputs, outputs or states, has them in another order, or does not accept B
                or T; or it is not a valid file, or a stepper cannot run it. Nothing has changed then.
            OSError: The file cannot be read.

        Example:
            >>> import keras
            >>> import tf_rnn_ops.keras
            >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.GRU(4, name="gru")])
            >>> stepper = tf_rnn_ops.keras.stepper(model)
            >>> model.set_weights([0.5 * weight for weight in model.get_weights()])
            >>> stepper.update(model)
        """
        if isinstance(model, (str, os.PathLike)):
            content = pathlib.Path(model).expanduser().read_bytes()
        elif isinstance(model, (bytes, bytearray, memoryview)):
            content = bytes(model)
        elif isinstance(model, Stepper):
            content = Stepper._current_content(model)
        elif sys.modules.get("keras") is None:
            raise TypeError(
                "model must be a Keras model, the path or the bytes of a file, or a Stepper, but it is a "
                f"{type(model).__name__}."
            )
        else:
            content = models.content(model, self.batch_size, self.time, self.inputs)
        with self._turn():
            try:
                _native.update(self._native, content)
            except ValueError as error:
                if isinstance(model, (str, os.PathLike)):
                    raise ValueError(f"{model}: {error}") from None
                raise
            self._content = content

    def _turn(self) -> threading.Lock:
        """The lock under which the content and the model of the calls change together. No call waits for it."""
        if self._process != os.getpid():
            # Another thread of the parent process may have had the lock.
            self._lock, self._process = threading.Lock(), os.getpid()
        return self._lock

    def _current_content(self) -> bytes:
        with self._turn():
            content = self._content
        return self._renamed(content)

    def _renamed(self, content: bytes) -> bytes:
        """A content with the names of this stepper, which an update does not change."""
        lists = (self._inputs, self._outputs, self._states)
        return file_format.with_names(content, *([tensor.name for tensor in t] for t in lists))

    def __repr__(self) -> str:
        inputs = ", ".join(f"{tensor.name}: {list(tensor.shape)}" for tensor in self.inputs)
        outputs = ", ".join(f"{tensor.name}: {list(tensor.shape)}" for tensor in self.outputs)
        return f"<Stepper ({inputs}) -> ({outputs}), states {[t.name for t in self._states]}>"

    def __getstate__(self) -> dict[str, Any]:
        sizes = {"batch_size": self._batch_size, "time": self._time, "threads": self._threads}
        with self._turn():
            content, states = self._content, self._copy_states()
        return {"content": self._renamed(content), **sizes, "states": states}

    def __setstate__(self, state: dict[str, Any]) -> None:
        arguments = {name: value for name, value in state.items() if name != "states"}
        self.__init__(**arguments)  # type: ignore[misc]
        self.states = state["states"]


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


__getattr__, __dir__ = _lazy.attach(__name__, __all__)
