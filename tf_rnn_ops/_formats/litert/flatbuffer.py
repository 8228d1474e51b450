"""Reads and changes LiteRT's files, which are flatbuffers."""

import collections
import struct
from typing import Any, Iterator

from tensorflow.lite.python import schema_py_generated as schema

_NAMES = {
    value: name for name, value in vars(schema.BuiltinOperator).items() if not name.startswith("_")
}
# The offset of `cell_clip` in the table of the op's options, in bytes.
_CELL_CLIP = 6


def without_clip(content: bytes) -> bytes:
    """The file with fused LSTMs that do not clip c. The converter always sets cell_clip to 10."""
    data = bytearray(content)
    for operator, name in _operators(data):
        if name == "UNIDIRECTIONAL_SEQUENCE_LSTM":
            table = operator.BuiltinOptions()
            offset = table.Pos + _field(table, _CELL_CLIP)
            struct.pack_into("<f", data, offset, 0.0)
    return bytes(data)


def count_ops(content: bytes) -> collections.Counter[str]:
    """The number of uses of each op, by LiteRT's name of a builtin op or the name of a custom op."""
    return collections.Counter(name for _, name in _operators(content))


def _field(table: Any, place: int) -> int:
    offset: int = table.Offset(place)
    if not offset:
        raise ValueError("LiteRT's file has an LSTM without cell_clip.")
    return offset


def _operators(data: bytes | bytearray) -> Iterator[tuple[Any, str]]:
    """Each operator of each graph, with its name."""
    model = schema.Model.GetRootAsModel(data, 0)
    for k in range(model.SubgraphsLength()):
        graph = model.Subgraphs(k)
        for n in range(graph.OperatorsLength()):
            operator = graph.Operators(n)
            code = model.OperatorCodes(operator.OpcodeIndex())
            builtin = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
            custom = code.CustomCode()
            yield operator, custom.decode() if custom else _NAMES[builtin]
