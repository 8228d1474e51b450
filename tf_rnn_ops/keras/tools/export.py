"""export: writes a model as a file for another runtime, compares the two, and reports."""

import contextlib
import dataclasses
import inspect
import os
import pathlib
import re
import tempfile
from typing import Any, Callable

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops import _whole
from tf_rnn_ops._difference import largest_difference
from tf_rnn_ops.export import formats
from tf_rnn_ops.export.node import LOOP, Node
from tf_rnn_ops.keras.layers import quantization
from tf_rnn_ops.keras.layers.drop_in import OneOp
from tf_rnn_ops.keras.path import eligibility, environment
from tf_rnn_ops.keras.tools import feeds, signatures
from tf_rnn_ops.keras.tools.accelerate import Acceleration
from tf_rnn_ops.keras.tools.convert import convert
from tf_rnn_ops.keras.tools.explain import KERAS, explain
from tf_rnn_ops.keras.tools.shown import Shown
from tf_rnn_ops.keras.tools.streaming import Stream
from tf_rnn_ops.keras.tools.timing import take_turns
from tf_rnn_ops.params.keras_internals import flatten_layers

# {narrowest type of a model: (allowed difference relative to the largest output, absolute difference)}.
_TOLERANCES = {
    "float64": (1e-10, 1e-15),
    "float32": (1e-4, 5e-7),
    "float16": (1e-2, 4e-3),
    "bfloat16": (5e-2, 3e-2),
}
# The allowed relative difference if the file or the model has int8 weights.
_TOLERANCE_OF_INT8 = 0.1
# WHY: LiteRT's converter does not fold large int8 weights with their scales, and its int8 needs floats.
_FORMATS_OF_FLOATS = ("litert",)
_REPEATS = 20
# The beginnings of lines that Keras and TensorFlow write around the reason of an error.
_AROUND = (
    "Exception encountered when calling",
    "Graph execution error:",
    "Detected at node",
    "<stack traces unavailable>",
    "File ",
)
_BOLD = re.compile(r"\x1b\[\d+m")


@dataclasses.dataclass(frozen=True, repr=False)
class Exported(Shown):
    """The report of export(). str() returns a table.

    Attributes:
        filepath: The file or folder.
        format: Its format.
        nodes: A list of Node, one for each recurrent layer.
        size: Bytes of the file, or of all files in the folder.
        difference: Largest absolute difference between the outputs of the file and of the model. It and
            the next four attributes are None if the file was not run.
        tolerance: The largest difference allowed.
        largest: Largest absolute output of the model, the scale of both.
        file_ms: Median time of a call of the file.
        model_ms: Median time of a call of the model in a tf.function.
        note: A sentence on a step that was skipped, or on layers whose int8 weights became floats; empty if
            there is none.
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

    filepath: str
    format: str
    nodes: list[Node]
    size: int
    difference: float | None = None
    tolerance: float | None = None
    largest: float | None = None
    file_ms: float | None = None
    model_ms: float | None = None
    note: str = ""
    printed: bool = False

    def summary(self) -> str:
        """One line."""
        loops = sum(node.became == LOOP for node in self.nodes)
        return f"{self.filepath}: recurrent layers: {len(self.nodes)}, loops: {loops}"

    def tables(self) -> list:
        """The layers and the measurements."""
        parts: list = [f"{self.filepath}: {self.format}, {self.size:,} bytes"]
        if self.nodes:
            rows = [(node.name, node.op, node.became, node.why) for node in self.nodes]
            parts.append([("layer", "op", "became", "why"), *rows])
        else:
            parts.append("There is no recurrent layer.")
        if self.difference is not None:
            parts += [
                f"Largest difference of the outputs: {self.difference:.1e}, allowed: {self.tolerance:.1e}. "
                f"Largest output: {self.largest:.1e}.",
                f"Median time of a call: {self.file_ms:.3f} ms. The model takes {self.model_ms:.3f} ms.",
            ]
        return parts + ([self.note] if self.note else [])


def export(
    model: keras.Model,
    filepath: str | os.PathLike,
    format: str = "tf_saved_model",
    *,
    input_signature: Any = None,
    streaming: bool = False,
    quantize: str | None = None,
    loops: bool = True,
    verify: Any = True,
    print_fn: Callable[[str], Any] | None = print,
) -> Exported:
    """Writes a model for another runtime, runs the file there and compares it with the model.

    The layers of Keras are converted first, as in convert(), so that each recurrent layer becomes one node
    of the format if the format has a node for it. Other recurrent layers become loops of ordinary ops with
    the same results. The given model does not change.

    Args:
        model: A Keras 3 model that is built, with layers of Keras, of this package, or both.
        filepath: The file, or for 'tf_saved_model' the folder. It must not exist. Its parent folders are
            created. After an error there is no file.
        format: 'tf_saved_model', 'onnx', 'litert' or 'openvino'. The last three need the extra of that name:
            pip install 'tf_rnn_ops[onnx]'.
        input_signature: A list with a structure of specs (keras.InputSpec, tf.TensorSpec) for each
            argument of the model. None uses the inputs of the model.
        streaming: Whether the file processes one or more steps in each call. The states of the recurrent
            layers are then inputs, named LAYER_h and LAYER_c, or as in the model, and outputs of the same
            names with '_next'. A stream begins with zeros. Each call gets the states that the previous
            call returned. The number of steps of a call is fixed by input_signature or by the model,
            otherwise it is one.
        quantize: 'int8' stores the weights of the format's nodes in 8 bits if possible. None keeps their
            values. In ONNX and LiteRT int8 weights of recurrent layers become floats, and the report says
            so.
        loops: Whether a layer may become a loop.
        verify: Whether to run the file and the model. True makes up a batch, with sequences of different
            lengths if the model makes masks. It may also be a batch, in the form for
            model.predict_on_batch.
        print_fn: A function that is called with the report; None prints nothing.

    Returns:
        An Exported. A shell or a notebook shows its table if it has not been printed.

    Raises:
        TypeError: model is not a Keras 3 model, filepath is not a path, or print_fn is not a function.
        ValueError: model is not built, or cannot be written in this format; format or quantize is unknown;
            input_signature or the batch does not fit the model; a layer would become a loop and loops is
            False; a layer cannot stream; or the outputs differ by more than the tolerance, which depends
            on the narrowest type that the model computes in.
        FileExistsError: filepath exists.
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
        >>> [node.became for node in report.nodes], report.difference < 1e-6
        (['LayerRNNPacked'], True)
    """
    environment.refuse_keras_2(model, "model")
    if not isinstance(model, keras.Model):
        raise TypeError(f"model must be a Keras 3 model, but it is a {type(model).__name__}.")
    if not isinstance(filepath, (str, os.PathLike)):
        raise TypeError(f"filepath must be a path, but it is {filepath!r}.")
    if print_fn is not None and not callable(print_fn):
        raise TypeError(f"print_fn must be a function or None, but it is {print_fn!r}.")
    module = formats.writer(format)
    signature = signatures.of(model, input_signature)
    target = pathlib.Path(filepath)
    with _whole.whole(target) as unfinished, tempfile.TemporaryDirectory() as folder:
        saved = str(unfinished) if format == formats.SAVED_MODEL else folder
        looping, stream, became_float = _save(
            model, saved, signature, streaming, format in _FORMATS_OF_FLOATS
        )
        if looping and not loops:
            first = looping[0]
            raise ValueError(f"The layer {first.name!r} becomes a loop, because {first.reason}.")
        nodes = module.write(saved, str(unfinished), loops=loops, quantize=quantize)
        size = sum(p.stat().st_size for p in unfinished.parent.rglob("*") if p.is_file())
        found = _verify(model, stream or signature, verify, module, unfinished, format, quantize)
    if became_float and quantize is None:
        note = f"The int8 weights of {', '.join(became_float)} are stored as floats."
        found["note"] = f"{note} {found.get('note', '')}".strip()
    report = Exported(
        filepath=str(target),
        format=format,
        nodes=nodes + looping,
        size=size,
        printed=print_fn is not None,
        **found,
    )
    if print_fn is not None:
        print_fn(str(report))
    return report


def _save(model, folder, signature, streaming, in_float):
    """Writes the SavedModel from which the other formats are made.

    Returns:
        A Node for each layer on Keras's implementation, the Stream or None, and with in_float the names of
        the recurrent layers whose int8 weights became floats.
    """
    with _on_ops(model) as ours:
        names = _dequantize(ours) if in_float and ours is not model else []
        stream = Stream(ours, signature) if streaming else None
        function, signature = (
            (stream.function, stream.signature) if stream else (ours.__call__, signature)
        )
        archive = keras.export.ExportArchive()
        archive.track(ours)
        try:
            archive.add_endpoint("serve", function, signature)
            # An older Keras has no such argument.
            known = inspect.signature(archive.write_out).parameters
            archive.write_out(folder, **({"verbose": False} if "verbose" in known else {}))
        except Exception as error:  # layers may raise any error for a wrong signature
            raise ValueError(
                f"The model cannot be called with input_signature {signature}: {_one_line(error)}"
            ) from error
        rows = explain(ours, print_fn=None)
    looping = [Node(row.layer, row.kind, LOOP, row.why) for row in rows if row.path == KERAS]
    return looping, stream, names


def _dequantize(model):
    """Gives the recurrent layers of a model float weights. Returns the names of those that had int8 weights."""
    names = []
    for layer in flatten_layers(model):
        if isinstance(layer, OneOp) and eligibility.is_quantized(layer):
            quantization.dequantize(layer)
            names.append(layer.name)
    return names


@contextlib.contextmanager
def _on_ops(model):
    """The model on the layers of this package, or under accelerate() if it cannot be copied."""
    try:
        ours, path = convert(model), contextlib.nullcontext()
    except ValueError:
        ours, path = model, Acceleration()
    with path:
        yield ours


def _verify(model, called, verify, module, path, format, quantize):
    """Runs the file and the model. Returns attributes of Exported."""
    if verify is False:
        return {"note": "The file was not run."}
    if note := formats.why_not_run(format):
        return {"note": note}
    feed = (feeds.Steps if isinstance(called, Stream) else feeds.Batch)(model, called, verify)
    # WHY for a SavedModel too: a layer of Keras and the op differ in the last bit, which may decide how a
    # quantized layer behind them rounds.
    in_int8 = quantize is not None or _has_quantized_layers(model)
    reference = tf.function(model.__call__, autograph=False)
    with _states_kept(model, from_zeros=isinstance(called, Stream)):
        want = signatures.results(_run(f"model {model.name!r}", lambda: reference(*feed.arguments)))
        call = _run("file", lambda: module.load(str(path)))
        got = _run("file", lambda: feed.results(call, want))
        tolerance, largest = _tolerance(model, want, in_int8), _largest(want)
        difference = _difference(got, want)
        if not difference <= tolerance:  # NaN is not
            raise ValueError(
                f"The file and the model have different results: the outputs differ by {difference:.2e}, "
                f"but only {tolerance:.2e} is allowed."
            )
        both = [lambda: call(feed.first_feed), lambda: reference(*feed.first_arguments)]
        timing = take_turns("", both, lambda one: one(), _REPEATS, lambda turn: None)
    return {
        "difference": difference,
        "tolerance": tolerance,
        "largest": largest,
        "file_ms": timing.keras_ms,
        "model_ms": timing.ours_ms,
    }


def _run(what, function):
    try:
        return function()
    except Exception as error:  # the runtimes raise errors of any kind
        raise ValueError(
            f"The {what} does not run on the batch: {_one_line(error)} Give a suitable batch as verify."
        ) from error


@contextlib.contextmanager
def _states_kept(model, from_zeros):
    """Restores the states of stateful layers at the end. A stream begins with zeros."""
    layers = [layer for layer in flatten_layers(model) if getattr(layer, "stateful", False)]
    states = keras.tree.flatten([getattr(layer, "states", None) or [] for layer in layers])
    values = [np.array(state) for state in states]
    try:
        for state in states if from_zeros else ():
            state.assign(np.zeros(state.shape))
        yield
    finally:
        for state, value in zip(states, values):
            state.assign(value)


def _has_quantized_layers(model):
    return any(getattr(layer, "quantization_mode", None) for layer in flatten_layers(model))


def _tolerance(model, want, in_int8):
    types = {layer.compute_dtype for layer in flatten_layers(model)} & set(_TOLERANCES)
    relative, absolute = max((_TOLERANCES[t] for t in types), default=_TOLERANCES["float32"])
    relative = _TOLERANCE_OF_INT8 if in_int8 else relative
    return relative * _largest(want) + absolute


def _largest(results):
    numbers = [np.abs(_number(a)) for a in results.values() if a.dtype.kind not in "OSU"]
    return float(max((np.max(a, initial=0, where=np.isfinite(a)) for a in numbers), default=0.0))


def _difference(got, want):
    """The largest difference of results with the same name; infinite if names or shapes do not agree."""
    worst = 0.0
    for name, expected in want.items():
        found = got.get(name)
        if found is None or found.shape != expected.shape:
            return float("inf")
        if expected.dtype.kind in "OSU":
            one = 0.0 if np.array_equal(found, expected) else float("inf")
        else:
            one = largest_difference(_number(found), _number(expected))
        worst = float(np.maximum(worst, one))  # NaN wins
    return worst


def _number(array):
    return array.astype(np.float64)


def _one_line(error):
    """The first line of an error message that names the fault, as a sentence."""
    text = _BOLD.sub("", str(getattr(error, "message", None) or error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    text = next((line for line in lines if not line.startswith(_AROUND)), type(error).__name__)
    return text if text.endswith((".", "!", "?")) else f"{text}."
