"""The file of a stepper: a safetensors container whose metadata has the graph as JSON. docs/step-format.md."""

import json
import struct
from typing import Any, Mapping

import numpy as np

# The names that cc/step/model_file.h expects.
_FORMAT, _VERSION = "tf_rnn_ops.step", "1"
_DTYPES = {"float32": "F32", "int8": "I8"}
# The first tensor begins at a multiple of this many bytes. The others follow without gaps, which safetensors forbids.
_ALIGNMENT = 64


def content(graph: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> bytes:
    """The content of a file.

    Args:
        graph: The graph, of what JSON can hold.
        tensors: {name in the graph: array of float32 or int8}.
    """
    header: dict[str, Any] = {
        "__metadata__": {
            "format": _FORMAT,
            "version": _VERSION,
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
    text = json.dumps(header).encode()
    # The readers of the format accept spaces behind the header.
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    arrays = (np.ascontiguousarray(array).tobytes() for array in tensors.values())
    return b"".join([struct.pack("<Q", len(text)), text, *arrays])


def graph(content: bytes) -> dict[str, Any]:
    """The graph of a file that tf_rnn_ops.stepper.Stepper accepts."""
    (length,) = struct.unpack_from("<Q", content)
    metadata = json.loads(content[8 : 8 + length])["__metadata__"]
    found: dict[str, Any] = json.loads(metadata["graph"])
    return found
