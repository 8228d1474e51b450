"""The errors that export() may raise: the rows of docs/export.md, "Rejected models"."""

import pathlib
import re
from typing import NamedTuple

_PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "export.md"
_HEAD = "| model | formats | error |"
_NAMES = {
    "SavedModel": "tf_saved_model", "ONNX": "onnx", "LiteRT": "litert", "OpenVINO": "openvino",
    "stepper": "rnn",
}  # fmt: skip


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        model: Its first cell.
        formats: Names of formats.
        error: A regular expression of the message.
    """

    model: str
    formats: list
    error: str


def rows():
    """The Rows of the page."""
    lines = iter(_PAGE.read_text().splitlines())
    assert any(line == _HEAD for line in lines), f"{_PAGE} has no table {_HEAD}"
    next(lines)
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        model, formats, error = [cell.strip() for cell in line.strip("|").split("|")]
        parts = [re.escape(part) for part in error.strip("`").split("...")]
        found.append(Row(model, [_NAMES[name] for name in formats.split(", ")], ".*".join(parts)))
    return found


# By the first cell of a row: whether a Network is such a model.
MODELS = {
    '`weight_format="int8"`': lambda network: network.int8 == "file",
    "stateful layers": lambda network: network.stateful,
    "float64": lambda network: network.dtype == "float64",
    "most models of float16 and bfloat16": lambda network: (
        network.compute_dtype in ("float16", "bfloat16")
    ),
    "most models of bfloat16": lambda network: network.compute_dtype == "bfloat16",
    "models that do not stream": lambda network: not network.streams,
    "parts that a stepper lacks": lambda network: not network.is_of_steppers,
}


def outcome(network, format, message):
    """'rejected: ' and the row, if a row of the page has this error and the network is such a model."""
    for row in rows():
        if format in row.formats and re.search(row.error, message) and MODELS[row.model](network):
            return f"rejected: {row.model}"
    return f"wrong: export rejects it: {message[:500]}"
