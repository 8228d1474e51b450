"""export: writes a model as a file for another runtime, compares the two, and reports."""

import dataclasses
import functools
import os
import pathlib
import tempfile
from typing import Any, Callable

import keras

from tf_rnn_ops._formats import formats
from tf_rnn_ops._formats.exported_layer import LOOP, ExportedLayer
from tf_rnn_ops._python import atomic_write, checks
from tf_rnn_ops.keras._export import signatures, writers
from tf_rnn_ops.keras._export.check import verification
from tf_rnn_ops.keras._export.outputs import Outputs
from tf_rnn_ops.keras._export.writers import Job, Prepared
from tf_rnn_ops.keras._report.progress import Progress
from tf_rnn_ops.keras._report.shown import Shown
from tf_rnn_ops.keras.dispatch import environment


@dataclasses.dataclass(frozen=True, repr=False)
class Exported(Shown):
    """The report of export(). table() returns it as text.

    Attributes:
        path: The file or folder.
        format: Its format.
        layers: A list of ExportedLayer, one for each recurrent layer.
        size: Bytes of the file, or of all files in the folder.
        output: The output that agrees least with the model. It and `inputs` are empty, and the next five
            attributes are None, if the file was not run.
        difference: The absolute difference of this output, at the element that agrees least.
        tolerance: The difference that is allowed there.
        largest: The largest number of this output.
        file_ms: Median time of a call of the file.
        model_ms: Median time of a call of the model in a tf.function.
        inputs: The shapes of the inputs of these calls.
        note: Sentences on a step that was skipped, on names and sizes that export() chose, and on layers
            whose int8 weights became floats; empty if there are none.
        printed: Whether export() has printed the table.

    Example:
        >>> import os
        >>> import tempfile
        >>> import keras
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.GRU(4)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = tf_rnn_ops.keras.export(model, os.path.join(folder, "gru"), print_fn=None)
        >>> report.summary().endswith("recurrent layers: 1, loops: 0")
        True
    """

    path: str
    format: str
    layers: list[ExportedLayer]
    size: int
    output: str = ""
    difference: float | None = None
    tolerance: float | None = None
    largest: float | None = None
    file_ms: float | None = None
    model_ms: float | None = None
    inputs: str = ""
    note: str = ""
    printed: bool = False

    def summary(self) -> str:
        """One line."""
        loops = sum(layer.target_op == LOOP for layer in self.layers)
        return f"{self.path}: recurrent layers: {len(self.layers)}, loops: {loops}"

    def tables(self) -> list:
        """The layers and the measurements."""
        parts: list = [f"{self.path}: {self.format}, {self.size:,} bytes"]
        if self.layers:
            rows = [(layer.name, layer.op, layer.target_op, layer.remarks) for layer in self.layers]
            parts.append([("layer", "op", "target op", "remarks"), *rows])
        else:
            parts.append("There is no recurrent layer.")
        if self.difference is not None:
            parts += [
                f"Largest difference: {self.difference:.1e}, allowed: {self.tolerance:.1e}, in the output "
                f"{self.output!r}, whose largest number is {self.largest:.1e}.",
                f"Median time of a call with {self.inputs}: the file {self.file_ms:.3f} ms, the given model "
                f"{self.model_ms:.3f} ms (its own layers in a tf.function).",
            ]
        return parts + ([self.note] if self.note else [])


def export(
    model: keras.Model,
    filepath: str | os.PathLike,
    format: str | None = None,
    *,
    overwrite: bool = False,
    batch_size: int | None = None,
    time: int | None = None,
    input_signature: Any = None,
    streaming: bool = False,
    weight_format: str | None = None,
    opset: int | None = None,
    tolerance: float | None = None,
    verify: bool = True,
    verify_inputs: Any = None,
    loops: bool = True,
    print_fn: Callable[[str], Any] | None = print,
) -> Exported:
    """Writes a model for another runtime, runs the file there and compares it with the model.

    The layers of Keras are converted first, as in convert(), so that each recurrent layer becomes one node
    of the format if the format has a node for it. Other recurrent layers become loops of ordinary ops with
    the same results. The given model does not change.

    Args:
        model: A Keras 3 model that is built, with layers of Keras, of this package, or both.
        filepath: The file, or for 'tf_saved_model' the folder. '~' is the home folder.
            Its parent folders are created. After an error or Ctrl-C there is no new file.
        format: 'tf_saved_model', 'onnx', 'litert', 'openvino', or 'rnn' for tf_rnn_ops.stepper. None takes the one of the end of
            `filepath`: .onnx, .tflite, .xml or .rnn, and 'tf_saved_model' if it has none or a version such as .1. The
            last three need the extra of that name: pip install 'tf_rnn_ops[onnx]'.
        overwrite: Whether what has that name is replaced, after the new file was checked: a file by a file, and the folder
            of a SavedModel or an empty folder by a SavedModel. A file also replaces a link, and a SavedModel a link to such
            a folder; the target of the link stays. Anything else is an error, and so is everything if False.
        batch_size: B of the file. None keeps that of the signature. If this is open, the file takes any B,
            except for 'litert' without an input_signature, which gets 1: a fused LSTM needs a known B. A
            stateful model has one B.
        time: T of the file, for each input with an open number of steps, or else for each sequence that may have
            another number; with streaming for each input with the steps of the stream. None keeps the sizes.
        input_signature: A list with a structure of specs (keras.InputSpec, tf.TensorSpec) for each
            argument of the model. None uses the inputs of the model.
        streaming: Whether the file processes one or more steps in each call. False: each call gets whole sequences, for
            'rnn' of one length. The states of the recurrent
            layers are then inputs, named LAYER_h and LAYER_c, or as in the model, and outputs of the same
            names with '_next'. So are the previous (kernel_size - 1) * dilation_rate inputs of each Conv1D
            with padding='causal', named LAYER_x. A stream begins with zeros. Each call gets the states that
            the previous call returned. A call has `time` steps, or those of the signature; one if these are
            open, or those of the first batch of a model without an Input. Inputs that do not reach the time of such a layer, such as a memory for attention, are
            given whole to each call.
        weight_format: 'int8' stores the weights of the format's nodes in 8 bits if possible. None keeps their
            values. In ONNX and LiteRT int8 weights of recurrent layers become floats, and the report says
            so.
        opset: For 'onnx' the version of its ops, 15 to 18; None is 18.
        tolerance: The absolute difference that is allowed in each output. None depends on the narrowest type
            that the model computes in and on the numbers of the output.
        verify: Whether to run the file and the model, in several calls.
        verify_inputs: The batch of these calls, in the form for model.predict_on_batch, or the path of a file
            of np.savez with an array for each input. With streaming, the steps of one call are repeated in
            several calls. None makes up batches, of two sizes and numbers of
            steps where these are open, with sequences of different lengths if the model makes masks.
        loops: Whether a layer may become a loop.
        print_fn: A function that is called with the report; None prints nothing. A line that tells what runs is
            only shown with `print` on a terminal.

    Returns:
        An Exported. A shell or a notebook shows its table if it has not been printed.

    Raises:
        TypeError: model is not a Keras 3 model, filepath is not a path, overwrite or verify is not a bool, or
            print_fn is not a function.
        ValueError: model is not built, or cannot be written in this format; format or weight_format is unknown,
            filepath has no name, or its end is that of another format or of none; input_signature, batch_size, time or the batch
            does not fit the model; a layer would become a loop and loops is False; a layer cannot stream, or is one that
            Keras computes wrongly; or the outputs differ by more than the tolerance.
        FileExistsError: filepath exists, and overwrite is False or does not replace what is there.
        OSError: filepath cannot be written.
        ImportError: A package that the format needs is not installed.

    Example:
        >>> import os
        >>> import tempfile
        >>> import keras
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = tf_rnn_ops.keras.export(model, os.path.join(folder, "lstm"), print_fn=None)
        >>> [layer.target_op for layer in report.layers], report.difference < 1e-6
        (['LayerRNNPacked'], True)
    """
    environment.check_model(model)
    checks.check_path("filepath", filepath)
    checks.check_bool("overwrite", overwrite)
    checks.check_print_fn(print_fn)
    checks.check_open_sizes(batch_size=batch_size, time=time)
    _check_verify(verify, verify_inputs, tolerance)
    target = pathlib.Path(filepath).expanduser()
    format = formats.of(target, format)
    options = formats.options(format, weight_format, opset)
    writer = writers.writer(format, options)
    # The number of steps of a stream is not that of its other inputs.
    fixed = None if streaming else time
    signature, notes = _signature(model, format, input_signature, batch_size, fixed)
    if isinstance(verify_inputs, (str, os.PathLike)):
        verify_inputs = signatures.batch_of_file(verify_inputs, signature)
    with (
        atomic_write.atomic_write(target, overwrite, format == formats.SAVED_MODEL) as unfinished,
        tempfile.TemporaryDirectory() as folder,
        Progress(print_fn) as progress,
    ):
        progress.show("tracing the model")
        outputs = Outputs(model, format)
        opens = signatures.are_of_a_batch(model, input_signature)
        job = Job(model, unfinished, folder, signature, streaming, time, opens, outputs)
        prepared = writer.prepare(job)
        if prepared.looping and not loops:
            first = prepared.looping[0]
            raise ValueError(f"The layer {first.name!r} becomes a loop, because {first.reason}.")
        progress.show(f"writing {target.name}")
        layers = writer.write(job, prepared, loops)
        size = sum(p.stat().st_size for p in unfinished.parent.rglob("*") if p.is_file())
        checked: dict[str, Any] = {"note": _why_not_run(verify, format)}
        if not checked["note"]:
            file = verification.File(
                called=prepared.stream or signature,
                load=functools.partial(writer.load, unfinished),
                in_int8=weight_format is not None,
                in_float32=format in formats.WITHOUT_FLOAT64,
            )
            checked = verification.verify(model, file, outputs, verify_inputs, tolerance, progress)
    notes += _notes_on(prepared, writer.steps_of_stream, weight_format)
    checked["note"] = " ".join(filter(None, [*notes, *outputs.notes(), checked["note"]]))
    report = Exported(str(target), format, layers, size, printed=print_fn is not None, **checked)
    if print_fn is not None:
        print_fn(report.table())
    return report


def _signature(
    model: keras.Model, format: str, given: Any, batch_size: int | None, time: int | None
) -> tuple[list, list[str]]:
    """The signature of a file, and sentences on names and sizes that are not those of the model."""
    signature, notes = signatures.of(model, given, batch_size, time), []
    if given is None and signatures.has_open_batch(signature):
        notes += signatures.opened_batch(model)
        if format == "litert":
            signature = signatures.of(model, None, 1, time)
            notes.append("The batch size of the file is 1; batch_size gives another.")
    if format != formats.SAVED_MODEL:
        signature = signatures.named_for_users(signature)
    return signature, signatures.changed_names(model, given, signature) + notes


def _notes_on(prepared: Prepared, steps: str, weight_format: str | None) -> list[str]:
    """Sentences on weights and steps that are not those of the model. `steps`: see Writer.steps_of_stream."""
    notes = []
    if prepared.became_float and weight_format is None:
        names = ", ".join(prepared.became_float)
        notes.append(f"The int8 weights of {names} are stored as floats.")
    if prepared.stream is not None and prepared.stream.opened is not None:
        notes.append(
            f"The model has no keras.Input: T of the file is {steps} instead of the {prepared.stream.opened} steps of the "
            "model's first batch; time fixes it."
        )
    return notes


def _why_not_run(verify: bool, format: str) -> str:
    return "The file was not run." if not verify else formats.why_not_run(format)


def _check_verify(verify: Any, verify_inputs: Any, tolerance: Any) -> None:
    checks.check_tolerance(tolerance)
    checks.check_bool("verify", verify, ": verify_inputs takes a batch")
    if verify_inputs is not None and not verify:
        raise ValueError("verify_inputs has no effect with verify=False: leave out one of the two.")
