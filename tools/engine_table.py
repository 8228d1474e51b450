#!/usr/bin/env python3
"""Writes cc/gpu/engine_rows.inc from a run on a GPU.

    tests/gpu/core/run.py --only engine-times --log gpu.log
    tools/engine_table.py gpu.log [--rows cc/gpu/engine_rows.inc]

A row says for which units and batches the persistent kernels are faster than a rival. A size that was
measured stands for all smaller ones down to the next. A batch between two measured ones counts as faster if
both are. Where the run lacks a size, all rows of its rival, cell and type stay as they are in the file.
"""

import argparse
import pathlib
import re
import typing

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROWS = ROOT / "cc/gpu/engine_rows.inc"
SECTION = "engine-times"
NO_KERNEL = "-"

# The first and the sixth cell of a row of times, and the enumerators in cc/gpu/engine_choice.cc.
RIVALS = {
    ("steps", "forward"): "kForward",
    ("steps", "backward"): "kBackward",
    ("steps, general", "forward"): "kGeneralForward",
    ("steps, general", "backward"): "kGeneralBackward",
    ("cuDNN", "inference"): "kCudnn",
    ("cuDNN", "training"): "kCudnn",
    ("cuDNN, tensor cores", "inference"): "kCudnnTensorCores",
    ("cuDNN, tensor cores", "training"): "kCudnnTensorCores",
}
CELLS = {"lstm": "kLstm", "gru": "kGru", "gru_reset_before": "kGruResetBefore"}
CELLS["rnn_tanh"] = "kVanilla"
DTYPES = {"float32": "kFloat32", "bfloat16": "kBFloat16", "float16": "kFloat16"}

_CELLS_OF_ROW = re.compile(r"\|((?: [^|]+ \|){8})")
_ROW = re.compile(
    r"\{Rival::(\w+), Cell::(\w+), Dtype::(\w+), \{(\d+), (\d+)\}, \{(\d+), (\d+)\}\},"
)


class Key(typing.NamedTuple):
    """The rows that one series of times decides, as enumerators."""

    rival: str
    cell: str
    dtype: str


class Row(typing.NamedTuple):
    """The units and the batches of a key for which the persistent kernels are faster."""

    key: Key
    units: tuple[int, int]
    batch: tuple[int, int]

    def __str__(self):
        rival, cell, dtype = self.key
        units, batch = (f"{{{first}, {last}}}" for first, last in (self.units, self.batch))
        return f"{{Rival::{rival}, Cell::{cell}, Dtype::{dtype}, {units}, {batch}}},"


def rows_of(text):
    """The rows in the text of the file."""
    return [
        Row(Key(*found[:3]), (int(found[3]), int(found[4])), (int(found[5]), int(found[6])))
        for found in _ROW.findall(text)
    ]


def times_of(log):
    """{Key: {units: {batch: whether the persistent kernels are faster in all of its passes}}}"""
    times = {}
    for line in re.findall(rf"^ok +{SECTION} .*", log, re.MULTILINE):
        for match in _CELLS_OF_ROW.finditer(line):
            rival, cell, dtype, units, batch, direction, ours, other = match[1].split("|")[:8]
            rival, direction = rival.strip(), direction.strip()
            key = Key(RIVALS[rival, direction], CELLS[cell.strip()], DTYPES[dtype.strip()])
            batches = times.setdefault(key, {}).setdefault(int(units), {})
            faster = ours.strip() != NO_KERNEL and float(ours) < float(other)
            batches[int(batch)] = batches.get(int(batch), True) and faster
    return times


def ranges(batches):
    """The ranges of measured batches that are all faster: {batch: faster} to [(first, last)]."""
    found = []
    for batch in sorted(batches):
        if not batches[batch]:
            found.append(None)
        elif found and found[-1]:
            found[-1] = (found[-1][0], batch)
        else:
            found.append((batch, batch))
    return [pair for pair in found if pair]


def measured(times):
    """The keys whose series has every size of the run."""
    sizes = {size for series in times.values() for size in series}
    return [key for key, series in times.items() if series.keys() == sizes]


def rows_of_series(key, series):
    """The rows of a key: {units: {batch: faster}}. Sizes with the same batches share a row."""
    rows, below = [], 0
    for size in sorted(series):
        for batch in ranges(series[size]):
            same = [row for row in rows if row.units[1] == below and row.batch == batch]
            if same:
                rows[rows.index(same[0])] = same[0]._replace(units=(same[0].units[0], size))
            else:
                rows.append(Row(key, (below + 1, size), batch))
        below = size
    return rows


def updated(rows, times):
    """The rows of a file, with those of the measured keys replaced."""
    keys = set(measured(times))
    new = [row for key in keys for row in rows_of_series(key, times[key])]
    return sorted([*new, *(row for row in rows if row.key not in keys)], key=_order)


def _order(row):
    orders = [list(dict.fromkeys(names.values())) for names in (RIVALS, CELLS, DTYPES)]
    return [order.index(name) for order, name in zip(orders, row.key)] + [row.units, row.batch]


def text_of(rows, origin):
    """The text of the file. `origin`: the GPU and the libraries of the run."""
    lines = [
        "// Where the persistent kernels are faster: {rival, cell, type, units, batch}. From a run on a",
        "// GPU by tools/engine_table.py.",
        f"// {origin}",
    ]
    return "\n".join([*lines, *map(str, rows)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=pathlib.Path, help="the log of the run")
    parser.add_argument(
        "--rows", type=pathlib.Path, default=ROWS, help="the file to update (default: %(default)s)"
    )
    arguments = parser.parse_args()
    log, old = arguments.log.read_text(), arguments.rows.read_text()
    times = times_of(log)
    if not measured(times):
        parser.exit(1, f"{arguments.log} has no complete times of {SECTION}; nothing was written\n")
    device = re.search(r"^device: (.*)", log, re.MULTILINE)
    origin = [device[1] if device else "unknown device"]
    kept = sorted({row.key for row in rows_of(old)} - set(measured(times)))
    if kept:
        origin.append("older rows of " + ", ".join("/".join(key) for key in kept))
    rows = updated(rows_of(old), times)
    arguments.rows.write_text(text_of(rows, "; ".join(origin)))
    added, removed = set(rows) - set(rows_of(old)), set(rows_of(old)) - set(rows)
    for sign, changed in (("+", added), ("-", removed)):
        for row in sorted(changed, key=_order):
            print(sign, row)
    print(f"{arguments.rows}: {len(rows)} rows, {len(kept)} series kept", flush=True)


if __name__ == "__main__":
    main()
