"""The formats of exported models, and the module that writes each."""

import importlib
import importlib.util
import pathlib
import re
from typing import Any, Callable, Iterable, Mapping, Protocol, cast

import numpy as np

from tf_rnn_ops._formats.exported_layer import ExportedLayer

SAVED_MODEL = "tf_saved_model"
# The format of tf_rnn_ops.stepper, which is made of the layers of a model instead of a SavedModel.
RNN = "rnn"
FORMATS = (SAVED_MODEL, "onnx", "litert", "openvino", RNN)
# {end of a file's name: format}.
_ENDS = {".onnx": "onnx", ".tflite": "litert", ".xml": "openvino", ".rnn": RNN}
# Names of folders such as model.1, model.v2 and model.0rc1, which are of no format.
_VERSION = re.compile(r"\.v?\d.*")
# The formats in which an input and an output cannot have one name.
ONE_NAMESPACE = ("onnx", "openvino")
# The formats with nodes of int8.
_WITH_INT8 = ("onnx", "litert")
# The formats whose runtime computes float64 in float32.
WITHOUT_FLOAT64 = ("openvino",)
# The versions of the ops of ONNX that tf2onnx can write the nodes in.
OPSETS = range(15, 19)
# The packages that write and load import besides TensorFlow. The extra with the format's name has them.
_TO_WRITE = {"onnx": ("tf2onnx", "onnx"), "openvino": ("openvino",)}
_TO_LOAD = {
    "onnx": ("onnxruntime",),
    "litert": ("ai_edge_litert",),
    "openvino": ("openvino",),
}


class Writer(Protocol):
    """The module of a format."""

    def write(
        self,
        saved_model: str,
        filepath: str,
        *,
        signature: str = "serving_default",
        loops: bool = True,
        weight_format: str | None = None,
        **options: Any,
    ) -> list[ExportedLayer]:
        """Writes a signature of a SavedModel.

        Args:
            saved_model: Its folder.
            filepath: The path of the new file, which does not exist. Files next to it move with it.
            signature: The name of the signature.
            loops: Whether recurrent layers may become loops.
            weight_format: None, or the type of weights that the file stores instead of floats.
            **options: More of the result of options() for the format.

        Returns:
            An ExportedLayer for each recurrent layer.

        Raises:
            ValueError: The model cannot be written, or the format has no node for a layer and `loops` is
                False.
        """

    def load(self, filepath: str) -> Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]:
        """Loads a file into the format's own runtime.

        Args:
            filepath: The path of the file.

        Returns:
            A function from {name of an argument of the signature: array} to {name of a result: array}.
        """


def _check_name(name: str) -> None:
    """Raises ValueError for a format that is not in FORMATS."""
    if name not in FORMATS:
        raise ValueError(f"format must be one of {list(FORMATS)}, but it is {name!r}.")


def of(path: pathlib.Path, name: str | None) -> str:
    """The format of a file: `name`, or with None that of the end of its path, in letters of any case.

    Raises:
        ValueError: The format is unknown, the end is that of another format, or the path has no name.
    """
    if path.name in ("", ".."):
        raise ValueError(
            f"filepath must end in the name of a file or folder to write, but it is {str(path)!r}."
        )
    by_end = _ENDS.get(path.suffix.lower())
    if name is None:
        if by_end is None and path.suffix and not _VERSION.fullmatch(path.suffix):
            raise ValueError(
                f"filepath must end in {', '.join(_ENDS)}, or have no ending for the folder of a SavedModel, but it ends in "
                f"{path.suffix!r}. With a format it may have any ending, such as 'tf_saved_model' for a folder."
            )
        name = by_end or SAVED_MODEL
    _check_name(name)
    if by_end not in (None, name):
        raise ValueError(
            f"The end of {path.name!r} is that of the format {by_end!r}, but format is {name!r}."
        )
    if name == "openvino" and path.suffix != ".xml":  # OpenVINO writes no other name
        raise ValueError(
            f"filepath must end in .xml for the format 'openvino', but it is {path.name!r}."
        )
    return name


def options(name: str, weight_format: str | None, opset: int | None) -> dict[str, Any]:
    """The options of write() for a format.

    Raises:
        ValueError: The format has no such weights, no opset, or not this one.
    """
    kinds = (None, "int8") if name in _WITH_INT8 else (None,)
    if weight_format not in kinds:
        where = "" if name in _WITH_INT8 else f" for the format {name!r}"
        raise ValueError(
            f"weight_format must be {' or '.join(map(repr, kinds))}{where}, but it is {weight_format!r}."
        )
    if opset is None:
        return {"weight_format": weight_format}
    if name != "onnx":
        raise ValueError(
            f"opset is for the format 'onnx', but it is {opset!r} and the format {name!r}."
        )
    if opset not in OPSETS:
        raise ValueError(f"opset must be {OPSETS[0]} to {OPSETS[-1]} or None, but it is {opset!r}.")
    return {"weight_format": weight_format, "opset": opset}


def names_apart(inputs: Iterable[str], outputs: Iterable[str]) -> dict[str, str]:
    """{output with the name of an input: its name in a file of ONE_NAMESPACE}."""
    inputs, outputs, found = set(inputs), set(outputs), {}
    taken = inputs | outputs
    for name in sorted(inputs & outputs):
        new = f"{name}_out"
        while new in taken:
            new = f"{new}_out"
        taken.add(new)
        found[name] = new
    return found


def notes_on(renamed: dict[str, str]) -> list[str]:
    """Sentences on the result of names_apart."""
    return [
        f"The output {name!r} is named {new!r} in the file, because an input has its name."
        for name, new in renamed.items()
    ]


def writer(name: str) -> Writer:
    """The module of a format.

    Args:
        name: One of FORMATS.

    Returns:
        The module.

    Raises:
        ValueError: The format is unknown.
        ImportError: A package that write() imports is not installed.
    """
    _check_name(name)
    if lacks := _lacks(name, _TO_WRITE):
        raise ImportError(f"The format {name!r} needs {lacks}")
    return cast(Writer, importlib.import_module(f"tf_rnn_ops._formats.{name.removeprefix('tf_')}"))


def why_not_run(name: str) -> str:
    """The sentence on why files of a format cannot be written and run here; empty if they can."""
    lacks = _lacks(name, _TO_WRITE) or _lacks(name, _TO_LOAD)
    return f"The file was not run, which needs {lacks}" if lacks else ""


def _lacks(name: str, packages: Mapping[str, tuple[str, ...]]) -> str:
    """The missing package and the way to install it, as the end of a sentence; None if none is missing."""
    for package in packages.get(name, ()):
        if importlib.util.find_spec(package) is None:
            return f"the package {package}: pip install 'tf_rnn_ops[{name}]'"
    return ""
