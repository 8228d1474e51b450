"""The file of a stepper: a safetensors container whose metadata has the graph as JSON. docs/step-format.md."""

import hashlib
import itertools
import json
import struct
from typing import Any, Mapping, Sequence

import numpy as np

# The names that cc/step/model_file.h expects. A file of windows has a version of its own, which older readers reject.
_FORMAT, _STREAM_VERSION, _WINDOW_VERSION = "tf_rnn_ops.step", "1", "2"
_DTYPES = {"float32": "F32", "int8": "I8"}
# The first tensor begins at a multiple of this many bytes. The others follow without gaps, which safetensors forbids.
_ALIGNMENT = 64
# The longest header that cc/step/model_file.cc reads.
_MOST_HEADER = 1 << 24


def content(graph: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> bytes:
    """The content of a file.

    Args:
        graph: The graph, of what JSON can hold.
        tensors: {name in the graph: array of float32 or int8}.
    """
    header: dict[str, Any] = {
        "__metadata__": {
            "format": _FORMAT,
            "version": _WINDOW_VERSION if "window" in graph else _STREAM_VERSION,
            "graph": json.dumps(graph, allow_nan=False),
        }
    }
    end = 0
    for name, array in tensors.items():
        offsets = [end, end + array.nbytes]
        header[name] = {
            "dtype": _DTYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": offsets,
        }
        end = offsets[1]
    data = b"".join(np.ascontiguousarray(array).tobytes() for array in tensors.values())
    fingerprint = hashlib.sha256(json.dumps(header).encode() + data).hexdigest()
    header["__metadata__"]["fingerprint"] = fingerprint
    return _file(header, data)


def with_names(
    content: bytes, inputs: Sequence[str], outputs: Sequence[str], states: Sequence[str]
) -> bytes:
    """The content of a file with other names for its inputs, outputs and states.

    Args:
        content: The content of a file that the reader accepts.
        inputs: A name for each input.
        outputs: A name for each output.
        states: A name for each state.
    """
    header, end = _header(content)
    graph = json.loads(header["__metadata__"]["graph"])
    nodes = graph["nodes"]
    of_states = [name for node in nodes for name in node.get("states", ())]
    # A convolution of one step has no state, but a file may give it a name: then the names stay.
    new_states = dict(zip(of_states, states)) if len(of_states) == len(states) else {}
    values = {tensor["name"]: name for tensor, name in zip(graph["inputs"], inputs)}
    inner = [name for node in nodes for name in node["outputs"] if name]
    taken = {*inputs, *inner}
    for name in inner:
        if name in inputs:
            values[name] = next(
                free for k in itertools.count(1) if (free := f"{name}_{k}") not in taken
            )
            taken.add(values[name])
    for tensor in graph["inputs"]:
        tensor["name"] = values[tensor["name"]]
    for node in nodes:
        for field in ("inputs", "outputs"):
            node[field] = [values.get(name, name) for name in node[field]]
        if "states" in node:
            node["states"] = [new_states.get(name, name) for name in node["states"]]
    for output, name in zip(graph["outputs"], outputs):
        output["name"], output["value"] = name, values.get(output["value"], output["value"])
    if graph == json.loads(header["__metadata__"]["graph"]):
        return content
    header["__metadata__"]["graph"] = json.dumps(graph, allow_nan=False)
    return _file(header, content[end:])


def with_metadata(content: bytes, metadata: Mapping[str, str]) -> bytes:
    """The content of a file with other metadata of its owner.

    Args:
        content: The content of a file that the reader accepts.
        metadata: {key: text}.

    Raises:
        ValueError: metadata is not a dict of texts that a file can hold.
    """
    if not isinstance(metadata, Mapping) or not all(
        isinstance(text, str) for pair in metadata.items() for text in pair
    ):
        raise ValueError(f"metadata must be a dict of texts, but it is {metadata!r}.")
    for key, text in metadata.items():
        if "\0" in key + text or not _is_utf8(key + text):
            raise ValueError(
                f"metadata must have texts without the character 0 and without half surrogate pairs, but {key!r} is {text!r}."
            )
    header, end = _header(content)
    header["__metadata__"]["metadata"] = json.dumps(dict(metadata))
    size = len(json.dumps(header))
    if size > _MOST_HEADER - _ALIGNMENT:
        raise ValueError(
            f"metadata must leave the header of the file below {_MOST_HEADER} bytes, but it would have {size}."
        )
    return _file(header, content[end:])


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def metadata(content: bytes) -> tuple[dict[str, str], str]:
    """The metadata of the owner of a file that the reader accepts, and the fingerprint or ""."""
    found = _header(content)[0]["__metadata__"]
    return json.loads(found.get("metadata") or "{}"), found.get("fingerprint", "")


def _file(header: Mapping[str, Any], *data: bytes) -> bytes:
    text = json.dumps(header).encode()
    # The readers of the format accept spaces behind the header.
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    return b"".join([struct.pack("<Q", len(text)), text, *data])


def graph(content: bytes) -> dict[str, Any]:
    """The graph of a file that tf_rnn_ops.stepper.Stepper accepts."""
    found: dict[str, Any] = json.loads(_header(content)[0]["__metadata__"]["graph"])
    return found


def _header(content: bytes) -> tuple[dict[str, Any], int]:
    """The header of a file, and where the data behind it begin."""
    begin = struct.calcsize("<Q")
    end = begin + struct.unpack_from("<Q", content)[0]
    return json.loads(content[begin:end]), end
