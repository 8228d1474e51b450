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
_Rows = Iterable[int] | int | None
# Instead of the number of a row.
_ALL_ROWS = -1
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

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        # For `stepper.states |= {...}`, which assigns the result.
        return dict(self) | dict(other)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies of it are dicts of their owner.
        return dict, (dict(self),)


class _Model:
    """The parts that a stepper shares with its clones: the content of a file, and a lock for its updates."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._lock, self._process = threading.Lock(), os.getpid()

    def turn(self) -> threading.Lock:
        """The lock under which the content and the model of the calls change together. No call waits for it."""
        if self._process != os.getpid():
            # Another thread of the parent process may have had the lock.
            self._lock, self._process = threading.Lock(), os.getpid()
        return self._lock


class Stepper:
    """A model that processes T steps of B streams in each call, and keeps the states in between.

    A stepper has a copy of the weights: it does not see later changes of a model. One thread may use a
    stepper at a time; several steppers run side by side, and any thread may update() a stepper. A clone() shares the
    weights. A stepper can be copied and pickled, with its states; these copies have weights of their own. A process
    that is forked while another thread calls a stepper cannot use that stepper.

    Attributes:
        inputs: A tuple of Tensor.
        outputs: A tuple of Tensor.
        batch_size: B.
        time: T, the steps of a call.
        threads: The most threads of a call.
        streaming: Whether the states stay from call to call. False: each call gets whole windows of T steps, and begins with zeros.
        metadata: The texts that save() wrote into the file, a dict.
        fingerprint: A text that differs for other weights or another graph; "" if the file has none.

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
        self._model: _Model | None = _Model(bytes(content))
        self._native = _native.new(
            self._model.content, int(batch_size or 0), int(time or 0), int(threads)
        )
        batch, steps, is_window, *lists = _native.describe(self._native)
        self._batch_size, self._time, self._streaming = int(batch), int(steps), not is_window
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

    def clone(self) -> "Stepper":
        """Makes a stepper that shares the weights, and that has a copy of the states.

        It costs the memory of its states and some hundred bytes, and about a microsecond. An update() of one of them is one
        of all. Each of them may be closed first. Steppers that share weights may run in several threads at once. For
        a new stream, clone a stepper that is never called, or reset() the clone.

        Returns:
            A Stepper of the same class.

        Raises:
            RuntimeError: Another thread uses the stepper.
            ValueError: The stepper is closed.

        Example:
            >>> import keras
            >>> import tf_rnn_ops.keras
            >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.GRU(4, name="gru")])
            >>> stepper = tf_rnn_ops.keras.stepper(model)
            >>> clients = {name: stepper.clone() for name in ("a", "b")}
            >>> clients["a"](np.ones((1, 1, 3), "float32")).shape
            (1, 4)
            >>> clients["b"].states["gru_h"]
            array([[0., 0., 0., 0.]], dtype=float32)
        """
        self._open_model()
        clone = type(self).__new__(type(self))
        clone.__dict__.update(self.__dict__, _native=_native.clone(self._native))
        return clone

    def close(self) -> None:
        """Frees the memory of the states, and that of the weights and the file if no other stepper has them.

        A stepper that is no longer referred to is closed too. After close(), each use but that of its sizes raises a
        ValueError. A with statement closes a stepper at its end.

        Raises:
            RuntimeError: Another thread uses the stepper.
        """
        _native.close(self._native)
        self._model = None

    def __enter__(self) -> "Stepper":
        self._open_model()
        return self

    def _open_model(self) -> _Model:
        model = self._model
        if model is None:
            raise ValueError("The stepper is closed.")
        return model

    def __exit__(self, *_: object) -> None:
        self.close()

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

    @property
    def streaming(self) -> bool:
        return self._streaming

    @property
    def metadata(self) -> dict[str, str]:
        return file_format.metadata(self._open_model().content)[0]

    @property
    def fingerprint(self) -> str:
        return file_format.metadata(self._open_model().content)[1]

    @overload
    def __call__(
        self, inputs: _Inputs, out: _Result, *, last_step: bool = False, idle: _Rows = None
    ) -> _Result: ...

    @overload
    def __call__(
        self,
        inputs: _Inputs,
        out: Sequence[_Result] | Mapping[str, _Result] | None = None,
        *,
        last_step: bool = False,
        idle: _Rows = None,
    ) -> _Result | dict[str, _Result]: ...

    def __call__(
        self, inputs: Any, out: Any = None, *, last_step: bool = False, idle: Any = None
    ) -> Any:
        """Runs the next T steps of every stream.

        Args:
            inputs: An array, a list of arrays in the order of `inputs`, or {name: array}. Other dtypes are
                converted as numpy converts to the same kind, float64 and bfloat16 to float32, and floats without a
                fraction to int32. All of them may have fewer steps than T, such as those of a last block.
            out: Arrays for the results, in the same forms: float32, of the shapes of `outputs`, contiguous and
                aligned. They must not overlap the inputs. None makes new ones.
            last_step: Whether an output with steps is its last step only, [B, ...].
            idle: Rows whose states do not move, in the forms of reset(): their outputs are zeros. Their inputs are
                checked as those of other rows. None stands for no row.

        Returns:
            The output, an array; or with several outputs {name: array}.

        Raises:
            ValueError: An argument does not fit. The states are then those before the call.
            RuntimeError: Another thread uses the stepper. An update() of another thread raises no error.
        """
        if self._shape is not None and idle is None and last_step is False:
            result = np.empty(self._shape, np.float32) if out is None else out
            if _native.call(self._native, inputs, result):
                return result
        return self._call_converted(inputs, out, last_step, idle)

    def _call_converted(self, inputs: Any, out: Any, last_step: bool, idle: Any) -> Any:
        if not isinstance(last_step, (bool, np.bool_)):
            raise ValueError(f"last_step must be True or False, but it is {last_step!r}.")
        of_list = "In the list of arrays, the" if isinstance(inputs, (list, tuple)) else "The"
        values = given_arrays.in_order("inputs", self._inputs, inputs)
        steps = given_arrays.steps_of(self._inputs, values, self._time)
        arrays = [
            given_arrays.converted(f"{of_list} input", tensor, value)
            for tensor, value in zip(given_arrays.with_steps(self._inputs, steps), values)
        ]
        outputs = given_arrays.with_steps(self._outputs, None if last_step else steps)
        if out is None:
            results = [np.empty(tensor.shape, np.float32) for tensor in outputs]
        else:
            results = given_arrays.in_order("out", outputs, out)
            for tensor, array in zip(outputs, results):
                given_arrays.check_out(tensor, array)
        if steps == self._time and idle is None and not last_step:
            if not _native.call(self._native, *arrays, *results):
                raise RuntimeError("The kernels do not accept the arrays of this call.")
        else:
            mask = np.zeros(0 if idle is None else self._batch_size, np.uint8)
            if idle is not None:
                mask[self._numbers_of("idle", idle)] = 1
            _native.call_with(self._native, steps, int(last_step), mask, *arrays, *results)
        if len(results) == 1:
            return results[0]
        return {tensor.name: array for tensor, array in zip(self._outputs, results)}

    def reset(self, rows: _Rows = None) -> None:
        """Begins new streams, whose states are zeros.

        Args:
            rows: A row of the batch, or several, or a mask: an array of B bools. None is all rows.

        Raises:
            ValueError: A row is not one of the batch.
            RuntimeError: Another thread uses the stepper.
        """
        if rows is None:
            _native.reset(self._native)
        else:
            _native.reset(self._native, self._numbers_of("rows", rows))

    def _numbers_of(self, argument: str, rows: Any) -> _Array:
        """The numbers of rows of the batch, which an argument has in any form."""
        if isinstance(rows, Iterable) and not isinstance(
            rows, (np.ndarray, Mapping, str, bytes, bytearray)
        ):
            rows = list(rows)
        try:
            numbers = np.asarray(rows)
        except ValueError:  # lists of different lengths
            numbers = np.empty((0, 0))
        if isinstance(rows, list) and len({isinstance(row, (bool, np.bool_)) for row in rows}) > 1:
            numbers = np.empty((0, 0))  # numpy makes 1 of True
        if numbers.dtype == bool and numbers.shape == (self._batch_size,):
            numbers = np.flatnonzero(numbers)
        numbers = np.atleast_1d(numbers)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise ValueError(
                f"{argument} must be an integer, a list of integers or an array of {self._batch_size} bools, but they are "
                f"{rows!r}."
            )
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < self._batch_size:
            raise ValueError(
                f"{argument} must be from 0 to {self._batch_size - 1}, but they are {rows!r}."
            )
        return np.ascontiguousarray(numbers, np.int64)

    @property
    def states(self) -> Mapping[str, _Array]:
        """Copies of the states, a dict {name: array of the shape [B, ...]} that cannot be changed.

        A dict that is assigned sets the states that it names, all between the same two calls. If it has an array for
        each state and none of the names, as the states of a model that was built again, the order counts.

        Raises ValueError if a name or a shape is wrong, and RuntimeError if another thread uses the stepper.
        """
        return self._copied_states(_ALL_ROWS)

    @states.setter
    def states(self, values: Mapping[str, Any]) -> None:
        self._set_states("states", self._states, _ALL_ROWS, values)

    def get_row(self, row: int) -> Mapping[str, _Array]:
        """Copies the states of one row of the batch.

        Args:
            row: The number of the row.

        Returns:
            A dict {name: array of the shape [1, ...]} that cannot be changed: the `states` of a stepper of the same
            model with a B of 1.

        Raises:
            ValueError: The row is not one of the batch.
            RuntimeError: Another thread uses the stepper.
        """
        return self._copied_states(self._row(row))

    def set_row(self, row: int, states: Mapping[str, Any]) -> None:
        """Sets the states of one row of the batch; the other rows stay.

        Args:
            row: The number of the row.
            states: A dict {name: array of the shape [1, ...]}, with the same rules as the dict that is assigned to `states`.

        Raises:
            ValueError: The row is not one of the batch, or a name or a shape is wrong.
            RuntimeError: Another thread uses the stepper.
        """
        row = self._row(row)
        self._set_states("states", self._states_of(row), row, states)

    def _row(self, row: int) -> int:
        if isinstance(row, (bool, np.bool_)) or not isinstance(row, (int, np.integer)):
            raise ValueError(f"row must be an integer, but it is {row!r}.")
        if not 0 <= row < self._batch_size:
            raise ValueError(f"row must be from 0 to {self._batch_size - 1}, but it is {row}.")
        return int(row)

    def _states_of(self, row: int) -> tuple[Tensor, ...]:
        """The states of all rows, or of one."""
        if row == _ALL_ROWS:
            return self._states
        return tuple(tensor._replace(shape=(1, *tensor.shape[1:])) for tensor in self._states)

    def _copied_states(self, row: int) -> Mapping[str, _Array]:
        states = self._copy_states(row)
        for array in states.values():
            array.setflags(write=False)
        return _States(states)

    def _copy_states(self, row: int) -> dict[str, _Array]:
        tensors = self._states_of(row)
        states = {tensor.name: np.empty(tensor.shape, np.float32) for tensor in tensors}
        _native.get_states(self._native, row, *states.values())
        return states

    def _set_states(
        self, argument: str, tensors: Sequence[Tensor], row: int, values: Mapping[str, Any]
    ) -> None:
        if not isinstance(values, Mapping):
            raise ValueError(
                f"{argument} must be a dict of arrays, but it is a {type(values).__name__}."
            )
        values = given_arrays.with_names_of(tensors, values)
        arrays = [
            (k, values[tensor.name]) for k, tensor in enumerate(tensors) if tensor.name in values
        ]
        if not _native.set_states(self._native, row, *itertools.chain.from_iterable(arrays)):
            converted = [(k, given_arrays.converted("The state", tensors[k], a)) for k, a in arrays]
            _native.set_states(self._native, row, *itertools.chain.from_iterable(converted))

    def save(
        self,
        filepath: str | os.PathLike[str],
        metadata: Mapping[str, str] | None = None,
        overwrite: bool = False,
    ) -> None:
        """Writes a file for load(), without the states.

        The file works with every B and T that the model accepts, also if this stepper has other ones: `export` with
        `batch_size` and `time` writes a file that has only these.

        Args:
            filepath: The file. Its parent folders are created.
            metadata: Texts for `metadata`, a dict {key: text}. None is that of this stepper.
            overwrite: Whether an existing file is replaced. A process that opens it gets the old or the new one, whole. A link
                is replaced too, and its target stays. A folder is never replaced.

        Raises:
            TypeError: filepath is not a path, or overwrite is not a bool.
            ValueError: metadata is not a dict of texts.
            FileExistsError: The file exists and overwrite is False, or it is a folder.
            OSError: It cannot be written.
        """
        checks.check_path("filepath", filepath)
        checks.check_bool("overwrite", overwrite)
        content = self._current_content()
        if metadata is not None:
            content = file_format.with_metadata(content, metadata)
        target = pathlib.Path(filepath).expanduser()
        with atomic_write.atomic_write(target, overwrite) as unfinished:
            unfinished.write_bytes(content)

    def update(self, model: Any) -> None:
        """Takes over a model, for this stepper and all that share its weights. The values of the states stay.

        Such as one with the weights of further training. Any thread may update a stepper that others call. No call
        raises an error or waits for it, and no step is lost: a call that runs ends with the old model, and all later
        ones use the new model. Calls run while the update prepares the model. For a file, that takes as long as load(); a
        Keras model is traced first, which takes some tenths of a second or more.

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
        of_calls = self._open_model()
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
            content = models.content(model, self.batch_size, self.time, self.inputs, self.streaming)
        with of_calls.turn():
            try:
                _native.update(self._native, content)
            except ValueError as error:
                if isinstance(model, (str, os.PathLike)):
                    raise ValueError(f"{model}: {error}") from None
                raise
            of_calls.content = content

    def _current_content(self) -> bytes:
        model = self._open_model()
        with model.turn():
            content = model.content
        return self._renamed(content)

    def _renamed(self, content: bytes) -> bytes:
        """A content with the names of this stepper, which an update does not change."""
        lists = (self._inputs, self._outputs, self._states)
        return file_format.with_names(content, *([tensor.name for tensor in t] for t in lists))

    def __repr__(self) -> str:
        inputs = ", ".join(f"{tensor.name}: {list(tensor.shape)}" for tensor in self.inputs)
        outputs = ", ".join(f"{tensor.name}: {list(tensor.shape)}" for tensor in self.outputs)
        end = f"states {[t.name for t in self._states]}" if self._streaming else "windows"
        return f"<Stepper ({inputs}) -> ({outputs}), {end}>"

    def __getstate__(self) -> dict[str, Any]:
        sizes = {"batch_size": self._batch_size, "time": self._time, "threads": self._threads}
        model = self._open_model()
        with model.turn():
            content, states = model.content, self._copy_states(_ALL_ROWS)
        return {"content": self._renamed(content), **sizes, "states": states}

    def __setstate__(self, state: dict[str, Any]) -> None:
        arguments = {name: value for name, value in state.items() if name != "states"}
        self.__init__(**arguments)  # type: ignore[misc]
        self.states = state["states"]


def load(
    filepath: str | os.PathLike[str],
    batch_size: int | None = None,
    time: int | None = None,
    threads: int = 1,
) -> Stepper:
    """Makes a stepper of a file. This imports neither TensorFlow nor Keras.

    Args:
        filepath: A file that tf_rnn_ops.keras.export or Stepper.save wrote.
        batch_size: B, the number of streams. None is that of the file, or 1 if the file works with any.
        time: T, the steps of a call. None is that of the file, or 1 if the file works with any.
        threads: The most threads of a call, including the caller's. A call of some microseconds uses one.

    Returns:
        A Stepper, whose states are zeros.

    Raises:
        TypeError: filepath is not a path.
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
    checks.check_path("filepath", filepath)
    content = pathlib.Path(filepath).expanduser().read_bytes()
    try:
        return Stepper(content, batch_size, time, threads)
    except ValueError as error:
        raise ValueError(f"{filepath}: {error}") from None


def isa() -> str:
    """The instruction set of the kernels: 'avx512', 'avx2' or 'baseline'.

    Example:
        >>> from tf_rnn_ops import stepper
        >>> stepper.isa() in ("avx512", "avx2", "baseline")
        True
    """
    return str(_native.isa())


__getattr__, __dir__ = _lazy.attach(__name__, __all__)
