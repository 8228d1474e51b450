"""The writers of the formats: each prepares a model and then writes it."""

import dataclasses
import inspect
import pathlib
from typing import Any, Callable, NamedTuple

import keras
import tensorflow as tf

from tf_rnn_ops._formats import formats
from tf_rnn_ops._formats.exported_layer import LOOP, ExportedLayer
from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.keras import _layer_paths as paths
from tf_rnn_ops.keras._convert import layer_calls
from tf_rnn_ops.keras._convert.on_ops import on_ops
from tf_rnn_ops.keras._export.check import int8_error, known_faults
from tf_rnn_ops.keras._export.layer_names import LayerNames
from tf_rnn_ops.keras._export.outputs import Outputs
from tf_rnn_ops.keras._export.stepper.stepper import traced, traced_window
from tf_rnn_ops.keras._export.streaming.stream import Stream, stream_of
from tf_rnn_ops.keras._report.explain import explain


class Job(NamedTuple):
    """An export.

    Attributes:
        model: The model.
        path: The path of the new file, which does not exist.
        folder: An empty folder for files that are needed while it is written.
        signature: The signature of the model's arguments.
        streaming: Whether the file processes some steps in each call.
        time: With streaming, T of a call, or None.
        opens: Whether the sizes of the signature are those of the first batch of the model.
        outputs: The Outputs of the file.
    """

    model: keras.Model
    path: pathlib.Path
    folder: str
    signature: list
    streaming: bool
    time: int | None
    opens: bool
    outputs: Outputs


class Prepared(NamedTuple):
    """A model that is ready to be written.

    Attributes:
        layer_names: The LayerNames.
        stream: The Stream, or None.
        looping: An ExportedLayer for each layer on Keras's implementation.
        became_float: The names of the recurrent layers whose int8 weights became floats.
        content: The content of the file, if it is not made of a SavedModel.
        layers: The recurrent layers of the content.
    """

    layer_names: LayerNames
    stream: Stream | None
    looping: list[ExportedLayer]
    became_float: list[str]
    content: bytes = b""
    layers: tuple[ExportedLayer, ...] = ()


class Writer:
    """The writer of a format that is made of a SavedModel.

    Attributes:
        steps_of_stream: The number of steps of a file for a model that has that of its first batch, for a report.
    """

    steps_of_stream = "1"
    # Whether recurrent layers get floats for int8 weights.
    _in_float = False

    def __init__(self, format: str, options: dict[str, Any]) -> None:
        """Imports the module of a format.

        Args:
            format: One of formats.FORMATS.
            options: The result of formats.options.
        """
        self._module, self._options = formats.writer(format), options

    def prepare(self, job: Job) -> Prepared:
        """Writes the SavedModel."""
        with on_ops(job.model) as ours:
            dequantizes = self._in_float and ours is not job.model
            names = int8_error.dequantize(ours) if dequantizes else []
            layer_names, stream = LayerNames(ours), None
            function, signature = ours.__call__, job.signature
            if job.streaming:
                stream = stream_of(ours, signature, job.time, job.opens)
                function, signature = (
                    stream.observed_by(layer_names.run).function,
                    stream.signature,
                )
            else:  # the number of steps of a stream is known
                known_faults.refuse(ours, signature)
            function = job.outputs.of(function, signature)
            with layer_calls.replaced(layer_names.run):
                _write_saved_model(ours, self._folder(job), function, signature)
            rows = explain(ours, print_fn=None)
        looping = [
            ExportedLayer(row.layer, row.kind, LOOP, row.reason)
            for row in rows
            if row.path == paths.KERAS
        ]
        return Prepared(layer_names, stream, looping, names)

    def write(self, job: Job, prepared: Prepared, loops: bool) -> list[ExportedLayer]:
        """Writes the file.

        Args:
            job: The Job.
            prepared: The result of prepare().
            loops: Whether recurrent layers may become loops.

        Returns:
            An ExportedLayer for each recurrent layer, with the names that explain() has.

        Raises:
            ValueError: The model cannot be written.
        """
        layers = self._module.write(self._folder(job), str(job.path), loops=loops, **self._options)
        names = prepared.layer_names
        named = [dataclasses.replace(layer, name=names.of(layer.name)) for layer in layers]
        return named + prepared.looping

    def load(self, path: pathlib.Path) -> Callable:
        """The function of a file in the format's own runtime; see formats.Writer."""
        return self._module.load(str(path))

    def _folder(self, job: Job) -> str:
        """The folder of the SavedModel."""
        return job.folder


class _SavedModelWriter(Writer):
    """The SavedModel is the file."""

    def _folder(self, job: Job) -> str:
        return str(job.path)


class _LiteRTWriter(Writer):
    # WHY: LiteRT's converter does not fold large int8 weights with their scales, and its int8 needs floats.
    _in_float = True


class _StepperWriter(Writer):
    """The writer of files for tf_rnn_ops.stepper, which are made of the layers of a stream or of windows."""

    steps_of_stream = "open"

    def prepare(self, job: Job) -> Prepared:
        """Traces the model."""
        with on_ops(job.model) as ours:
            stream = None
            if job.streaming:
                stream = stream_of(ours, job.signature, job.time, job.opens)
                file = traced(stream, job.signature, job.time, job.opens and job.time is None)
            else:
                file = traced_window(ours, job.signature)
        layers = tuple(ExportedLayer(name, op, formats.RNN) for name, op in file.layers)
        return Prepared(LayerNames(ours), stream, [], [], file.content, layers)

    def write(self, job: Job, prepared: Prepared, loops: bool) -> list[ExportedLayer]:
        """Writes the content; see Writer. No layer becomes a loop."""
        del loops
        job.path.write_bytes(prepared.content)
        return list(prepared.layers)


_CLASSES = {
    formats.SAVED_MODEL: _SavedModelWriter,
    "litert": _LiteRTWriter,
    formats.RNN: _StepperWriter,
}


def writer(format: str, options: dict[str, Any]) -> Writer:
    """The Writer of a format; see the constructor for the arguments.

    Raises:
        ImportError: A package that the format needs is not installed.
    """
    return _CLASSES.get(format, Writer)(format, options)


class _CannotBeCalled(ValueError):
    """The model does not accept the signature."""


def _write_saved_model(
    model: keras.Model, folder: str, function: Callable, signature: list
) -> None:
    def serve(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:  # layers may raise any error for a wrong signature
            raise _CannotBeCalled(
                f"The model cannot be called with the inputs {signature}: {one_line(error)} Give the "
                "specs of its arguments as input_signature."
            ) from error

    archive = keras.export.ExportArchive()
    archive.track(model)
    try:
        archive.add_endpoint("serve", serve, signature)
        # An older Keras has no such argument.
        known = inspect.signature(archive.write_out).parameters
        archive.write_out(folder, **({"verbose": False} if "verbose" in known else {}))
    except _CannotBeCalled as error:
        raise ValueError(str(error)) from error.__cause__
    except (OSError, tf.errors.OpError) as error:
        raise OSError(f"The SavedModel cannot be written: {one_line(error)}") from error
    except Exception as error:  # TensorFlow raises errors of any kind for what it cannot save
        raise ValueError(f"The model cannot be saved: {one_line(error)}") from error
